// The rate limiter: counts requests of the contract's operations, sets headers, and rejects requests over a
// quota of a minute or a day. Without bans, a client that never waits would cost as much as one that does.

import type { RequestError } from 'contract-engine'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Client, namesOf } from '../auth/client.js'
import type { RateLimits, ServiceContract } from '../auth/plans.js'
import { clientAddress, networkOf } from '../lib/address.js'
import { setHeaders } from '../lib/header-store.js'
import type { Counters } from './counters.js'
import { rateLimitHeaders, tooMany, windowHeaders } from './headers.js'
import { admitted, type Decision, decideOnAddress, decideOnRejected, type Refusal } from './rules.js'
import { type ClientWindows, type LastCounts, unused, windowState } from './windows.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the rate limiter rejected the request. */
    rateLimitRefusal: Refusal | undefined
  }
}

export interface RateLimiter {
  /**
   * Counts a request for its client, or without one for its address, and sets the headers. Synchronous if the
   * counters are. Throws or rejects with `rate_limit_exceeded`, `key_banned` or
   * `unauthorized_limit_exceeded`.
   * @param cost the number of requests that it counts as
   * @param unauthorized the 401 that the request gets if it is admitted
   */
  count(
    request: FastifyRequest,
    reply: FastifyReply,
    cost: number,
    unauthorized?: RequestError,
  ): void | Promise<void>
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

/** Creates a rate limiter that counts clients by their plan, and requests without a valid key by address. */
export function createRateLimiter(counters: Counters, contract: ServiceContract): RateLimiter {
  const { anonymous } = contract.rateLimits
  return {
    count(request, reply, cost, unauthorized) {
      const { client } = request
      if (client === undefined)
        return counters
          .address(request, cost)
          .then((window) => enforce(request, reply, decideOnAddress(window, cost, unauthorized, contract)))
      const counted = counters.count(client, cost)
      return counted instanceof Promise
        ? counted.then((windows) => decide(request, reply, client, windows, cost))
        : decide(request, reply, client, counted, cost)
    },
    hasHeaders: (reply) => reply.hasHeader('x-ratelimit-limit'),
    setLastHeaders(request, reply) {
      report(reply, lastDecision(request, counters, anonymous))
    },
  }

  function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    client: Client,
    windows: ClientWindows,
    cost: number,
  ): void | Promise<void> {
    if (windows.isAdmitted) return report(reply, admitted(windows.minute, windows.day))
    return decideOnRejected(counters, client, windows, cost).then((decision) =>
      enforce(request, reply, decision),
    )
  }
}

// Returns the decision whose windows the headers of an uncounted request report.
function lastDecision(
  request: FastifyRequest,
  counters: LastCounts,
  { perMinute }: RateLimits['anonymous'],
): Decision {
  const { client } = request
  if (client === undefined) {
    const last = counters.lastOfAddress(networkOf(clientAddress(request)))
    const window = last ? windowState(last.current, last.ttl, perMinute) : unused(perMinute)
    return { window, windows: { minute: window } }
  }
  const { minute, day } = counters.lastOf(client) ?? {
    minute: unused(client.quotas.perMinute),
    day: unused(client.quotas.perDay),
  }
  return admitted(minute, day)
}

function report(reply: FastifyReply, { window, windows, refusal }: Decision): void {
  const resetsAt = Math.ceil((Date.now() + (refusal?.waitMs ?? window.ttl)) / 1000)
  const { max, remaining } = window
  setHeaders(reply, rateLimitHeaders(max, remaining, resetsAt), windowHeaders(windows))
}

function enforce(request: FastifyRequest, reply: FastifyReply, decision: Decision): void {
  report(reply, decision)
  if (decision.refusal !== undefined) refuse(request, decision.refusal)
}

function refuse(request: FastifyRequest, refusal: Refusal): never {
  if (refusal.beginsBan)
    request.log.warn(namesOf(request.client), request.client?.keyId ? 'key banned' : 'caller banned')
  request.rateLimitRefusal = refusal
  throw tooMany(refusal)
}
