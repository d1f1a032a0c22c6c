// Requests without a route: 404 and 405.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requestPath } from '../lib/request-path.js'
import type { Contract } from './contract/contract.js'
import { checkUrl, ownError } from './errors.js'

/**
 * Creates the handler of requests without a route, for `setNotFoundHandler`: it throws 404, or 405 with
 * `Allow` (RFC 9110, sections 15.5.5 and 15.5.6), for the error handler. It must be created before the routes
 * are added: Fastify itself does not distinguish an unknown path from an unknown method.
 */
export function notFoundHandler(
  app: FastifyInstance,
  contract: Contract,
): (request: FastifyRequest) => never {
  const allowedMethods = collectMethods(app)
  return (request) => {
    checkUrl(request, contract)
    const allowed = allowedMethods(requestPath(request.url))
    if (allowed.length === 0) throw ownError('route_not_found', 'There is nothing at this path.')
    throw ownError('method_not_allowed', `${request.method} is not allowed here.`, {
      headers: { Allow: allowed.join(', ') },
    })
  }
}

/** The methods allowed at a path, sorted. Empty for an unknown path. */
type AllowedMethods = (path: string) => readonly string[]

function collectMethods(app: FastifyInstance): AllowedMethods {
  const methods = new Map<string, { pattern: RegExp; names: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const entry = methods.get(url) ?? { pattern: patternOf(url), names: new Set<string>() }
    for (const name of [method].flat()) entry.names.add(name)
    methods.set(url, entry)
  })
  return (path) => {
    const decoded = decodeURI(path) // the router has decoded it before
    const allowed = [...methods.values()].filter(({ pattern }) => pattern.test(decoded))
    return [...new Set(allowed.flatMap(({ names }) => [...names]))].sort()
  }
}

// find-my-way's syntax: `::` is a literal colon, and a parameter may have a pattern.
function patternOf(url: string): RegExp {
  const pattern = url.replace(/::|:\w+(\(\.\*\?\))?|[.*+?^${}()|[\]\\]/g, (mark) => {
    if (mark === '::') return ':'
    return mark.startsWith(':') ? '[^/]+' : `\\${mark}`
  })
  return new RegExp(`^${pattern}$`)
}

/**
 * Whether the request has a route. The router matches `/pets/` with `/pets/{petId}` and an empty parameter;
 * that is none.
 */
export function hasRoute({ is404, params }: FastifyRequest): boolean {
  if (is404) return false
  for (const name in params as object) if ((params as Record<string, string>)[name] === '') return false
  return true
}
