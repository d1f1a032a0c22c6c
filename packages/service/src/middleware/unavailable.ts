// The 503 of a service that cannot respond for now.

import { RequestError } from 'contract-engine'

// The `Retry-After` of a 503, in seconds.
const retryAfterSeconds = 1

/**
 * Makes a 503 with `Retry-After` (RFC 9110, section 10.2.3).
 * @param afterSeconds the value of `Retry-After`
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
 * Makes a 503 for a credential that is likely a guess, because the service can still verify others of its
 * kind. It counts against the quota of the address, so that guesses stay slow in an outage.
 */
export function unavailableToGuess(cause: unknown): RequestError {
  const error = unavailable(cause)
  toGuesses.add(error)
  return error
}

/** True if `unavailableToGuess` has made the error. */
export function isToGuess(error: RequestError): boolean {
  return toGuesses.has(error)
}
