// Requests without a route (404 and 405), and requests whose URL no route accepts.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../../document/contract.js'
import { ownError } from '../../document/request-error.js'
import { requestPath } from '../../lib/request-target.js'
import { malformedRequest } from '../request/errors.js'
import { mountedBelow } from './mounted.js'
import { type Segment, segmentsOf } from './route-segments.js'

const allowedAt: unique symbol = Symbol('openapi.allowedAt')

declare module 'fastify' {
  interface FastifyInstance {
    [allowedAt]?: AllowedMethods
  }
}

/**
 * Creates the handler of requests without a route, for `setNotFoundHandler`. For the error handler, it throws
 * 404, or 405 with `Allow` (RFC 9110, sections 15.5.5 and 15.5.6). Create it before the routes are added: it
 * has to see them, because Fastify itself does not tell an unknown path from an unknown method.
 */
export function notFoundHandler(
  app: FastifyInstance,
  contract: Contract,
): (request: FastifyRequest) => never {
  const allowedMethods = methodsOf(app)
  return (request) => {
    checkUrl(request, mountedBelow(request)?.contract ?? contract)
    const allowed = allowedMethods(requestPath(request.url))
    if (allowed.length === 0) throw ownError('route_not_found', 'There is nothing at this path.')
    throw ownError('method_not_allowed', `${request.method} is not allowed here.`, {
      headers: { Allow: allowed.join(', ') },
    })
  }
}

/** Returns the methods allowed at a path, sorted; none for an unknown path. */
type AllowedMethods = (path: string) => readonly string[]

// A scope inherits the methods from the instance that it belongs to.
function methodsOf(app: FastifyInstance): AllowedMethods {
  if (app[allowedAt] === undefined) app.decorate(allowedAt, collectMethods(app))
  return app[allowedAt] as AllowedMethods
}

function collectMethods(app: FastifyInstance): AllowedMethods {
  const methods = new Map<string, { segments: readonly Segment[]; names: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const entry = methods.get(url) ?? { segments: segmentsOf(url), names: new Set<string>() }
    for (const name of [method].flat()) entry.names.add(name)
    methods.set(url, entry)
  })
  return (path) => {
    const given = path.split('/')
    const isAt = (segments: readonly Segment[]) =>
      segments.length === given.length && segments.every((matches, i) => matches(given[i] ?? ''))
    const allowed = [...methods.values()].filter(({ segments }) => isAt(segments))
    return [...new Set(allowed.flatMap(({ names }) => [...names]))].sort()
  }
}

/**
 * Creates the check of the URLs of an operation's requests. A path with an empty parameter is no path of the
 * contract.
 */
export function routeCheck(
  { path }: Operation,
  contract: Contract,
  refuseUnknown: (request: FastifyRequest) => never,
): (request: FastifyRequest) => void {
  if (!path.includes('{')) return (request) => checkUrl(request, contract)
  return (request) => {
    if (hasRoute(request)) checkUrl(request, contract)
    else refuseUnknown(request)
  }
}

/**
 * Refuses a request whose path and query are longer than the contract's limit. Refuses a fragment, too: the
 * router would take it for a query, unlike all other software (RFC 9112, section 3.2).
 * @throws {RequestError} `uri_too_long`, `malformed_request`
 */
function checkUrl({ url }: FastifyRequest, { limits }: Contract): void {
  if (url.includes('#')) throw ownError('malformed_request', malformedRequest)
  if (url.length > limits.url)
    throw ownError('uri_too_long', `The path and query are longer than ${limits.url} bytes.`)
}

/**
 * True if the request has a route. The router also matches `/pets/` to `/pets/{petId}`, with an empty
 * parameter; that does not count.
 */
export function hasRoute({ is404, params }: FastifyRequest): boolean {
  if (is404) return false
  for (const name in params as object) if ((params as Record<string, string>)[name] === '') return false
  return true
}
