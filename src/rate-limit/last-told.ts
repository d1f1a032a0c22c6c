// What this process was last told of clients' windows, by Redis or while that was away: whoever counts next begins from no less. So a
// client goes on where it was when Redis goes away, comes back, or comes back empty.

import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { keysMax } from './memory.js'
import { aged, type KnownWindows, used, type WindowState } from './windows.js'

export class LastTold {
  readonly #clients = createCache<{ readonly windows: KnownWindows; readonly asOfMs: number }>(keysMax)

  /** A client's, as they are after the time that has passed since. */
  of(keyId: string, atMs: number = elapsedMs()): KnownWindows | undefined {
    const last = this.#clients.get(keyId)
    return last && mapWindows(last.windows, (window) => aged(window, atMs - last.asOfMs))
  }

  /**
   * Keeps what is told: of each window that which has counted more, for answers may overtake each other.
   * @param askedAtMs the window ends no later than it would if it had been told at once
   */
  keep(keyId: string, told: KnownWindows, askedAtMs: number): void {
    const asOfMs = askedAtMs - 1 // the clocks are read in whole milliseconds
    const before = this.of(keyId, asOfMs)
    const windows = mapWindows(told, (window, name) => (before ? fuller(window, before[name]) : window))
    this.#clients.set(keyId, { windows, asOfMs })
  }
}

function mapWindows(
  { ban, minute, day }: KnownWindows,
  map: (window: WindowState, name: keyof KnownWindows) => WindowState,
): KnownWindows {
  return { ban: map(ban, 'ban'), minute: map(minute, 'minute'), day: map(day, 'day') }
}

function fuller(one: WindowState, other: WindowState): WindowState {
  return used(one) >= used(other) ? one : other
}
