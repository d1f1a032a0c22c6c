// How a repeated request with an Idempotency-Key is answered when it is not run: the stored response is
// marked, and 409 or 422 say why there is none.

import { type Addition, RequestError } from 'contract-engine'
import { tryAgain } from 'contract-engine/lib/texts'

// The first request takes milliseconds.
const retryAfterSeconds = 1

/** The first request with the key is still running: 409 with `Retry-After`. */
export function inUse(): RequestError {
  return new RequestError(
    'idempotency_key_in_use',
    `The first request with this Idempotency-Key is still under way. ${tryAgain(retryAfterSeconds)}`,
    { status: 409, headers: { 'Retry-After': String(retryAfterSeconds) } },
  )
}

/** The key has been used for another request: 422. */
export function reused(): RequestError {
  const message = 'The Idempotency-Key belongs to another request.'
  return new RequestError('idempotency_key_reused', message, { status: 422 })
}

/** The key was first used with a later release, before a rollback: 422. */
export function incomparable(): RequestError {
  const message =
    'The first request with this Idempotency-Key was handled by a later version of the service, so this ' +
    'one cannot tell whether it was the same. Find out whether it took effect, or repeat it later: with ' +
    'another key it may be done twice.'
  return new RequestError('idempotency_key_incomparable', message, { status: 422 })
}

/** Sent with a stored response. */
export const replayedHeader = { 'Idempotent-Replayed': 'true' } as const

/** What idempotency adds to the responses of an idempotent operation. */
export const idempotencyAddition: Addition = {
  headers: ['idempotent-replayed'],
  always: ({ isIdempotent }) => [{}, ...(isIdempotent ? [replayedHeader] : [])], // at first, and repeated
  errors: ({ isIdempotent }) => (isIdempotent ? [inUse(), reused(), incomparable()] : []),
}
