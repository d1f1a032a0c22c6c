// The headers of rate limits, the 429, and the headers and errors that rate limits add to the responses of a
// contract.

import { type Addition, RequestError, type Security } from 'contract-engine'
import { tryAgain } from 'contract-engine/lib/texts'
import type { RateLimits, ServiceContract } from '../auth/plans.js'

/** Returns the headers of a window. @param resetsAt a Unix time in seconds */
export function rateLimitHeaders(limit: number, remaining: number, resetsAt: number) {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetsAt),
  }
}

// Not imported from windows.ts, because tools that only look at a contract import this file.
const lengthsS = { minute: 60, day: 86_400 } as const
const lengths = { minute: `;w=${lengthsS.minute}`, day: `;w=${lengthsS.day}` } as const

/** The part of a window (windows.ts) that the headers report. */
interface ReportedWindow {
  readonly max: number
  readonly remaining: number
  readonly ttl: number
}

/** The windows of a caller by their names in the headers. */
export interface Windows {
  readonly minute: ReportedWindow
  readonly day?: ReportedWindow
}

/**
 * The fields of the IETF's draft for rate limits (draft-ietf-httpapi-ratelimit-headers-10): all windows with
 * their quotas and lengths in seconds, and what is left of each for how many seconds. In one piece each:
 * every response has them.
 */
export function windowHeaders({ minute, day }: Windows) {
  const policy = `"minute";q=${minute.max}${lengths.minute}`
  const left = `"minute";r=${minute.remaining};t=${Math.ceil(minute.ttl / 1000)}`
  if (day === undefined) return { 'ratelimit-policy': policy, ratelimit: left }
  return {
    'ratelimit-policy': `${policy}, "day";q=${day.max}${lengths.day}`,
    ratelimit: `${left}, "day";r=${day.remaining};t=${Math.ceil(day.ttl / 1000)}`,
  }
}

/** The reason of a refusal, and how long it lasts. */
export interface Wait {
  readonly code: RefusalCode
  readonly reason: string
  readonly waitMs: number
  /** True if the request would be refused after the wait, too. */
  readonly isFinal?: boolean
  /** The `WWW-Authenticate` for a request without a valid credential. */
  readonly challenge?: string | undefined
}

type RefusalCode = 'rate_limit_exceeded' | 'key_banned' | 'unauthorized_limit_exceeded'

/** Makes the 429 of a request over a limit, with `Retry-After` in whole seconds (RFC 6585, section 4). */
export function tooMany({ code, reason, waitMs, isFinal = false, challenge }: Wait): RequestError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  const advice = isFinal ? '' : ` ${tryAgain(seconds)}`
  const headers = { 'Retry-After': String(seconds), ...(challenge && { 'WWW-Authenticate': challenge }) }
  return new RequestError(code, `${reason}${advice}`, { status: 429, headers })
}

/**
 * Returns the refusal of an address that has used up its requests without a valid credential. A request that
 * would get a 401 after the wait has a code of its own, because client libraries that repeat a 429 would wait
 * for nothing.
 * @param unauthorized the 401 that the request would get
 */
export function ofAddress(
  reason: string,
  waitMs: number,
  unauthorized: RequestError | undefined,
  { errorStatuses }: Pick<ServiceContract, 'errorStatuses'>,
): Wait {
  const code = 'unauthorized_limit_exceeded'
  if (unauthorized === undefined || !errorStatuses.has(code))
    return { code: 'rate_limit_exceeded', reason, waitMs }
  const { message, headers } = unauthorized
  const told = `${message} ${reason} Waiting makes no key valid, and a valid key is admitted at once.`
  return { code, reason: told, waitMs, isFinal: true, challenge: headers['WWW-Authenticate'] }
}

/**
 * Returns the headers and errors that rate limits add, with their lowest and highest numbers. Empty for a
 * contract without `x-rate-limits`.
 */
export function rateLimitAdditions(contract: ServiceContract, security: Security): readonly Addition[] {
  const { hasRateLimits, rateLimits } = contract
  if (!hasRateLimits) return []
  const quotas = quotasOf(rateLimits)
  const [least, most] = [Math.min(...quotas), Math.max(...quotas)]
  const now = Math.ceil(Date.now() / 1000)
  const waitsMs = [0, Math.max(lengthsS.day * 1_000, rateLimits.ban.banSeconds * 1_000)]
  const codes = ['rate_limit_exceeded', 'key_banned'] as const
  return [
    {
      headers: Object.keys({ ...rateLimitHeaders(0, 0, 0), ...windowHeaders({ minute: whole(least) }) }),
      always: () => [
        { ...rateLimitHeaders(least, 0, now), ...windowHeaders({ minute: whole(least) }) },
        {
          ...rateLimitHeaders(most, most - 1, now),
          ...windowHeaders({ minute: whole(most), day: whole(most) }),
        },
      ],
      errors: (operation) => {
        const ofKeys = codes.map((code) => ({ code, reason: 'Any reason.' }))
        const refusals = security.refusalsOf(operation).filter(({ statusCode }) => statusCode === 401)
        const ofGuesses = refusals.map((each) => ofAddress('Any reason.', 0, each, contract))
        return waitsMs.flatMap((waitMs) =>
          [...ofKeys, ...ofGuesses].map((each) => tooMany({ ...each, waitMs })),
        )
      },
    },
  ]
}

function whole(max: number): ReportedWindow {
  return { max, remaining: max, ttl: 0 }
}

function quotasOf({ plans, anonymous }: RateLimits): number[] {
  const quotas = [...plans.values()].filter((plan) => plan !== 'custom')
  return [anonymous.perMinute, ...quotas.flatMap(({ perMinute, perDay }) => [perMinute, perDay])]
}
