// Quotas (specification, section 8): which window speaks, what a caller is told, when a key is banned. A rejected
// request is counted in no window, so a client that waits as it is told gets through.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.js'
import { proceed, type Soon } from '../proceed.js'
import type { Client } from './client.js'
import type { Count, Counters, Limiters, Standing } from './limiters.js'

/** Counts the requests of clients and of addresses, and sets the headers that tell of it. */
export interface Meter {
  /** Throws `rate_limit_exceeded` or `key_banned` when the request is one too many. */
  count(request: FastifyRequest, reply: FastifyReply): Soon<void>
  /** For a caller nobody could look up: the headers alone. */
  show(request: FastifyRequest, reply: FastifyReply): Soon<void>
}

/** What was used up. */
export interface Refused {
  readonly window: 'minute' | 'day' | 'ban' | 'address'
  /** It is this request that got the key banned. */
  readonly banBegins: boolean
}

// What a request is told: a window, and when it is refused why and how long.
interface Verdict {
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
export const unmetered: Meter = { count: () => {}, show: () => {} }

/**
 * Makes the meter: a known client by its key's plan, anyone else by address.
 * @param now the time in milliseconds since the epoch
 */
export function createMeter(counters: Counters, now: () => number = Date.now): Meter {
  function setHeaders(reply: FastifyReply, { window, refusal }: Verdict): void {
    reply.headers({
      'x-ratelimit-limit': window.max,
      'x-ratelimit-remaining': refusal ? 0 : window.remaining,
      'x-ratelimit-reset': Math.ceil((now() + (refusal?.waitMs ?? window.ttl)) / 1000),
    })
  }
  return {
    count(request, reply) {
      const { client } = request
      const counted = counters.run<Verdict>((limiters) =>
        client === undefined ? meterAddress(limiters, request.ip) : meterClient(limiters, client),
      )
      return proceed(counted, (verdict) => {
        const { refusal, banBegins } = verdict
        setHeaders(reply, verdict)
        if (banBegins) request.log.warn({ keyId: client?.keyId }, 'key banned')
        if (refusal === undefined) return
        request.refused = { window: refusal.window, banBegins: banBegins === true }
        throw refused(refusal)
      })
    },
    show({ ip }, reply) {
      const counted = counters.run((limiters) => limiters.addresses(ip, peek))
      return proceed(counted, (window) => setHeaders(reply, { window }))
    },
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
    if (standing.isAdmitted) return { window: fullest(standing) }
    if (standing.ban.remaining === 0) return banned(standing)
    return proceed(limiters.reject(client), (ban) => {
      if (ban === undefined) return rejected(standing)
      return { ...banned({ ...standing, ban }), banBegins: !ban.isExceeded }
    })
  })
}

function fullest({ minute, day }: Standing): Count {
  return minute.remaining < day.remaining ? minute : day
}

// The violated window that resets last tells when.
function rejected({ minute, day }: Standing): Verdict {
  const window = day.remaining === 0 && (minute.remaining > 0 || day.ttl >= minute.ttl) ? day : minute
  const name = window === day ? 'day' : 'minute'
  const why = `This ${name}'s requests are used up.`
  return { window, refusal: { code: 'rate_limit_exceeded', window: name, waitMs: window.ttl, why } }
}

// A ban ends by itself, but it opens no window that is used up beyond its end.
function banned(standing: Standing): Verdict {
  const usedUp = [standing.minute, standing.day].filter(({ remaining }) => remaining === 0)
  const waitMs = Math.max(standing.ban.ttl, ...usedUp.map(({ ttl }) => ttl))
  const why = 'This key is banned for calling on after it was told to wait.'
  return { window: fullest(standing), refusal: { code: 'key_banned', window: 'ban', waitMs, why } }
}

async function meterAddress(limiters: Limiters, address: string): Promise<Verdict> {
  const window = await limiters.addresses(address)
  if (!window.isExceeded) return { window }
  const why = "This minute's requests without a valid key are used up."
  return { window, refusal: { code: 'rate_limit_exceeded', window: 'address', waitMs: window.ttl, why } }
}
