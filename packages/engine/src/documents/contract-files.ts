// The contract as files, for tools. Their first server is the service that serves them: tools that import a
// document send requests to its first server, and many take a relative one for a host.

import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import { isSeq, parseDocument, stringify as toYaml } from 'yaml'
import { type Address, type AddressOptions, addressOf } from '../address.js'
import type { Contract } from '../contract/contract.js'
import { nodeOf } from '../contract/reader.js'
import { isOpenApi32 } from '../contract/upgrade.js'
import { documentPaths, operationAt } from '../own-paths.js'
import { apiCatalog } from './api-catalog.js'
import { addAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'
import { withoutOpenApi32 } from './openapi-3.1.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Tools limited to OpenAPI 3.0 may have simple YAML parsers: no aliases, no folded lines.
const simpleYaml = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/** A Server Object. */
export interface ServerObject {
  readonly url: string
  readonly description: string
}

/**
 * The server of operations with a prefix, relative to a file in the root of the service (OpenAPI 3.1.1,
 * section 4.8.5).
 */
export function ownServer({ prefix }: Pick<Contract, 'prefix'>): ServerObject {
  return { url: `.${prefix}`, description: 'This service' }
}

/**
 * In place of the base address, which depends on who asks. Writing a document anew takes longer than all else
 * that a request without a key can ask for.
 */
export const placeholder = `base-${randomUUID()}`
const asString = new RegExp(`"?${placeholder}"?`)

/** Returns what `write` makes, once for all, with a base address in place of the placeholder. */
export function withBase(
  write: () => string,
  placed: string | RegExp = placeholder,
): (base: string) => string {
  let text: string | undefined
  return (base) => {
    text ??= write()
    return text.replace(placed, () => base)
  }
}

/**
 * Adds `/openapi.yaml`, `/openapi.json`, `/openapi-3.0.yaml` for tools that do not support OpenAPI 3.1,
 * `/openapi-3.1.yaml` if the contract is of 3.2, and the API catalogue. An operation of the contract at one
 * of these takes precedence. The public URL is the only server; without one the contract's follow the one at
 * which the caller reached the service.
 */
export function contractFiles(app: FastifyInstance, contract: Contract, options?: AddressOptions): void {
  const address = addressOf(app, contract, options)
  const own = { ...ownServer(contract), url: placeholder }
  const others = address.known === undefined ? (nodeOf(contract.document).servers ?? []) : []
  const servers = [own, ...(others as ServerObject[])] // the contract has been read
  const document = { ...contract.document, servers }
  const variantOf = baseUrlIn(address, contract)
  const add = (path: string, type: string, write: () => string) => {
    if (operationAt(path, contract) !== undefined) return
    const make = withBase(write, asString)
    addAsset(app, path, type, (url) => make(JSON.stringify(url)), { variantOf })
  }
  const json = () => String(stringify(document))
  add(documentPaths.yaml, yamlType, () => yamlWith(servers, contract.text) ?? json())
  if (isOpenApi32(document))
    add(documentPaths.yaml31, yamlType, () => toYaml(withoutOpenApi32(document), simpleYaml))
  add(documentPaths.yaml30, yamlType, () => toYaml(toOpenApi30(document), simpleYaml))
  add(documentPaths.json, 'application/json; charset=utf-8', json)
  apiCatalog(app, contract, address)
}

/** Returns a function that tells at which URL the caller of a file reaches the operations. */
export function baseUrlIn(address: Address, contract: Contract): (request: FastifyRequest) => string {
  const { url } = ownServer(contract)
  return (request) => address.known ?? withoutSlash(address.absolute(url, request))
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '') || '/'
}

// As written, with its comments. Undefined for JSON, which is YAML, too, but slow to parse as such.
function yamlWith([own, ...others]: readonly ServerObject[], text: string): string | undefined {
  if (/^\s*\{/.test(text)) return undefined
  const document = parseDocument(text, { intAsBigInt: true, merge: true })
  const servers = document.get('servers')
  if (isSeq(servers) && others.length > 0) servers.items.unshift(document.createNode(own))
  else document.set('servers', [own])
  try {
    return document.toString({ lineWidth: 0, flowCollectionPadding: false })
  } catch {
    return undefined // an alias of what the servers contained
  }
}
