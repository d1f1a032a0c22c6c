// 503: the service cannot respond for now.

import { RequestError } from '../openapi/index.js'

// The `Retry-After` of a 503, in seconds.
const retryAfterSeconds = 1

/** The service is temporarily unavailable: 503 with `Retry-After` (RFC 9110, section 10.2.3). */
export function unavailable(cause: unknown): RequestError {
  return new RequestError('unavailable', 'unavailable', {
    status: 503,
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  })
}
