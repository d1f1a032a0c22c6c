// CORS (the Fetch standard) for the origins that the operator allows, whose pages could not call the service
// without it. Pages send their key in a header, so no response allows credentials.
// `Cross-Origin-Resource-Policy` does not apply to CORS requests. @fastify/cors (11.4.3) is not as exact: it
// adds a route `OPTIONS *`, so that an OPTIONS request which is no preflight of an allowed origin would get
// 404 instead of 405 with `Allow`, and be counted against no quota.

import type { Operation } from 'contract-engine'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { setCommonHeaders } from './headers.js'

// How long a browser caches a preflight response, in seconds.
const preflightMaxAge = 600

declare module 'fastify' {
  interface FastifyInstance {
    /** Sets the headers that let pages of allowed origins read a response. Undefined if none is allowed. */
    setCorsHeaders: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined
  }
}

/**
 * Adds responses to preflights, which count against no rate limit, and decorates the server with
 * `setCorsHeaders`.
 */
export function addCors(app: FastifyInstance, origins: readonly string[], all: readonly Operation[]): void {
  const responses = all.flatMap((operation) => [...operation.responses.values()])
  const exposedHeaders = list(responses.flatMap(({ headers }) => headers.map(({ name }) => name)))
  const methods = list(all.map(({ method }) => method))
  const isAllowed = (origin: string | undefined) => origin !== undefined && origins.includes(origin)
  const setHeaders = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply) => {
    reply.header('vary', 'Origin')
    if (!isAllowed(origin)) return
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders })
  }
  app.decorate('setCorsHeaders', origins.length === 0 ? undefined : setHeaders)
  if (origins.length === 0) return
  app.addHook('onRequest', (request, reply, done) => {
    const isExpected = isPreflight(request) && isAllowed(request.headers.origin)
    if (!isExpected || closeIfAmbiguous(request))
      done() // admission refuses an ambiguous request
    else respondToPreflight(request, reply, methods)
  })
}

function list(names: readonly string[]): string {
  return [...new Set(names)].join(', ')
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

// Allows every header that the page names, because the operation itself validates headers.
function respondToPreflight(request: FastifyRequest, reply: FastifyReply, methods: string): void {
  const named = request.headers['access-control-request-headers']
  setCommonHeaders(request, reply)
  reply.headers({
    'access-control-allow-methods': methods,
    'access-control-max-age': preflightMaxAge,
    ...(named !== undefined && { 'access-control-allow-headers': named }),
  })
  reply.code(204).send()
}
