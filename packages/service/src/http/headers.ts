// The headers of every response, errors included, and the errors that any request may get.

import { randomUUID } from 'node:crypto'
import { type Addition, clientFaults } from 'contract-engine'
import { forwardedScheme } from 'contract-engine/lib/origin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { beginHeaders } from '../lib/header-store.js'
import { unavailable } from '../middleware/unavailable.js'

/**
 * Security headers of an API that serves only data (OWASP REST Security Cheat Sheet). A plugin that computes
 * them costs several times as much as these constants. In lower case, because Fastify would change other
 * names at a cost.
 */
const securityHeaders: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})

// RFC 6797, section 7.2: a server must not send Strict-Transport-Security over plain HTTP.
const headersOverTls: typeof securityHeaders = Object.freeze({
  ...securityHeaders,
  'strict-transport-security': 'max-age=31536000',
})

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Returns the security headers for the response to a request, or without one, for a response below
     * Fastify.
     */
    readonly securityHeaders: (request?: FastifyRequest) => typeof securityHeaders
  }
}

/** The facts that tell whether callers use TLS. */
export interface SecurityParts {
  readonly publicUrl: string | undefined
  /** Returns true if a peer is a trusted proxy. */
  readonly isProxy: (peer: string | undefined) => boolean
}

/**
 * Returns a function that chooses the security headers. The service itself speaks plain HTTP, so its public
 * URL or a trusted proxy tells whether callers use TLS.
 */
export function createSecurityHeaders({
  publicUrl,
  isProxy,
}: SecurityParts): FastifyInstance['securityHeaders'] {
  if (publicUrl !== undefined) {
    const headers = publicUrl.startsWith('https:') ? headersOverTls : securityHeaders
    return () => headers
  }
  return (request) => (request && isOverTls(request, isProxy) ? headersOverTls : securityHeaders)
}

// Not Fastify's `protocol`, which compares the peer with the trusted networks at each request.
function isOverTls({ raw }: FastifyRequest, isProxy: SecurityParts['isProxy']): boolean {
  return forwardedScheme(raw.headers) === 'https' && isProxy(raw.socket.remoteAddress)
}

/** Sets the headers of every response. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const { server, id } = request
  beginHeaders(reply, { ...server.securityHeaders(request), 'x-request-id': id })
  server.setCorsHeaders?.(request, reply)
}

/** The headers and errors that the HTTP server adds to the responses of every operation. */
export const httpAddition: Addition = {
  headers: [...Object.keys(headersOverTls), 'x-request-id', 'allow', 'retry-after'],
  always: () =>
    [securityHeaders, headersOverTls].map((headers) => ({ ...headers, 'x-request-id': randomUUID() })),
  errors: (_, contract) => [
    clientFaults.malformed(),
    clientFaults.tooSlow(),
    clientFaults.headersTooLarge(contract),
    unavailable(undefined),
  ],
}
