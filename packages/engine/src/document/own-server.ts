// The service as a server of its own contract.

import type { Contract } from './contract.js'

/** A Server Object. */
export interface ServerObject {
  readonly url: string
  readonly description?: string
  readonly variables?: Readonly<Record<string, { readonly default?: unknown }>>
}

/** Whether a server is a path alone, which is on the host of whoever serves the document. */
export function isRelativeServer({ url, variables = {} }: ServerObject): boolean {
  const known = url.replace(/\{([^{}]+)\}/g, (whole, name) => String(variables[name]?.default ?? whole))
  return !/^(?:[a-z][a-z\d+.-]*:)?\/\//i.test(known)
}

/**
 * Whether a document names such a server: where it is served elsewhere, its files are written without them.
 */
export function hasRelativeServer(document: object): boolean {
  const { servers = [] } = document as { readonly servers?: readonly ServerObject[] } // it has been read
  return servers.some(isRelativeServer)
}

/**
 * The server of operations with a prefix, relative to a file in a folder of the service (OpenAPI 3.1.1,
 * section 4.8.5).
 */
export function ownServer({ prefix }: Pick<Contract, 'prefix'>, folder = ''): ServerObject {
  const root = folder === '' ? '.' : folder.slice(1).replace(/[^/]+/g, '..')
  return { url: root + prefix, description: 'This service' }
}

/** Makes the server of operations with a prefix. */
export type OwnServer = (operations: Pick<Contract, 'prefix'>) => ServerObject
