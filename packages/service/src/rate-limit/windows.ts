// Fixed windows, and their state in one form for memory, Redis and @fastify/rate-limit.

import type { Client } from '../auth/client.js'

/** The state of a fixed window when a request was counted, or when the window was read. */
export interface WindowState {
  readonly max: number
  readonly remaining: number
  /** Milliseconds until the window resets; 0 when none is open. */
  readonly ttl: number
  /** More requests were counted than `max`. */
  readonly isExceeded: boolean
}

/** A client's ban and quotas, each a window: a ban is a window of one request. */
export interface KnownWindows {
  readonly ban: WindowState
  readonly minute: WindowState
  readonly day: WindowState
}

/** A client's windows after a request. */
export interface ClientWindows extends KnownWindows {
  /** True if the request was admitted, and therefore counted in the minute and the day. */
  readonly isAdmitted: boolean
}

/** Counts the requests of clients. */
export interface ClientCounter {
  /**
   * Counts a request in the minute and the day, unless the client is banned or one of the two has less left
   * than the request costs. A rejected request takes nothing.
   * @param cost the number of requests that it counts as
   * @param known windows counted elsewhere, such as in Redis before it failed. No window starts below them
   */
  count(client: Client, cost?: number, known?: KnownWindows): ClientWindows | Promise<ClientWindows>
  /**
   * Counts a rejected request, at most one in each second, because requests sent at once cannot know of the
   * first 429. Returns the ban if the request started or met one.
   */
  reject(client: Client): Promise<WindowState | undefined>
}

/** The windows as this process last saw them, for the headers of a request that is not counted. */
export interface LastCounts {
  lastOf(client: Client): KnownWindows | undefined
  lastOfAddress(network: string): StoredWindow | undefined
}

/** A window as @fastify/rate-limit reads it from a store: the count, and the milliseconds until it resets. */
export interface StoredWindow {
  readonly current: number
  readonly ttl: number
}

/** The window of an address after a request. */
export interface AddressWindow extends StoredWindow {
  /** True if the request was counted. A request that costs more than what is left is not. */
  readonly isCounted: boolean
}

export const secondMs = 1_000
export const minuteMs = 60_000
export const dayMs = 86_400_000

/** Returns the state of a window with this count. */
export function windowState(current: number, ttl: number, max: number): WindowState {
  return { max, remaining: Math.max(0, max - current), ttl, isExceeded: current > max }
}

/**
 * A fixed window in memory. It opens with its first request. All methods take the time of the request.
 */
export class Window {
  #count = 0
  #endsAt = 0

  current(nowMs: number): number {
    return nowMs < this.#endsAt ? this.#count : 0
  }

  ttl(nowMs: number): number {
    return Math.max(0, this.#endsAt - nowMs)
  }

  increment(lengthMs: number, nowMs: number, by = 1): void {
    if (this.#endsAt <= nowMs) {
      this.#count = 0
      this.#endsAt = nowMs + lengthMs
    }
    this.#count += by
  }

  /** Adopts a count made elsewhere if it is higher. */
  raise(known: WindowState, nowMs: number): void {
    if (used(known) <= this.current(nowMs)) return
    this.#count = used(known)
    this.#endsAt = nowMs + known.ttl
  }

  state(max: number, nowMs: number): WindowState {
    return windowState(this.current(nowMs), this.ttl(nowMs), max)
  }
}

/** Returns the state of a window that has not started. */
export function unused(max: number): WindowState {
  return windowState(0, 0, max)
}

/** Returns the state of a window some milliseconds later, without further requests. */
export function aged(window: WindowState, ms: number): WindowState {
  return window.ttl > ms ? { ...window, ttl: window.ttl - ms } : unused(window.max)
}

/** Returns the number of requests counted in a window, at most `max`. */
export function used({ max, remaining }: WindowState): number {
  return max - remaining
}
