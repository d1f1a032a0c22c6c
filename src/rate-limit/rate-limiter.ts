// Counts each request of the contract's operations, tells its caller by headers, and refuses what is one too many.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RateLimits } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { type Counters, networkOf } from './counters.js'
import { type Decision, decideOnAddress, decideOnClient, decideOnGuess, type Refusal } from './rules.js'
import { aged, fullest, unused, type WindowState } from './windows.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where it was one request too many. */
    rateLimitRefusal: Refusal | undefined
  }
}

/** Counts the requests of clients and of addresses, and sets the headers that tell of it. */
export interface RateLimiter {
  /** Throws `rate_limit_exceeded` or `key_banned` when the request is one too many. */
  count(request: FastifyRequest, reply: FastifyReply): MaybePromise<void>
  /**
   * Runs a look-up of the caller, and what follows from it. Until then nobody knows whose request it is: no one is charged, and
   * it has the headers of its address, for the look-up may fail, or take longer than an answer may. Throws `rate_limit_exceeded`
   * instead where it may be a guess, and the address has no guess left, those in flight included.
   */
  lookUp(
    request: FastifyRequest,
    reply: FastifyReply,
    isGuess: () => boolean,
    run: () => Promise<void>,
  ): Promise<void>
  /** Whether an answer has the headers. */
  hasHeaders(reply: FastifyReply): boolean
  /** Sets the headers to what the caller was last told, without counting or asking anybody. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void
}

/** Where the contract limits nothing. */
export const unlimited: RateLimiter = {
  count: () => {},
  lookUp: (_request, _reply, _isGuess, run) => run(),
  hasHeaders: () => true,
  setLastHeaders: () => {},
}

const peek = { increment: false }
const callersMax = 10_000

/**
 * A rate limiter that counts a known client by its key's plan, and anyone else by address.
 * @param now the time in milliseconds since the epoch
 */
export function createRateLimiter(
  counters: Counters,
  anonymous: RateLimits['anonymous'],
  now: () => number = Date.now,
): RateLimiter {
  const lastTold = createCache<{ readonly windows: readonly WindowState[]; readonly atMs: number }>(
    callersMax,
  )
  const callerOf = ({ client, ip }: FastifyRequest) => client?.keyId ?? networkOf(ip)
  // By network: look-ups of keys that may be guesses, until their address is charged if they were.
  const guessesInFlight = new Map<string, number>()

  function setHeaders(reply: FastifyReply, { window, refusal }: Omit<Decision, 'windows'>): void {
    reply.headers({
      'x-ratelimit-limit': window.max,
      'x-ratelimit-remaining': refusal ? 0 : window.remaining,
      'x-ratelimit-reset': Math.ceil((now() + (refusal?.waitMs ?? window.ttl)) / 1000),
    })
  }

  function apply(request: FastifyRequest, reply: FastifyReply, decision: Decision): void {
    const { windows, refusal } = decision
    lastTold.set(callerOf(request), { windows, atMs: elapsedMs() })
    setHeaders(reply, decision)
    if (refusal?.beginsBan) request.log.warn({ keyId: request.client?.keyId }, 'key banned')
    if (refusal === undefined) return
    request.rateLimitRefusal = refusal
    throw toApiError(refusal)
  }

  return {
    count(request, reply) {
      const { client } = request
      const decision =
        client === undefined
          ? counters.address(request).then(decideOnAddress)
          : decideOnClient(counters, client)
      return thenMaybe(decision, (decided) => apply(request, reply, decided))
    },
    async lookUp(request, reply, isGuess, run) {
      const window = await counters.address(request, peek)
      // Asked now: another request may have begun to look the key up.
      if (!isGuess()) {
        apply(request, reply, { windows: [window], window })
        return run()
      }
      const network = networkOf(request.ip)
      apply(request, reply, decideOnGuess(window, guessesInFlight.get(network) ?? 0))
      return whileCounted(guessesInFlight, network, run)
    },
    hasHeaders: (reply) => reply.hasHeader('x-ratelimit-limit'),
    setLastHeaders(request, reply) {
      const { client } = request
      const last = lastTold.get(callerOf(request))
      const windows = last ? last.windows.map((window) => aged(window, elapsedMs() - last.atMs)) : []
      const fresh = client ? [client.quotas.perMinute, client.quotas.perDay] : [anonymous.perMinute]
      setHeaders(reply, { window: fullest(windows.length > 0 ? windows : fresh.map(unused)) })
    },
  }
}

async function whileCounted(
  counts: Map<string, number>,
  name: string,
  run: () => Promise<void>,
): Promise<void> {
  const countOf = () => counts.get(name) ?? 0
  counts.set(name, countOf() + 1)
  try {
    await run()
  } finally {
    counts.set(name, countOf() - 1)
    if (countOf() === 0) counts.delete(name)
  }
}

function toApiError({ code, waitMs, reason }: Refusal): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new ApiError(code, `${reason} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
