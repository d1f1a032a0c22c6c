// In-memory counters: the counts of one process.

import type { Client } from '../auth/client.js'
import type { Quotas, RateLimits } from '../auth/plans.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { callerId } from '../middleware/caller-id.js'
import type { AddressStore } from './addresses.js'
import {
  type AddressWindow,
  type ClientCounter,
  type ClientWindows,
  dayMs,
  type KnownWindows,
  type LastCounts,
  minuteMs,
  type StoredWindow,
  secondMs,
  Window,
  type WindowState,
} from './windows.js'

/**
 * How many clients' windows to keep. The least recently used are evicted. Only a valid credential has a
 * client.
 */
export const clientsMax = 100_000

interface Windows {
  readonly ban: Window
  readonly minute: Window
  readonly day: Window
  readonly rejections: Window
  readonly rejectedSecond: Window
}

// A limit, because an attacker may have any number of addresses.
const addressesMax = 50_000

/**
 * Counts in memory. Evicts the least recently counted clients, and separately addresses, so that a flood of
 * addresses evicts no client. It counts synchronously, so simultaneous requests never see the same count.
 */
export class MemoryCounter implements ClientCounter, AddressStore, LastCounts {
  readonly #clients = createCache<Windows>(clientsMax)
  readonly #addresses = createCache<Window>(addressesMax)

  constructor(readonly rules: RateLimits['ban']) {}

  count(client: Client, cost = 1, known?: KnownWindows): ClientWindows {
    const nowMs = elapsedMs()
    const { quotas } = client
    const windows = this.#windowsOf(client)
    if (known !== undefined)
      for (const name of ['ban', 'minute', 'day'] as const) windows[name].raise(known[name], nowMs)
    const { ban, minute, day } = windows
    const isOpen =
      minute.current(nowMs) + cost <= quotas.perMinute && day.current(nowMs) + cost <= quotas.perDay
    const isAdmitted = isOpen && ban.current(nowMs) === 0
    if (isAdmitted) {
      minute.increment(minuteMs, nowMs, cost)
      day.increment(dayMs, nowMs, cost)
    }
    return {
      isAdmitted,
      ban: ban.state(1, nowMs),
      minute: minute.state(quotas.perMinute, nowMs),
      day: day.state(quotas.perDay, nowMs),
    }
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    const nowMs = elapsedMs()
    const { rejectedSecond, rejections, ban } = this.#windowsOf(client)
    rejectedSecond.increment(secondMs, nowMs)
    if (rejectedSecond.current(nowMs) > 1) return undefined
    rejections.increment(this.rules.withinSeconds * 1000, nowMs)
    if (rejections.current(nowMs) <= this.rules.rejections) return undefined
    ban.increment(this.rules.banSeconds * 1000, nowMs)
    return ban.state(1, nowMs)
  }

  lastOf(client: Client): KnownWindows | undefined {
    const windows = this.#clients.get(callerId(client))
    return windows && statesOf(windows, client.quotas, elapsedMs())
  }

  async increment(network: string, windowMs: number, cost = 1, max = 0): Promise<AddressWindow> {
    const nowMs = elapsedMs()
    const window = this.#addresses.get(network) ?? new Window()
    this.#addresses.set(network, window)
    const isCounted = cost === 1 || window.current(nowMs) + cost <= max
    if (isCounted) window.increment(windowMs, nowMs, cost)
    return { isCounted, current: window.current(nowMs), ttl: window.ttl(nowMs) }
  }

  lastOfAddress(network: string): StoredWindow | undefined {
    const nowMs = elapsedMs()
    const window = this.#addresses.get(network)
    return window && { current: window.current(nowMs), ttl: window.ttl(nowMs) }
  }

  #windowsOf(client: Client): Windows {
    const id = callerId(client)
    const found = this.#clients.get(id)
    if (found !== undefined) return found
    const windows = {
      ban: new Window(),
      minute: new Window(),
      day: new Window(),
      rejections: new Window(),
      rejectedSecond: new Window(),
    }
    this.#clients.set(id, windows)
    return windows
  }
}

function statesOf({ ban, minute, day }: Windows, quotas: Quotas, nowMs: number): KnownWindows {
  return {
    ban: ban.state(1, nowMs),
    minute: minute.state(quotas.perMinute, nowMs),
    day: day.state(quotas.perDay, nowMs),
  }
}
