// What a contract gets that leaves it open: a document that was not written for this server can be served, too.

import { maxHeaderSize } from 'node:http'
import type { RateLimits } from './types.js'

/** HTTP status by code, of the errors that the server itself answers; a contract's `ErrorCode` takes their place. */
export const defaultErrorStatuses = {
  invalid_request: 400,
  invalid_json: 400,
  malformed_request: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  route_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_in_use: 409,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  key_banned: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
} as const

/** What a caller's own `X-Request-Id` may be, where no answer declares the header. */
export const defaultRequestId = { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' }

/** In bytes, without `x-limits`: what Fastify and Node have by themselves. */
export const defaultLimits = { bodyBytes: 1_048_576, urlBytes: maxHeaderSize, headerBytes: maxHeaderSize }

/** Without `x-idempotency`. */
export const defaultIdempotency = { keepHours: 24 }

/** Without `x-rate-limits`: nothing is counted. */
export const unlimited: RateLimits = {
  plans: new Map([['unlimited', { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }]]),
  anonymous: { perMinute: Number.POSITIVE_INFINITY },
  ban: { rejections: Number.POSITIVE_INFINITY, withinSeconds: 1, banSeconds: 1 },
}
