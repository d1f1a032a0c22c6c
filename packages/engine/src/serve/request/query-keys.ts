// Keys in the query of a request. A URL is copied into links to further pages, logs, traces and whatever an
// application's own plugins make of it. So this module takes a key out of the URL before any of them sees it,
// and keeps it to itself. The key is no parameter of the operation either, unless the operation declares a
// parameter of its name.

import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { credentialPlace } from '../../document/security.js'
import { nameIn, pairsOf, queryOf } from '../../lib/request-target.js'

const taken: unique symbol = Symbol('openapi.takenKeys')

declare module 'fastify' {
  interface FastifyRequest {
    /** The part of the query that contains keys, as it was sent. */
    [taken]?: string
  }
}

/** Returns the names of the query parameters that the contract's security schemes use for keys. */
export function queryKeyNames({ securitySchemes }: Pick<Contract, 'securitySchemes'>): ReadonlySet<string> {
  const places = [...securitySchemes.values()].map(credentialPlace)
  return new Set(places.flatMap((place) => (place?.in === 'query' ? place.name : [])))
}

/** Removes the keys with these names from the URL of a request and from its query. */
export function takeQueryKeys(request: FastifyRequest, names: ReadonlySet<string>): void {
  if (request[taken] !== undefined) return
  const pairs = pairsOf(queryOf(request.url))
  const keys = pairs.filter((pair) => names.has(nameIn(pair)))
  request[taken] = keys.join('&')
  if (keys.length === 0) return
  const others = pairs.filter((pair) => !names.has(nameIn(pair)))
  const path = request.url.slice(0, request.url.indexOf('?'))
  // Fastify reads `url` and `originalUrl` from here.
  request.raw.url = others.length === 0 ? path : `${path}?${others.join('&')}`
  const query = request.query as Record<string, unknown>
  for (const name of names) if (!isParameter(name, request)) delete query[name]
}

function isParameter(name: string, { routeOptions }: FastifyRequest): boolean {
  const { parameters = [] } = routeOptions.config?.operation ?? {} // a request without a route has no config
  return parameters.some((each) => each.in === 'query' && each.name === name)
}

/** Returns the keys of a request as they were sent in its query. */
export function sentQueryKeys(request: FastifyRequest): string {
  return request[taken] ?? queryOf(request.url)
}

/**
 * Returns the query of a request without its keys, but with those that are also parameters of its operation.
 */
export function queryOfParameters(request: FastifyRequest): string {
  const query = queryOf(request.url)
  const keys = request[taken]
  if (keys === undefined || keys === '') return query
  const parameters = pairsOf(keys).filter((pair) => isParameter(nameIn(pair), request))
  return [query, ...parameters].filter((part) => part !== '').join('&')
}
