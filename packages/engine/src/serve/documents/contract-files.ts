// The contract as files, for tools, in OpenAPI 3.0 too, because many read no later version. Their first
// server is the service that serves them: tools that import a document send requests to its first server,
// and many take a relative one for a host.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract, FileForm, FileServers } from '../../document/contract.js'
import { hasRelativeServer } from '../../document/own-server.js'
import { isOpenApi30, isOpenApi32 } from '../../document/versions.js'
import { type Address, type AddressOptions, addressOf } from '../paths/address.js'
import { documentPaths } from '../paths/own-paths.js'
import { apiCatalog } from './api-catalog.js'
import { addDocument, type DocumentPlace, documentPlace, ownServerOf } from './document-place.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512
const jsonType = 'application/json; charset=utf-8'

/** Returns a function that calls `write` once, and puts a base address in place of the mark in its text. */
export function withBase(
  write: () => string | Promise<string>,
  mark: string | RegExp,
): (base: string) => Promise<string> {
  let text: string | undefined
  return async (base) => {
    text ??= await write()
    return text.replace(mark, () => base)
  }
}

/**
 * Adds `/openapi.yaml`, `/openapi.json`, `/openapi-3.0.yaml` and `.json` for tools that do not support
 * OpenAPI 3.1, `/openapi-3.1.yaml` unless the contract is of 3.0, and the API catalogue. If the contract has
 * an operation at one of these paths, the operation takes precedence. The public URL is the only server in
 * the files. Without a public URL, the first server is the URL at which the caller reached the service, and
 * the contract's own follow. The files of a second contract are below its prefix: `/admin/openapi.yaml`.
 * @throws {ContractError} if the paths are those of another contract, or of the application
 */
export function contractFiles(app: FastifyInstance, contract: Contract, options?: AddressOptions): void {
  const place = documentPlace(app, contract)
  const address = addressOf(app, contract, options)
  const { folder } = place
  const variantOf = baseUrlIn(app, address, place)
  const mark = new RegExp(`"?${contract.mark}"?`) // YAML may quote it
  const serversAt = createServersAt(place, address)
  const add = (form: FileForm, type = yamlType, path: string = documentPaths[form]) => {
    const makers = new Map<FileServers, ReturnType<typeof withBase>>()
    const make = (url: string) => {
      const servers = serversAt(url)
      const known = makers.get(servers) ?? withBase(() => contract.write(form, servers), mark)
      makers.set(servers, known)
      return known(JSON.stringify(url))
    }
    addDocument(app, contract, folder + path, type, make, { variantOf })
  }
  add('yaml')
  if (!isOpenApi30(contract.document))
    add(isOpenApi32(contract.document) ? 'yaml31' : 'yaml', yamlType, documentPaths.yaml31)
  add('yaml30')
  add('json30', jsonType)
  add('json', jsonType)
  apiCatalog(app, contract, address)
}

// If the operations are not at the path of the contract, or its files not at the root, its relative servers
// would lead elsewhere, so they are made absolute.
function createServersAt(
  { contract, folder }: DocumentPlace,
  address: Address,
): (url: string) => FileServers {
  if (address.known !== undefined) return () => 'only'
  if (!hasRelativeServer(contract.document)) return () => 'first'
  return (url) =>
    folder === '' && withoutSlash(new URL(url, 'http://a').pathname) === (contract.prefix || '/')
      ? 'first'
      : 'absolute'
}

/** Returns a function that returns the URL at which the caller of a file reaches the operations. */
export function baseUrlIn(
  app: FastifyInstance,
  address: Address,
  place: DocumentPlace,
): (request: FastifyRequest) => string {
  const urlOf = () => ownServerOf(app, place)(place.contract).url
  return (request) => address.known ?? withoutSlash(address.absolute(urlOf(), request))
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '') || '/'
}
