// Browsers on other origins: the CORS protocol of the Fetch standard, for the origins that an operator allows. Keys are sent by the
// page and by no cookie, so no answer allows credentials. `Cross-Origin-Resource-Policy` is about what is loaded without it. @fastify/cors is
// not enough: its hook never meets a request whose URL cannot be read, so no page could read the 400 of one.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../contract/types.js'
import { setCommonHeaders } from './headers.js'

// A browser asks again after so many seconds.
const preflightMaxAge = 600

declare module 'fastify' {
  interface FastifyInstance {
    /** Lets pages of allowed origins read an answer. Undefined where no origin is allowed. */
    setCorsHeaders: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined
  }
}

/** Answers preflights, before anything is counted, and gives every answer what lets the allowed origins read it. */
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

  // What a request's headers may be is for its operation to say, so those that the page names are all let through.
  function answerPreflight(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const { 'access-control-request-method': method, 'access-control-request-headers': headers } =
      request.headers
    if (request.method !== 'OPTIONS' || method === undefined || !isAllowed(request)) {
      done()
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
