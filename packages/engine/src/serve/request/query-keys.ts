// Keys that a request has in its query. A URL is copied: into links to further pages, logs, traces and what
// an application's own plugins make of it. So a key is taken out of the URL before any of them sees it, and
// is known here alone. It is no parameter of the operation, either, unless the operation declares one of its
// name.

import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { credentialPlace } from '../../document/security.js'
import { nameIn, pairsOf, queryOf } from '../../lib/request-target.js'

const taken: unique symbol = Symbol('openapi.takenKeys')

declare module 'fastify' {
  interface FastifyRequest {
    /** The part of the query that has keys, as it was sent. */
    [taken]?: string
  }
}

/** The names of the query parameters that the security schemes of a contract have. */
export function queryKeyNames({ securitySchemes }: Pick<Contract, 'securitySchemes'>): ReadonlySet<string> {
  const places = [...securitySchemes.values()].map(credentialPlace)
  return new Set(places.flatMap((place) => (place?.in === 'query' ? place.name : [])))
}

/** Takes the keys of these names out of the URL of a request and of its query. */
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

/** The keys of a request as they were sent in its query. */
export function sentQueryKeys(request: FastifyRequest): string {
  return request[taken] ?? queryOf(request.url)
}

/** The query of a request without its keys, except for those that are parameters of its operation, too. */
export function queryOfParameters(request: FastifyRequest): string {
  const query = queryOf(request.url)
  const keys = request[taken]
  if (keys === undefined || keys === '') return query
  const parameters = pairsOf(keys).filter((pair) => isParameter(nameIn(pair), request))
  return [query, ...parameters].filter((part) => part !== '').join('&')
}
