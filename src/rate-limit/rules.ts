// The rules of x-rate-limits: whether a request is admitted, and which window its headers report. A rejected
// request is counted in no window, so a client that waits for Retry-After is admitted.

import type { Client } from '../auth/client.js'
import type { Wait } from './headers.js'
import { type ClientCounter, fullest, type WindowState } from './windows.js'

/** Why a request gets 429. */
export interface Refusal extends Wait {
  /** The window that is used up. */
  readonly window: 'minute' | 'day' | 'ban' | 'address'
  /** Whether this request started the ban. */
  readonly beginsBan?: boolean
}

export interface Decision {
  /** The window that the headers report. */
  readonly window: WindowState
  readonly refusal?: Refusal
}

/** Counts a client's request and decides on it. */
export async function decideOnClient(counter: ClientCounter, client: Client): Promise<Decision> {
  const { isAdmitted, ban, minute, day } = await counter.count(client)
  const windows = [minute, day]
  if (isAdmitted) return { window: fullest(windows) }
  if (ban.remaining === 0) return banned(windows, ban)
  const begun = await counter.reject(client)
  return begun === undefined ? usedUp(minute, day) : banned(windows, begun, !begun.isExceeded)
}

/** Decides on a request without a valid key, from its address's window after counting it. */
export function decideOnAddress(window: WindowState): Decision {
  if (!window.isExceeded) return { window }
  const reason = "This minute's requests without a valid key are used up."
  const refusal = { code: 'rate_limit_exceeded', window: 'address', waitMs: window.ttl, reason } as const
  return { window, refusal }
}

// Reports the used-up window that resets last.
function usedUp(minute: WindowState, day: WindowState): Decision {
  const isDay = day.remaining === 0 && (minute.remaining > 0 || day.ttl >= minute.ttl)
  const [window, name] = isDay ? ([day, 'day'] as const) : ([minute, 'minute'] as const)
  const reason = `This ${name}'s requests are used up.`
  const refusal = { code: 'rate_limit_exceeded', window: name, waitMs: window.ttl, reason } as const
  return { window, refusal }
}

// The wait covers windows that are used up beyond the end of the ban.
function banned(windows: readonly WindowState[], ban: WindowState, beginsBan = false): Decision {
  const waits = [ban, ...windows.filter(({ remaining }) => remaining === 0)].map(({ ttl }) => ttl)
  const reason = 'This key is banned for continuing after 429 responses.'
  const refusal = {
    code: 'key_banned',
    window: 'ban',
    waitMs: Math.max(...waits),
    reason,
    beginsBan,
  } as const
  return { window: fullest(windows), refusal }
}
