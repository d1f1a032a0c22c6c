// 503: the service cannot respond for now.

import { RequestError } from 'contract-engine'

// The `Retry-After` of a 503, in seconds.
const retryAfterSeconds = 1

/**
 * The service is temporarily unavailable: 503 with `Retry-After` (RFC 9110, section 10.2.3).
 * @param afterSeconds when to try again
 */
export function unavailable(cause: unknown, afterSeconds = retryAfterSeconds): RequestError {
  return new RequestError('unavailable', 'unavailable', {
    status: 503,
    headers: { 'Retry-After': String(afterSeconds) },
    cause,
  })
}

const toGuesses = new WeakSet<RequestError>()

/**
 * The same for a credential that is likely a guess, while others of its kind can be told: it counts against
 * the quota of its address, so that guesses are slow in an outage, too.
 */
export function unavailableToGuess(cause: unknown): RequestError {
  const error = unavailable(cause)
  toGuesses.add(error)
  return error
}

/** Whether an error is one of `unavailableToGuess`. */
export function isToGuess(error: RequestError): boolean {
  return toGuesses.has(error)
}
