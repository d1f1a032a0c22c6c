// Quotas (specification, section 8): which window speaks, what a caller is told, when a key is banned. A rejected
// request is counted in no window, so a client that waits as it is told gets through.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.js'
import type { Client } from './client.js'
import type { Count, Counters, Limiters } from './limiters.js'

/** Counts the requests of clients and of addresses, and sets the headers that tell of it. */
export interface Meter {
  /** Throws `rate_limit_exceeded` or `key_banned` when the request is one too many. */
  count(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** For a caller nobody could look up: the headers alone. */
  show(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

// What a request is told: a window, and when it is refused why and how long.
interface Verdict {
  readonly window: Count
  readonly refusal?: {
    readonly code: 'rate_limit_exceeded' | 'key_banned'
    readonly waitMs: number
    readonly why: string
  }
  readonly banBegins?: boolean
}

const peek = { increment: false }

/** Where the contract limits nothing. */
export const unmetered: Meter = { count: async () => {}, show: async () => {} }

/**
 * Makes the meter: a known client by its key's plan, anyone else by address.
 * @param now the time in milliseconds since the epoch
 */
export function createMeter(counters: Counters, now: () => number = Date.now): Meter {
  function setHeaders(reply: FastifyReply, { window, refusal }: Verdict): void {
    reply.headers({
      'X-RateLimit-Limit': window.max,
      'X-RateLimit-Remaining': refusal ? 0 : window.remaining,
      'X-RateLimit-Reset': Math.ceil((now() + (refusal?.waitMs ?? window.ttl)) / 1000),
    })
  }
  return {
    async count(request, reply) {
      const { client, ip } = request
      const verdict = await counters.run((limiters) =>
        client === undefined ? meterAddress(limiters, ip) : meterClient(limiters, client),
      )
      setHeaders(reply, verdict)
      if (verdict.banBegins) request.log.warn({ keyId: client?.keyId }, 'key banned')
      if (verdict.refusal) throw refused(verdict.refusal)
    },
    async show({ ip }, reply) {
      setHeaders(reply, { window: await counters.run((limiters) => limiters.addresses(ip, peek)) })
    },
  }
}

function refused({ code, waitMs, why }: NonNullable<Verdict['refusal']>): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new ApiError(code, `${why} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}

// Looks before it counts: what the ban or the day refuses must not use up the minute, or a client that waited as
// told would find the minute gone.
async function meterClient(limiters: Limiters, client: Client): Promise<Verdict> {
  const [ban, dayBefore] = await Promise.all([limiters.bans(client, peek), limiters.day(client, peek)])
  if (ban.remaining === 0) return banned(limiters, client, [ban, dayBefore])
  if (dayBefore.remaining === 0) {
    return rejected(limiters, client, await limiters.minute(client, peek), dayBefore)
  }
  const minute = await limiters.minute(client)
  if (minute.isExceeded) return rejected(limiters, client, minute, dayBefore)
  const day = await limiters.day(client)
  if (day.isExceeded) return rejected(limiters, client, minute, day)
  return { window: minute.remaining < day.remaining ? minute : day }
}

// The violated window that resets last tells when.
async function rejected(limiters: Limiters, client: Client, minute: Count, day: Count): Promise<Verdict> {
  const rejections = await limiters.rejections(client)
  if (rejections.isExceeded) {
    const ban = await limiters.bans(client)
    const verdict = await banned(limiters, client, [ban, day])
    return { ...verdict, banBegins: !ban.isExceeded }
  }
  const window = day.remaining === 0 && (minute.remaining > 0 || day.ttl >= minute.ttl) ? day : minute
  const name = window === day ? 'day' : 'minute'
  const why = `This ${name}'s requests are used up.`
  return { window, refusal: { code: 'rate_limit_exceeded', waitMs: window.ttl, why } }
}

// A ban ends by itself, but it opens no window that is used up beyond its end.
async function banned(limiters: Limiters, client: Client, [ban, day]: [Count, Count]): Promise<Verdict> {
  const minute = await limiters.minute(client, peek)
  const usedUp = [minute, day].filter(({ remaining }) => remaining === 0)
  const waitMs = Math.max(ban.ttl, ...usedUp.map(({ ttl }) => ttl))
  const why = 'This key is banned for calling on after it was told to wait.'
  const window = minute.remaining < day.remaining ? minute : day
  return { window, refusal: { code: 'key_banned', waitMs, why } }
}

async function meterAddress(limiters: Limiters, address: string): Promise<Verdict> {
  const window = await limiters.addresses(address)
  if (!window.isExceeded) return { window }
  const why = "This minute's requests without a valid key are used up."
  return { window, refusal: { code: 'rate_limit_exceeded', waitMs: window.ttl, why } }
}
