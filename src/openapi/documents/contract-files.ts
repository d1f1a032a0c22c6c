// The contract as files, for tools. Their first server is the service that serves them: tools that import a
// document send requests to its first server.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import { isSeq, parseDocument, stringify as toYaml } from 'yaml'
import type { Contract } from '../contract/contract.js'
import { nodeOf } from '../contract/reader.js'
import { documentPaths, operationAt } from '../own-paths.js'
import { apiCatalog } from './api-catalog.js'
import { addAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Tools limited to OpenAPI 3.0 may have simple YAML parsers: no aliases, no folded lines.
const simpleYaml = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/** A Server Object. */
export interface ServerObject {
  readonly url: string
  readonly description: string
}

/**
 * The server of a contract's operations, relative to a file in the root of the service (OpenAPI 3.1.1,
 * section 4.8.5), so that it is right behind a gateway that strips a prefix.
 */
export function ownServer({ prefix }: Contract): ServerObject {
  return { url: `.${prefix}`, description: 'This service' }
}

/**
 * Adds `/openapi.yaml`, `/openapi.json`, `/openapi-3.0.yaml` for tools that do not support OpenAPI 3.1, and
 * the API catalogue. An operation of the contract at one of these takes precedence.
 * @param publicUrl the URL at which clients reach the operations, by default relative to the files
 */
export function contractFiles(app: FastifyInstance, contract: Contract, publicUrl?: string): void {
  const own = ownServer(contract)
  const server = { ...own, url: publicUrl ?? own.url }
  const servers = nodeOf(contract.document).servers ?? []
  const all = [server, ...(servers as ServerObject[])] // the contract has been read
  const document = { ...contract.document, servers: all }
  const add = (path: string, type: string, write: () => string) => {
    if (operationAt(path, contract) === undefined) addAsset(app, path, type, write)
  }
  const json = () => String(stringify(document))
  add(documentPaths.yaml, yamlType, () => yamlWith(server, contract.text) ?? json())
  add(documentPaths.yaml30, yamlType, () => toYaml(toOpenApi30(document), simpleYaml))
  add(documentPaths.json, 'application/json; charset=utf-8', json)
  apiCatalog(app, contract)
}

// As written, with its comments. Undefined for JSON, which is YAML, too, but slow to parse as such.
function yamlWith(server: ServerObject, text: string): string | undefined {
  if (/^\s*\{/.test(text)) return undefined
  const document = parseDocument(text, { intAsBigInt: true, merge: true })
  const servers = document.get('servers')
  if (isSeq(servers)) servers.items.unshift(document.createNode(server))
  else document.set('servers', [server])
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}
