// Quotas (specification, section 8): which window speaks, what a caller is told, when a key is banned. A rejected
// request is counted in no window, so a client that waits as it is told gets through.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { elapsedMs } from '../lib/clock.js'
import { proceed, type Soon } from '../lib/maybe-promise.js'
import { type Count, type Counters, type Limiters, networkOf, type Standing } from './counters.js'

/** Counts the requests of clients and of addresses, and sets the headers that tell of it. */
export interface Meter {
  /** Throws `rate_limit_exceeded` or `key_banned` when the request is one too many. */
  count(request: FastifyRequest, reply: FastifyReply): Soon<void>
  /**
   * Does a look-up of the caller, and what follows from it. Until then nobody knows whose request it is: no one is charged, and
   * it has the headers of its address, for the look-up may fail, or take longer than an answer may. Throws `rate_limit_exceeded`
   * instead where it may be a guess, and the address has no guess left, those under way included.
   */
  lookUp(
    request: FastifyRequest,
    reply: FastifyReply,
    isGuess: () => boolean,
    work: () => Promise<void>,
  ): Promise<void>
  /** Whether an answer has the headers. */
  hasTold(reply: FastifyReply): boolean
  /** The headers alone, of what the caller was last told: nothing is counted, and nobody is asked. */
  recall(request: FastifyRequest, reply: FastifyReply): void
}

/** What callers were last told. */
interface Told {
  readonly windows: readonly Count[]
  readonly atMs: number
}

/** What was used up. */
export interface Refused {
  readonly window: 'minute' | 'day' | 'ban' | 'address'
  /** It is this request that got the key banned. */
  readonly banBegins: boolean
}

// What a request is told: a window, and when it is refused why and how long.
interface Verdict {
  /** The caller's, of which `window` is the one that is told. */
  readonly windows: readonly Count[]
  readonly window: Count
  readonly refusal?: {
    readonly code: 'rate_limit_exceeded' | 'key_banned'
    readonly window: Refused['window']
    readonly waitMs: number
    readonly why: string
  }
  readonly banBegins?: boolean
}

const peek = { increment: false }

/** Where the contract limits nothing. */
export const unmetered: Meter = {
  count: () => {},
  hasTold: () => true,
  lookUp: (_request, _reply, _isGuess, work) => work(),
  recall: () => {},
}

const toldMax = 10_000

/**
 * Makes the meter: a known client by its key's plan, anyone else by address.
 * @param now the time in milliseconds since the epoch
 */
export function createMeter(
  counters: Counters,
  anonymous: RateLimits['anonymous'],
  now: () => number = Date.now,
): Meter {
  const told = new LRUCache<string, Told>({ max: toldMax })
  const callerOf = ({ client, ip }: FastifyRequest) => client?.keyId ?? networkOf(ip)

  function setHeaders(reply: FastifyReply, { window, refusal }: Omit<Verdict, 'windows'>): void {
    reply.headers({
      'x-ratelimit-limit': window.max,
      'x-ratelimit-remaining': refusal ? 0 : window.remaining,
      'x-ratelimit-reset': Math.ceil((now() + (refusal?.waitMs ?? window.ttl)) / 1000),
    })
  }
  function conclude(request: FastifyRequest, reply: FastifyReply, verdict: Verdict): void {
    const { windows, refusal, banBegins } = verdict
    told.set(callerOf(request), { windows, atMs: elapsedMs() })
    setHeaders(reply, verdict)
    if (banBegins) request.log.warn({ keyId: request.client?.keyId }, 'key banned')
    if (refusal === undefined) return
    request.refused = { window: refusal.window, banBegins: banBegins === true }
    throw refused(refusal)
  }

  // By network: keys that may be guesses and are being looked up, until their address is charged if they were.
  const guesses = new Map<string, number>()

  return {
    count(request, reply) {
      const { client } = request
      const counted = counters.run<Verdict>((limiters) =>
        client === undefined ? meterAddress(limiters, request.ip) : meterClient(limiters, client),
      )
      return proceed(counted, (verdict) => conclude(request, reply, verdict))
    },
    hasTold: (reply) => reply.hasHeader('x-ratelimit-limit'),
    recall(request, reply) {
      const { client } = request
      const last = told.get(callerOf(request))
      const windows = last ? last.windows.map((window) => aged(window, elapsedMs() - last.atMs)) : []
      const fresh = client ? [client.quotas.perMinute, client.quotas.perDay] : [anonymous.perMinute]
      setHeaders(reply, { window: fullest(windows.length > 0 ? windows : fresh.map(unused)) })
    },
    async lookUp(request, reply, isGuess, work) {
      const window = await counters.run((limiters) => limiters.addresses(request.ip, peek))
      // Asked now: another request may have begun to look the key up.
      if (!isGuess()) {
        conclude(request, reply, { windows: [window], window })
        return work()
      }
      const network = networkOf(request.ip)
      conclude(request, reply, guessed(window, guesses.get(network) ?? 0))
      return whileCounted(guesses, network, work)
    },
  }
}

