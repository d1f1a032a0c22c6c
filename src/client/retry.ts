// Whether a call is tried again, and after how long.

import type { ClientOperation } from './table.js'

/** Time and chance, for tests to take the place of. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Rejects with the signal's reason when it is aborted. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** From 0 to 1. */
  random(): number
}

/** How long the client goes on trying. */
export interface RetryLimits {
  readonly attemptsMax: number
  readonly waitMaxMs: number
}

const backoffFirstMs = 250
const backoffMaxMs = 10_000
// So that clients that were told the same second do not all come in the same instant.
const spreadMs = 250

/**
 * Whether doing it twice is the same as doing it once: by its method (RFC 9110, section 9.2.2), or by its idempotency
 * key. Nothing else is ever sent again, for its answer may have been lost after it was done.
 */
export function isRepeatable({ method, idempotent }: ClientOperation): boolean {
  return idempotent === true || ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method)
}

/** Whether an answer asks for another try: 409 when it says when, as it does of a twin that is still at work. */
export function asksForRetry({ status, headers }: Response): boolean {
  return status === 429 || status === 503 || (status === 409 && headers.has('Retry-After'))
}

/**
 * How long to wait before the next attempt, or undefined where there is to be none.
 * @param attempt how many there were
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
  // To come back earlier than asked would only be refused, and may get the key banned.
  return asked !== undefined && asked > waitMaxMs ? undefined : wait
}

// RFC 9110, section 10.2.3: seconds, or a date.
function readRetryAfter(text: string | null | undefined, now: number): number | undefined {
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1000
  // Date.parse takes much for a date: `1.5` is the fifth of January.
  const time = text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}

/** The real ones. */
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
