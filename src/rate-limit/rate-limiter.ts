// The rate limiter: counts requests of the contract's operations, sets headers, and rejects what exceeds a
// quota.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress, networkOf } from '../lib/address.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { type RateLimits, RequestError } from '../openapi/index.js'
import type { Counters } from './counters.js'
import { rateLimitHeaders } from './headers.js'
import { type Decision, decideOnAddress, decideOnClient, type Refusal } from './rules.js'
import { aged, fullest, unused, type WindowState } from './windows.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the rate limiter rejected the request. */
    rateLimitRefusal: Refusal | undefined
  }
}

export interface RateLimiter {
  /**
   * Counts a request of its client, or else of its address, and sets the headers.
   * @throws {RequestError} `rate_limit_exceeded` or `key_banned`
   */
  count(request: FastifyRequest, reply: FastifyReply): MaybePromise<void>
  hasHeaders(reply: FastifyReply): boolean
  /** Sets the headers to the caller's last known windows, without counting or reading a counter. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void
}

/** The rate limiter of a contract without x-rate-limits. */
export const unlimited: RateLimiter = {
  count: () => {},
  hasHeaders: () => true,
  setLastHeaders: () => {},
}

const callersMax = 10_000

/** Creates a rate limiter that counts clients by their plan, and requests without a valid key by address. */
export function createRateLimiter(counters: Counters, anonymous: RateLimits['anonymous']): RateLimiter {
  const last = new LastWindows()
  const apply = (request: FastifyRequest, reply: FastifyReply, decision: Decision) => {
    last.set(request, decision.windows)
    setHeaders(reply, decision)
    if (decision.refusal !== undefined) refuse(request, decision.refusal)
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
    hasHeaders: (reply) => reply.hasHeader('x-ratelimit-limit'),
    setLastHeaders(request, reply) {
      const { client } = request
      const fresh = client ? [client.quotas.perMinute, client.quotas.perDay] : [anonymous.perMinute]
      setHeaders(reply, { window: fullest(last.get(request) ?? fresh.map(unused)) })
    },
  }
}

// The windows of each caller as they were last counted.
class LastWindows {
  readonly #callers = createCache<{ readonly windows: readonly WindowState[]; readonly atMs: number }>(
    callersMax,
  )

  get(request: FastifyRequest): readonly WindowState[] | undefined {
    const last = this.#callers.get(callerOf(request))
    return last?.windows.map((window) => aged(window, elapsedMs() - last.atMs))
  }

  set(request: FastifyRequest, windows: readonly WindowState[]): void {
    this.#callers.set(callerOf(request), { windows, atMs: elapsedMs() })
  }
}

function callerOf(request: FastifyRequest): string {
  return request.client?.keyId ?? networkOf(clientAddress(request))
}

function setHeaders(reply: FastifyReply, { window, refusal }: Omit<Decision, 'windows'>): void {
  const resetsAt = Math.ceil((Date.now() + (refusal?.waitMs ?? window.ttl)) / 1000)
  reply.headers(rateLimitHeaders(window.max, refusal ? 0 : window.remaining, resetsAt))
}

function refuse(request: FastifyRequest, refusal: Refusal): never {
  if (refusal.beginsBan) request.log.warn({ keyId: request.client?.keyId }, 'key banned')
  request.rateLimitRefusal = refusal
  throw toRequestError(refusal)
}

function toRequestError({ code, waitMs, reason }: Refusal): RequestError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new RequestError(code, `${reason} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
