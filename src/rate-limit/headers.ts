// The headers of a rate-limit window, and what rate limits add to the responses of a contract.

import { type Addition, anyError, type Contract, type RateLimits } from '../openapi/index.js'

/** The headers of a window that resets at a Unix time in seconds. */
export function rateLimitHeaders(limit: number, remaining: number, resetsAt: number) {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetsAt),
  }
}

// Not that of windows.ts: tools that only look at a contract import this file.
const dayMs = 86_400_000

/** What rate limits add, with their lowest and highest numbers; nothing without `x-rate-limits`. */
export function rateLimitAdditions({ hasRateLimits, rateLimits }: Contract): readonly Addition[] {
  if (!hasRateLimits) return []
  const quotas = quotasOf(rateLimits)
  const [least, most] = [Math.min(...quotas), Math.max(...quotas)]
  const now = Math.ceil(Date.now() / 1000)
  const waits = [1, Math.max(dayMs / 1_000, rateLimits.ban.banSeconds)].map((seconds) => ({
    'Retry-After': String(seconds),
  }))
  return [
    {
      headers: Object.keys(rateLimitHeaders(0, 0, 0)),
      always: () => [rateLimitHeaders(least, 0, now), rateLimitHeaders(most, most - 1, now)],
      errors: () =>
        waits.flatMap((wait) => [anyError('rate_limit_exceeded', wait), anyError('key_banned', wait)]),
    },
  ]
}

function quotasOf({ plans, anonymous }: RateLimits): number[] {
  const quotas = [...plans.values()].filter((plan) => plan !== 'custom')
  return [anonymous.perMinute, ...quotas.flatMap(({ perMinute, perDay }) => [perMinute, perDay])]
}
