// Requests that no route is for.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.js'
import { requestPath } from './request-path.js'

/** The methods that are allowed at a path, sorted; none where nothing is there. */
export type AllowedMethods = (path: string) => readonly string[]

/** Fastify tells unknown paths and methods apart for no one, so the routes are noted as they are added: from now on. */
export function collectMethods(app: FastifyInstance): AllowedMethods {
  const methods = new Map<string, { pattern: RegExp; names: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
    const entry = methods.get(url) ?? { pattern, names: new Set<string>() }
    for (const name of [method].flat()) entry.names.add(name)
    methods.set(url, entry)
  })
  return (path) => {
    const decoded = decodeURI(path) // the router has seen that it can be
    return [...methods.values()].flatMap(({ pattern, names }) =>
      pattern.test(decoded) ? [...names].sort() : [],
    )
  }
}

/** Whether a route is for the request. The router takes `/pets/` for `/pets/{petId}` with an empty parameter. */
export function hasRoute({ is404, params }: FastifyRequest): boolean {
  if (is404) return false
  for (const name in params as object) if ((params as Record<string, string>)[name] === '') return false
  return true
}

/** 404, or 405 with `Allow` (RFC 9110, sections 15.5.5 and 15.5.6). */
export function notFound({ method, url }: FastifyRequest, allowedMethods: AllowedMethods): ApiError {
  const allowed = allowedMethods(requestPath(url))
  if (allowed.length === 0) return new ApiError('route_not_found', 'There is nothing at this path.')
  return new ApiError('method_not_allowed', `${method} is not allowed here.`, {
    headers: { Allow: allowed.join(', ') },
  })
}
