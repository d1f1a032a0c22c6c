// The rules of x-rate-limits: decide whether a request is admitted, and which window its headers report.
// Rejected requests count in no window, so a client that waits for Retry-After is admitted, unless others
// with its key have waited as long and used up the new window.

import type { RequestError } from 'contract-engine'
import type { Client } from '../auth/client.js'
import type { ServiceContract } from '../auth/plans.js'
import { ofAddress, type Wait, type Windows } from './headers.js'
import type { ClientCounter, KnownWindows, WindowState } from './windows.js'

/** The reason why a request gets 429. */
export interface Refusal extends Wait {
  /** The window that is used up. */
  readonly window: 'minute' | 'day' | 'ban' | 'address'
  /** True if this request started the ban. */
  readonly beginsBan?: boolean
}

export interface Decision {
  /** The window that the X-RateLimit headers report. */
  readonly window: WindowState
  readonly windows: Windows
  readonly refusal?: Refusal
}

/** Decides how to refuse a client's request that was not admitted, and counts it as rejected. */
export async function decideOnRejected(
  counter: ClientCounter,
  client: Client,
  { ban, minute, day }: KnownWindows,
  cost: number,
): Promise<Decision> {
  const who = client.keyId === undefined ? 'caller' : 'key'
  if (ban.remaining === 0) return banned(who, minute, day, cost, ban)
  const begun = await counter.reject(client)
  return begun === undefined
    ? usedUp(minute, day, cost)
    : banned(who, minute, day, cost, begun, !begun.isExceeded)
}

/** Returns the decision for an admitted request of a client. */
export function admitted(minute: WindowState, day: WindowState): Decision {
  return { window: fuller(minute, day), windows: { minute, day } }
}

// Returns the window with fewer remaining requests, or the day if both have the same, because it is longer.
function fuller(minute: WindowState, day: WindowState): WindowState {
  return minute.remaining < day.remaining ? minute : day
}

/**
 * Decides on a request without a valid key, by the window of its address after counting it.
 * @param unauthorized the 401 that the request gets if it is admitted
 */
export function decideOnAddress(
  window: WindowState,
  cost: number,
  unauthorized: RequestError | undefined,
  contract: ServiceContract,
): Decision {
  const windows = { minute: window }
  if (!window.isExceeded) return { window, windows }
  const reason = reasonOf("This minute's requests without a valid key", window, cost)
  const refusal = { ...ofAddress(reason, window.ttl, unauthorized, contract), window: 'address' } as const
  return { window, windows, refusal }
}

// Reports the used-up window that resets last. It may still have room for a request that costs less.
function usedUp(minute: WindowState, day: WindowState, cost: number): Decision {
  const isDay = day.remaining < cost && (minute.remaining >= cost || day.ttl >= minute.ttl)
  const [window, name] = isDay ? ([day, 'day'] as const) : ([minute, 'minute'] as const)
  const never = neverEnough(minute, day, cost)
  const reason = never ?? reasonOf(`This ${name}'s requests`, window, cost)
  const isFinal = never !== undefined
  const refusal = { code: 'rate_limit_exceeded', window: name, waitMs: window.ttl, reason, isFinal } as const
  return { window, windows: { minute, day }, refusal }
}

// Only for a key with quotas of its own, which may be older than the cost. The quotas of all plans suffice.
function neverEnough(minute: WindowState, day: WindowState, cost: number): string | undefined {
  if (minute.max >= cost && day.max >= cost) return undefined
  const quota = minute.max < cost ? `${minute.max} per minute` : `${day.max} per day`
  return `This request counts as ${cost}, and the quota of this key is ${quota}: it is never admitted.`
}

function reasonOf(requests: string, { remaining }: WindowState, cost: number): string {
  return remaining === 0
    ? `${requests} are used up.`
    : `${requests} are used up but for ${remaining}, and this one counts as ${cost}.`
}

// The wait also covers used-up windows that reset after the end of the ban.
function banned(
  who: 'key' | 'caller',
  minute: WindowState,
  day: WindowState,
  cost: number,
  ban: WindowState,
  beginsBan = false,
): Decision {
  const usedUp = [minute, day].filter(({ remaining }) => remaining < cost)
  const waitMs = Math.max(...[ban, ...usedUp].map(({ ttl }) => ttl))
  const during = (window: WindowState) => ({ ...window, remaining: 0, ttl: waitMs })
  const reason = `This ${who} is banned for continuing after 429 responses.`
  const refusal = {
    code: 'key_banned',
    window: 'ban',
    waitMs,
    reason,
    beginsBan,
  } as const
  return {
    window: { ...fuller(minute, day), remaining: 0 },
    windows: { minute: during(minute), day: during(day) },
    refusal,
  }
}
