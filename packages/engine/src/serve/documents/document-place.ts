// Where an application serves the documents of a contract: at the root of its scope. The documents of a
// second contract are below that contract's prefix, so that neither takes the other's paths.

import type { FastifyInstance } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { ContractError } from '../../document/contract-error.js'
import { type OwnServer, ownServer } from '../../document/own-server.js'
import type { Address } from '../paths/address.js'
import { scopesOf } from '../paths/mounted.js'
import { operationAt } from '../paths/own-paths.js'
import { hasParameter } from '../paths/route-segments.js'
import { type AssetOptions, addAsset, type Made } from './assets.js'

/** Where the documents of a contract are in its scope. */
export interface DocumentPlace {
  readonly contract: Contract
  /** Empty, or such as `/admin`. */
  readonly folder: string
  /** The address at which callers reach the operations, if the contract is served as files. */
  address: Address | undefined
}

// By the HTTP server, then by the prefix of a scope; the places are in the order in which they were added.
const byServer = new WeakMap<object, Map<string, DocumentPlace[]>>()

/**
 * Returns the place of a contract's documents in a scope of an application: the same at each call.
 * @throws {ContractError} if other contracts leave no free place
 */
export function documentPlace(app: FastifyInstance, contract: Contract): DocumentPlace {
  const places = documentPlaces(app)
  const known = places.find((each) => each.contract === contract)
  const place = known ?? { contract, folder: freeFolder(places, contract), address: undefined }
  if (known === undefined) places.push(place)
  return place
}

/** Returns the places of all contracts that have documents in a scope. */
export function documentPlaces({ server, prefix }: FastifyInstance): DocumentPlace[] {
  const scopes = byServer.get(server) ?? new Map<string, DocumentPlace[]>()
  byServer.set(server, scopes)
  const places = scopes.get(prefix) ?? []
  scopes.set(prefix, places)
  return places
}

/**
 * Returns a function that makes the servers of a contract's operations, relative to its documents, which may
 * be in another scope. Call it when the application is ready: the scopes are known only then.
 */
export function ownServerOf(
  { server, prefix }: FastifyInstance,
  { contract, folder }: DocumentPlace,
): OwnServer {
  const here = prefix.replace(/\/$/, '')
  const scopes = scopesOf(server, contract)
  const other = scopes.includes(here) ? undefined : scopes.find((scope) => !hasParameter(scope))
  if (other === undefined) return (each) => ownServer(each, folder)
  return (each) => ownServer({ prefix: encodeURI(other) + each.prefix }, here + folder)
}

/**
 * Serves a document of a contract at a path of its scope, unless an operation is there.
 * @throws {ContractError} if another route is there
 */
export function addDocument(
  app: FastifyInstance,
  contract: Contract,
  path: string,
  type: string,
  make: (variant: string) => Made | Promise<Made>,
  options?: AssetOptions,
): void {
  if (operationAt(path, contract) !== undefined) return
  checkIsFree(app, contract, path)
  addAsset(app, path, type, make, options)
}

function freeFolder(places: readonly DocumentPlace[], contract: Contract): string {
  const isFree = (folder: string) => places.every((each) => each.folder !== folder)
  const free = ['', decodeURI(contract.prefix)].find(isFree)
  if (free !== undefined) return free
  const others = places.map((each) => named(each.contract)).join(' and ')
  throw new ContractError(
    `the documents of ${named(contract)} would be at the paths of those of ${others}: give its servers a path, ` +
      'or add it in a plugin with a prefix: app.register(async (scope) => …, { prefix: … })',
  )
}

function named({ title, version }: Contract): string {
  return `${title} ${version}`
}

/**
 * Refuses a path at which the application has a route. Fastify's own error would not name the contract.
 * @throws {ContractError} if the path is that of another route
 */
export function checkIsFree(app: FastifyInstance, contract: Contract, path: string): void {
  const url = app.prefix.replace(/\/$/, '') + path
  if (app.hasRoute({ method: 'GET', url }))
    throw new ContractError(`${named(contract)}: GET ${url} is a route of the application already`)
}
