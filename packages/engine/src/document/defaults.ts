// Defaults for the extensions a document may omit, so that documents not written for this server can be
// served.

import { maxHeaderSize } from 'node:http'

/** HTTP status by code of the errors that the engine itself sends. A contract's `ErrorCode` replaces them. */
export const ownErrorStatuses = {
  invalid_request: 400,
  invalid_json: 400,
  malformed_request: 400,
  missing_credentials: 401,
  invalid_credentials: 401,
  insufficient_scope: 403,
  cross_site_request: 403,
  route_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  operation_gone: 410,
  body_too_large: 413,
  request_too_complex: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  internal_error: 500,
  not_implemented: 501,
} as const

/** The schema of a client's own `X-Request-Id`, if no response declares the header. */
export const defaultRequestId = { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' }

/** Limits without `x-limits`, in bytes: the defaults of Fastify and Node. */
export const defaultLimits = { bodyBytes: 1_048_576, urlBytes: maxHeaderSize, headerBytes: maxHeaderSize }

/**
 * What a body may hold in memory beyond what all operations allow: one with a larger limit streams, and so
 * long is an item of a stream, or all that comes before the files of a form.
 */
export const heldBytesMax = 1_048_576

/**
 * Of a stream that has a keep-alive by default, of an operation whose `x-limits` do not say it. Proxies close
 * a silent connection after a minute.
 */
export const defaultKeepAliveMs = 15_000

/** Idempotency without `x-idempotency`. */
export const defaultIdempotency = { keepHours: 24 }
