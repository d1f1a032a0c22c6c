// Whether a call is retried, and after how long.

import type { ClientOperation } from './table.js'

/** Time and randomness, replaceable in tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** From 0 to 1. */
  random(): number
}

/** Bounds of the retries. */
export interface RetryLimits {
  readonly attemptsMax: number
  readonly waitMaxMs: number
}

const backoffFirstMs = 250
const backoffMaxMs = 10_000
// Spreads clients with the same `Retry-After`.
const spreadMs = 250

/**
 * Whether an operation is idempotent: by its method (RFC 9110, section 9.2.2), or by its idempotency key. Other requests are never
 * repeated, because they may have taken effect although their response was lost.
 */
export function isRepeatable({ method, idempotent }: ClientOperation): boolean {
  return idempotent === true || ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method)
}

/** Whether a response invites a retry: 429, 503, or 409 with `Retry-After` (the first request with the idempotency key is in flight). */
export function asksForRetry({ status, headers }: Response): boolean {
  return status === 429 || status === 503 || (status === 409 && headers.has('Retry-After'))
}

/**
 * Returns the milliseconds to wait before the next attempt, or undefined for no further attempt.
 * @param attempt the number of attempts made
 */
export function waitBefore(
  attempt: number,
  retryAfter: string | null | undefined,
  { attemptsMax, waitMaxMs }: RetryLimits,
  clock: Clock,
): number | undefined {
  if (attempt >= attemptsMax) return undefined
  const asked = readRetryAfter(retryAfter, clock.now())
  const backoff = Math.min(backoffFirstMs * 2 ** attempt, backoffMaxMs)
  const wait = asked === undefined ? backoff * clock.random() : asked + spreadMs * clock.random()
  // A retry before `Retry-After` would be refused, and could get the key banned.
  return asked !== undefined && asked > waitMaxMs ? undefined : wait
}

// RFC 9110, section 10.2.3: seconds, or a date.
function readRetryAfter(text: string | null | undefined, now: number): number | undefined {
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1000
  // Date.parse is lenient: it reads `1.5` as January 5.
  const time = text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}

/** The system's time, timers and randomness. */
export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stop = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }, ms)
      signal?.addEventListener('abort', stop, { once: true })
    }),
}
