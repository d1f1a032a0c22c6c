// The responses to a repeated request with an Idempotency-Key, which is not run again: a mark on the stored
// response, or the 409 or 422 that says why there is none.

import { type Addition, RequestError } from 'contract-engine'
import { tryAgain } from 'contract-engine/lib/texts'

// The first request takes milliseconds.
const retryAfterSeconds = 1

/** Makes the 409 with `Retry-After` for a key whose first request is still running. */
export function inUse(): RequestError {
  return new RequestError(
    'idempotency_key_in_use',
    `The first request with this Idempotency-Key is still under way. ${tryAgain(retryAfterSeconds)}`,
    { status: 409, headers: { 'Retry-After': String(retryAfterSeconds) } },
  )
}

/** Makes the 422 for a key that was used for another request. */
export function reused(): RequestError {
  const message = 'The Idempotency-Key belongs to another request.'
  return new RequestError('idempotency_key_reused', message, { status: 422 })
}

/** Makes the 422 for a key that was first used with a later release, before a rollback. */
export function incomparable(): RequestError {
  const message =
    'The first request with this Idempotency-Key was handled by a later version of the service, so this ' +
    'one cannot tell whether it was the same. Find out whether it took effect, or repeat it later: with ' +
    'another key it may be done twice.'
  return new RequestError('idempotency_key_incomparable', message, { status: 422 })
}

/** The header of a stored response that is sent again. */
export const replayedHeader = { 'Idempotent-Replayed': 'true' } as const

/** The headers and errors that idempotency adds to the responses of an idempotent operation. */
export const idempotencyAddition: Addition = {
  headers: ['idempotent-replayed'],
  always: ({ isIdempotent }) => [{}, ...(isIdempotent ? [replayedHeader] : [])], // first, and repeated
  errors: ({ isIdempotent }) => (isIdempotent ? [inUse(), reused(), incomparable()] : []),
}