async function whileCounted(
  counts: Map<string, number>,
  name: string,
  work: () => Promise<void>,
): Promise<void> {
  const countOf = () => counts.get(name) ?? 0
  counts.set(name, countOf() + 1)
  try {
    await work()
  } finally {
    counts.set(name, countOf() - 1)
    if (countOf() === 0) counts.delete(name)
  }
}

function refused({ code, waitMs, why }: NonNullable<Verdict['refusal']>): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new ApiError(code, `${why} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}

function meterClient(limiters: Limiters, client: Client): Soon<Verdict> {
  return proceed<Standing, Verdict>(limiters.admit(client), (standing) => {
    if (standing.isAdmitted) return { windows: windowsOf(standing), window: fullest(windowsOf(standing)) }
    if (standing.ban.remaining === 0) return banned(standing)
    return proceed(limiters.reject(client), (ban) => {
      if (ban === undefined) return rejected(standing)
      return { ...banned({ ...standing, ban }), banBegins: !ban.isExceeded }
    })
  })
}

function windowsOf({ minute, day }: Standing): readonly Count[] {
  return [minute, day]
}

// The one with the least left; of two alike the later, which is the longer.
function fullest(windows: readonly Count[]): Count {
  return windows.reduce((least, each) => (least.remaining < each.remaining ? least : each))
}

function unused(max: number): Count {
  return { max, remaining: max, ttl: 0, isExceeded: false }
}

function aged(window: Count, ms: number): Count {
  return window.ttl > ms ? { ...window, ttl: window.ttl - ms } : unused(window.max)
}

// The violated window that resets last tells when.
function rejected(standing: Standing): Verdict {
  const { minute, day } = standing
  const window = day.remaining === 0 && (minute.remaining > 0 || day.ttl >= minute.ttl) ? day : minute
  const name = window === day ? 'day' : 'minute'
  const why = `This ${name}'s requests are used up.`
  const refusal = { code: 'rate_limit_exceeded', window: name, waitMs: window.ttl, why } as const
  return { windows: windowsOf(standing), window, refusal }
}

// A ban ends by itself, but it opens no window that is used up beyond its end.
function banned(standing: Standing): Verdict {
  const usedUp = [standing.minute, standing.day].filter(({ remaining }) => remaining === 0)
  const waitMs = Math.max(standing.ban.ttl, ...usedUp.map(({ ttl }) => ttl))
  const why = 'This key is banned for calling on after it was told to wait.'
  const windows = windowsOf(standing)
  return { windows, window: fullest(windows), refusal: { code: 'key_banned', window: 'ban', waitMs, why } }
}

async function meterAddress(limiters: Limiters, address: string): Promise<Verdict> {
  const window = await limiters.addresses(address)
  return window.isExceeded ? usedUp(window, window.ttl) : { windows: [window], window }
}

// Keys that are being looked up may be valid, and then they are not counted: the caller need not wait for the window's end.
function guessed(window: Count, underWay: number): Verdict {
  if (underWay < window.remaining) return { windows: [window], window }
  return usedUp(window, window.remaining === 0 ? window.ttl : 0)
}

function usedUp(window: Count, waitMs: number): Verdict {
  const why = "This minute's requests without a valid key are used up."
  const refusal = { code: 'rate_limit_exceeded', window: 'address', waitMs, why } as const
  return { windows: [window], window, refusal }
}
