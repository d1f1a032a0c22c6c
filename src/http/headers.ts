// The headers of every response, errors included.

import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Security headers of an API that serves only data (OWASP REST Security Cheat Sheet). Constants, because a plugin that computes them
 * for each request costs several times as much. In lower case, because Fastify takes longer to lower-case a name than to set it.
 */
export const securityHeaders: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})

/** Sets the headers of every response, and those of its operation. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders).header('x-request-id', request.id)
  request.server.setCorsHeaders?.(request, reply)
  const { headers } = request.matched?.config ?? {}
  if (headers) reply.headers(headers)
}
