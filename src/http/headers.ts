// The headers of every response, errors included, and the errors that any request may get.

import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from '../middleware/unavailable.js'
import type { Addition } from '../openapi/index.js'
import { headersTooLarge, malformed, tooSlow } from './faults.js'

/**
 * Security headers of an API that serves only data (OWASP REST Security Cheat Sheet). Constants: a plugin
 * that computes them costs several times as much. In lower case, which Fastify would change at more cost than
 * to set.
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

/** Sets the headers of every response. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders).header('x-request-id', request.id)
  request.server.setCorsHeaders?.(request, reply)
}

/** What the HTTP server adds to the responses of every operation. */
export const httpAddition: Addition = {
  headers: [...Object.keys(securityHeaders), 'x-request-id', 'allow', 'retry-after'],
  always: () => [{ ...securityHeaders, 'x-request-id': randomUUID() }],
  errors: (_, contract) => [malformed(), tooSlow(), headersTooLarge(contract), unavailable(undefined)],
}
