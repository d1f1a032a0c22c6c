// The headers of every response, errors included.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { securityHeaders } from '../middleware/additions.js'

/** Sets the headers of every response. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders).header('x-request-id', request.id)
  request.server.setCorsHeaders?.(request, reply)
}
