// The service as a server of its own contract.

import type { Contract } from './contract.js'

/** A Server Object. */
export interface ServerObject {
  readonly url: string
  readonly description?: string
  readonly variables?: Readonly<Record<string, { readonly default?: unknown }>>
}

/** True if a server is only a path, which is on the host that serves the document. */
export function isRelativeServer({ url, variables = {} }: ServerObject): boolean {
  const known = url.replace(/\{([^{}]+)\}/g, (whole, name) => String(variables[name]?.default ?? whole))
  return !/^(?:[a-z][a-z\d+.-]*:)?\/\//i.test(known)
}

/**
 * True if a document names such a server. If the document is served elsewhere, its files are written without
 * these servers.
 */
export function hasRelativeServer(document: object): boolean {
  // the document has been read
  const { servers = [] } = document as { readonly servers?: readonly ServerObject[] }
  return servers.some(isRelativeServer)
}

/**
 * Returns the server of operations with a prefix, relative to a file in a folder of the service (OpenAPI
 * 3.1.1, section 4.8.5).
 */
export function ownServer({ prefix }: Pick<Contract, 'prefix'>, folder = ''): ServerObject {
  const root = folder === '' ? '.' : folder.slice(1).replace(/[^/]+/g, '..')
  return { url: root + prefix, description: 'This service' }
}

/** Returns the server of operations with a prefix. */
export type OwnServer = (operations: Pick<Contract, 'prefix'>) => ServerObject
