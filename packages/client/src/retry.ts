// Decides whether a call is retried, and after how long.

import type { Clock } from './clock.js'
import type { Limits } from './options.js'
import { readRetryAfter } from './rate-limit.js'
import type { ClientOperation } from './table.js'

const backoffFirstMs = 250
const backoffMaxMs = 10_000
// Spreads the requests of clients with the same `Retry-After`.
const spreadMs = 250

// The same as in the engine, whose operations with OPTIONS may write.
const safeMethods = ['GET', 'HEAD', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH']

/** True if an operation changes nothing, by its method (RFC 9110, section 9.2.1). */
export function isSafe(method: string): boolean {
  return safeMethods.includes(method)
}

/**
 * True if an operation is idempotent: by its method (RFC 9110, section 9.2.2; RFC 10008), or by its
 * idempotency key. Other requests are never repeated: they may have taken effect although the response was
 * lost.
 */
export function isRepeatable({ method, idempotent }: ClientOperation): boolean {
  return idempotent === true || isSafe(method) || ['OPTIONS', 'PUT', 'DELETE'].includes(method)
}

/**
 * True if a response invites a retry. A 409 with `Retry-After` says that another request with the idempotency
 * key is in flight.
 */
export function asksForRetry({ status, headers }: Response): boolean {
  return [408, 429, 500, 502, 503, 504].includes(status) || (status === 409 && headers.has('Retry-After'))
}

/**
 * Returns the milliseconds to wait before the next attempt, or undefined for no further attempt.
 * @param attempt the number of attempts made
 */
export function waitBefore(
  attempt: number,
  retryAfter: string | null | undefined,
  { attemptsMax, waitMaxMs }: Pick<Limits, 'attemptsMax' | 'waitMaxMs'>,
  clock: Clock,
): number | undefined {
  if (attempt >= attemptsMax) return undefined
  const asked = readRetryAfter(retryAfter, clock.now())
  const backoff = Math.min(backoffFirstMs * 2 ** attempt, backoffMaxMs)
  const wait = asked === undefined ? backoff * clock.random() : asked + spreadMs * clock.random()
  // A retry before `Retry-After` would be refused, and could get the key banned.
  return asked !== undefined && asked > waitMaxMs ? undefined : wait
}
