// Defaults for the extensions of a document, so that the server can serve documents that were not written for
// it.

import { maxHeaderSize } from 'node:http'

/**
 * The HTTP status of each error code that the engine itself sends. A contract's `ErrorCode` replaces them.
 */
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

/** The limits without `x-limits`, in bytes: the defaults of Fastify and Node. */
export const defaultLimits = { bodyBytes: 1_048_576, urlBytes: maxHeaderSize, headerBytes: maxHeaderSize }

/**
 * How many bytes of a body the server holds in memory if the operation has a limit of its own: with a larger
 * limit, the body streams. It is also the limit of an item of a stream, and of all fields before the files of
 * a form.
 */
export const heldBytesMax = 1_048_576

/**
 * After how long a silence a stream sends a keep-alive if its kind has one by default and its operation's
 * `x-limits` do not say. Proxies close a silent connection after a minute.
 */
export const defaultKeepAliveMs = 15_000

/** How long responses are stored without `x-idempotency`. */
export const defaultIdempotency = { keepHours: 24 }
