// What every answer carries, whatever becomes of its request.

import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * What a browser is to make of an answer, on every one of them: nothing but data (OWASP REST Security Cheat
 * Sheet). Constants, for a plugin that works them out per request costs several times as much. Fastify sends names in lower
 * case, and to make them so takes longer than to set them: what every answer carries is written so.
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

/** Sets the headers of every answer, and those of its operation. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders).header('x-request-id', request.id)
  request.server.setCorsHeaders?.(request, reply)
  const { headers } = request.matched?.config ?? {}
  if (headers) reply.headers(headers)
}
