// CORS (the Fetch standard) for the origins that the operator allows. Pages send their key in a header and never in a cookie, so no
// response allows credentials. `Cross-Origin-Resource-Policy` does not apply to CORS requests. @fastify/cors is not enough: its hook does
// not run for a request with a malformed URL, so a page could not read that 400.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../openapi/index.js'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { setCommonHeaders } from './headers.js'

// How long a browser caches a preflight response, in seconds.
const preflightMaxAge = 600

declare module 'fastify' {
  interface FastifyInstance {
    /** Sets the headers that let pages of allowed origins read a response. Undefined if no origin is allowed. */
    setCorsHeaders: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined
  }
}

/** Answers preflights before rate limits are counted, and decorates the server with `setCorsHeaders`. */
export function addCors(app: FastifyInstance, origins: readonly string[], { operations }: Contract): void {
  const allowed = new Set(origins)
  const isAllowed = ({ headers }: FastifyRequest) =>
    headers.origin !== undefined && allowed.has(headers.origin)
  const all = [...operations.values()]
  const exposed = all.flatMap(({ responses }) =>
    [...responses.values()].flatMap(({ headers }) => headers.map(({ name }) => name)),
  )
  const exposedHeaders = [...new Set(exposed)].join(', ')
  const methods = [...new Set(all.map(({ method }) => method))].join(', ')

  app.decorate('setCorsHeaders', allowed.size === 0 ? undefined : setHeaders)
  if (allowed.size > 0) app.addHook('onRequest', answerPreflight)

  function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
    reply.header('vary', 'Origin')
    if (!isAllowed(request)) return
    reply.headers({
      'access-control-allow-origin': request.headers.origin,
      'access-control-expose-headers': exposedHeaders,
    })
  }

  // Allows every header that the page names: the operation itself validates headers.
  function answerPreflight(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const { 'access-control-request-method': method, 'access-control-request-headers': headers } =
      request.headers
    const isPreflight = request.method === 'OPTIONS' && method !== undefined && isAllowed(request)
    if (!isPreflight || closeIfAmbiguous(request.raw)) {
      done() // admission refuses an ambiguous request
      return
    }
    setCommonHeaders(request, reply)
    reply.headers({
      'access-control-allow-methods': methods,
      'access-control-max-age': preflightMaxAge,
      ...(headers !== undefined && { 'access-control-allow-headers': headers }),
    })
    reply.code(204).send()
  }
}
