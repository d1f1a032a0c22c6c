// What a window of a rate limit holds: the one form in which memory, Redis and @fastify/rate-limit tell of it.

import type { Client } from '../auth/client.js'
import type { MaybePromise } from '../lib/maybe-promise.js'

/** A fixed window, after a request was counted in it or was only looked at. */
export interface WindowState {
  readonly max: number
  readonly remaining: number
  /** Milliseconds until it ends; 0 where none has begun. */
  readonly ttl: number
  /** More were counted than it allows. */
  readonly isExceeded: boolean
}

/** The windows of a client, after a request of its was counted or was only looked at. */
export interface ClientWindows {
  /** Counted in both windows: neither they nor a ban refused it. */
  readonly isAdmitted: boolean
  readonly ban: WindowState
  readonly minute: WindowState
  readonly day: WindowState
}

/** A client's windows as they were told before. */
export type KnownWindows = Pick<ClientWindows, 'ban' | 'minute' | 'day'>

/** Counts the requests of clients. */
export interface ClientCounter {
  /**
   * Counts a request in both windows, if the client is not banned and neither of them is used up.
   * @param known what was counted elsewhere: a window begins from no less
   */
  count(client: Client, known?: KnownWindows): MaybePromise<ClientWindows>
  /** Counts a rejected request; gives the ban that it began or met, if it was one too many. */
  reject(client: Client): MaybePromise<WindowState | undefined>
}

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** The state of a window in which so many requests were counted. */
export function windowState(current: number, ttl: number, max: number): WindowState {
  return { max, remaining: Math.max(0, max - current), ttl, isExceeded: current > max }
}

/** A window that has not begun. */
export function unused(max: number): WindowState {
  return windowState(0, 0, max)
}

/** What has become of a window since: it ends, and the next has not begun. */
export function aged(window: WindowState, ms: number): WindowState {
  return window.ttl > ms ? { ...window, ttl: window.ttl - ms } : unused(window.max)
}

/** How many requests were counted in it. */
export function used({ max, remaining }: WindowState): number {
  return max - remaining
}

/** The window with the least left; of two alike the later, which is the longer. */
export function fullest(windows: readonly WindowState[]): WindowState {
  return windows.reduce((least, each) => (least.remaining < each.remaining ? least : each))
}
