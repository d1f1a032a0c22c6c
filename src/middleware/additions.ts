// What the service adds to its contract: its own paths, and the headers and errors of its parts, made here
// for those that send them. Startup checks a contract against them, and generate, which runs none.

import { randomUUID } from 'node:crypto'
import {
  type Addition,
  anyError,
  type Contract,
  operationAt,
  type Problem,
  problemOf,
  type RateLimits,
  RequestError,
} from '../openapi/index.js'

/** The paths of liveness and readiness, also on the port for metrics. */
export const healthPaths = { live: '/healthz', ready: '/readyz' } as const

/** The same on the port of the operations: one at which the contract has an operation moves to `/-/`. */
export function healthPathsOf(contract: Contract): Record<keyof typeof healthPaths, string> {
  const moved = (path: string) => (operationAt(path, contract) === undefined ? path : `/-${path}`)
  return { live: moved(healthPaths.live), ready: moved(healthPaths.ready) }
}

/** A sentence with its place for each operation at a path of the service's own. */
export function ownPathsTaken(contract: Contract): Problem[] {
  const paths = [
    ...Object.values(healthPaths),
    '/openapi.yaml',
    '/openapi-3.0.yaml',
    '/openapi.json',
    '/docs',
  ]
  return paths.flatMap((path) => {
    const operation = operationAt(path, contract)
    return operation ? [problemOf(operation, `${operation.id} replaces the service's own ${path}`)] : []
  })
}

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

/** Errors that any request may get. */
const http: Addition = {
  headers: [...Object.keys(securityHeaders), 'x-request-id', 'allow', 'retry-after'],
  always: () => [{ ...securityHeaders, 'x-request-id': randomUUID() }],
  errors: ({ body }) => [
    ...(['malformed_request', 'request_timeout', 'uri_too_long', 'internal_error'] as const).map((code) =>
      anyError(code),
    ),
    ...(body === undefined ? [] : [anyError('body_too_large')]),
    anyError('unavailable', { 'Retry-After': '1' }),
  ],
}

/** No key was sent: 401 with `WWW-Authenticate`. */
export function missingKey(realm: string): RequestError {
  return new RequestError('missing_api_key', 'Send an API key: "Authorization: Bearer <API_KEY>".', {
    headers: { 'WWW-Authenticate': bearer(realm) },
  })
}

/** The same 401 for a mistyped, unknown, expired or revoked key, so that it does not disclose which. */
export function invalidKey(realm: string): RequestError {
  const description = 'The API key is mistyped, unknown, expired or revoked'
  return new RequestError('invalid_api_key', `${description}.`, {
    headers: {
      'WWW-Authenticate': `${bearer(realm)}, error="invalid_token", error_description="${description}"`,
    },
  })
}

// The realm is a quoted-string (RFC 9110, section 5.6.4). Field values are ASCII.
function bearer(realm: string): string {
  const ascii = realm.normalize('NFKD').replace(/[^ -~]/g, '')
  return `Bearer realm="${ascii.replace(/["\\]/g, '\\$&')}"`
}

const authentication: Addition = {
  headers: ['www-authenticate'],
  errors: ({ security }, { title }) =>
    security.some((each) => each.length > 0) ? [missingKey(title), invalidKey(title)] : [],
}

/** The headers of a rate-limit window that resets at a Unix time in seconds. */
export function rateLimitHeaders(limit: number, remaining: number, resetsAt: number) {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetsAt),
  }
}

const dayMs = 86_400_000

// With the lowest and the highest numbers.
function rateLimiting({ hasRateLimits, rateLimits }: Contract): readonly Addition[] {
  if (!hasRateLimits) return []
  const quotas = quotasOf(rateLimits)
  const [least, most] = [Math.min(...quotas), Math.max(...quotas)]
  const now = Math.ceil(Date.now() / 1000)
  const waits = [1, Math.max(dayMs / 1_000, rateLimits.ban.banSeconds)].map((seconds) => ({
    'Retry-After': String(seconds),
  }))
  return [
    {
      headers: Object.keys(rateLimitHeaders(0, 0, 0)),
      always: () => [rateLimitHeaders(least, 0, now), rateLimitHeaders(most, most - 1, now)],
      errors: () =>
        waits.flatMap((wait) => [anyError('rate_limit_exceeded', wait), anyError('key_banned', wait)]),
    },
  ]
}

function quotasOf({ plans, anonymous }: RateLimits): number[] {
  const quotas = [...plans.values()].filter((plan) => plan !== 'custom')
  return [anonymous.perMinute, ...quotas.flatMap(({ perMinute, perDay }) => [perMinute, perDay])]
}

// The first request takes milliseconds.
const retryAfterSeconds = 1

/** The first request with the key is still running: 409 with `Retry-After`. */
export function inUse(): RequestError {
  return new RequestError(
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still under way.',
    { headers: { 'Retry-After': String(retryAfterSeconds) } },
  )
}

/** The key has been used for another request: 422. */
export function reused(): RequestError {
  return new RequestError('idempotency_key_reused', 'The Idempotency-Key belongs to another request.')
}

/** Sent with a stored response. */
export const replayedHeader = { 'Idempotent-Replayed': 'true' } as const

const idempotency: Addition = {
  headers: ['idempotent-replayed'],
  always: ({ isIdempotent }) => [{}, ...(isIdempotent ? [replayedHeader] : [])], // at first, and repeated
  errors: ({ isIdempotent }) => (isIdempotent ? [inUse(), reused()] : []),
}

/** What the service adds to the responses of a contract. */
export function additionsTo(contract: Contract): readonly Addition[] {
  return [http, authentication, ...rateLimiting(contract), idempotency]
}
