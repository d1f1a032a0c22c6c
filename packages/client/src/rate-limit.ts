// Reads the headers of a response about quotas and waiting.

/** The window with the fewest requests left. */
export interface RateLimit {
  /** How many requests the window allows. */
  readonly limit: number
  /** How many requests are left in the window. */
  readonly remaining: number
  /** The end of the window. */
  readonly resetsAt: Date
}

/**
 * Reads `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds since the epoch). Returns undefined if one is
 * missing.
 */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const read = (name: string) => wholeNumber(headers.get(`X-RateLimit-${name}`))
  const [limit, remaining, reset] = [read('Limit'), read('Remaining'), read('Reset')]
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined
  return { limit, remaining, resetsAt: new Date(reset * 1000) }
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3: seconds, or a date) as milliseconds from `now`. */
export function readRetryAfter(text: string | null | undefined, now: number): number | undefined {
  const seconds = wholeNumber(text)
  if (seconds !== undefined) return seconds * 1000
  // Date.parse is lenient: it reads `1.5` as January 5.
  const time = text?.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined
}
