// The windows that this process last saw of each client, from Redis or from the fallback. The next count
// never starts below them, so quotas and bans survive when Redis fails, recovers, or comes back empty.

import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { clientsMax } from './memory.js'
import { aged, type KnownWindows, used, type WindowState } from './windows.js'

export class LastSeen {
  readonly #clients = createCache<{ readonly windows: KnownWindows; readonly atMs: number }>(clientsMax)

  /** Returns a client's windows, aged to the given time. */
  get(callerId: string, atMs: number = elapsedMs()): KnownWindows | undefined {
    const last = this.#clients.get(callerId)
    return last && mapWindows(last.windows, (window) => aged(window, atMs - last.atMs))
  }

  /**
   * Stores a client's windows. Keeps the higher count of each window, because replies may arrive out of
   * order.
   * @param requestedAtMs the time of the request for the windows, from which their ttl counts
   */
  set(callerId: string, seen: KnownWindows, requestedAtMs: number): void {
    const atMs = requestedAtMs - 1 // both clocks count whole milliseconds
    const before = this.get(callerId, atMs)
    const windows = mapWindows(seen, (window, name) => (before ? moreUsed(window, before[name]) : window))
    this.#clients.set(callerId, { windows, atMs })
  }
}

function mapWindows(
  { ban, minute, day }: KnownWindows,
  map: (window: WindowState, name: keyof KnownWindows) => WindowState,
): KnownWindows {
  return { ban: map(ban, 'ban'), minute: map(minute, 'minute'), day: map(day, 'day') }
}

function moreUsed(one: WindowState, other: WindowState): WindowState {
  return used(one) >= used(other) ? one : other
}
