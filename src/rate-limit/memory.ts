// In-memory counters: the counts of one process.

import type { Client } from '../auth/client.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import type { RateLimits } from '../openapi/index.js'
import type { AddressStore, StoredWindow } from './addresses.js'
import {
  type ClientCounter,
  type ClientWindows,
  dayMs,
  type KnownWindows,
  minuteMs,
  used,
  type WindowState,
  windowState,
} from './windows.js'

/** A fixed window, which opens with its first request. */
class Window {
  #count = 0
  #endsAt = 0

  get current(): number {
    return this.ttl > 0 ? this.#count : 0
  }

  get ttl(): number {
    return Math.max(0, this.#endsAt - elapsedMs())
  }

  increment(lengthMs: number): void {
    const now = elapsedMs()
    if (this.#endsAt <= now) {
      this.#count = 0
      this.#endsAt = now + lengthMs
    }
    this.#count++
  }

  /** Adopts a count made elsewhere if it is higher. */
  raise(known: WindowState): void {
    if (used(known) <= this.current) return
    this.#count = used(known)
    this.#endsAt = elapsedMs() + known.ttl
  }

  state(max: number): WindowState {
    return windowState(this.current, this.ttl, max)
  }
}

/** Clients whose windows are kept; the least recently used are evicted. Only valid keys have a client. */
export const clientsMax = 100_000

interface Windows {
  readonly ban: Window
  readonly minute: Window
  readonly day: Window
  readonly rejections: Window
}

// An attacker may have any number of addresses.
const addressesMax = 50_000

/** Evicts the least recently counted, clients and addresses apart: a flood of addresses evicts no client. */
export class MemoryCounter implements ClientCounter, AddressStore {
  readonly #clients = createCache<Windows>(clientsMax)
  readonly #addresses = createCache<Window>(addressesMax)

  constructor(readonly rules: RateLimits['ban']) {}

  count({ keyId, quotas }: Client, known?: KnownWindows): ClientWindows {
    const windows = this.#windowsOf(keyId)
    const { ban, minute, day } = windows
    if (known !== undefined)
      for (const name of ['ban', 'minute', 'day'] as const) windows[name].raise(known[name])
    const isAdmitted = ban.current === 0 && minute.current < quotas.perMinute && day.current < quotas.perDay
    if (isAdmitted) {
      minute.increment(minuteMs)
      day.increment(dayMs)
    }
    return {
      isAdmitted,
      ban: ban.state(1),
      minute: minute.state(quotas.perMinute),
      day: day.state(quotas.perDay),
    }
  }

  reject({ keyId }: Client): WindowState | undefined {
    const { rejections, ban } = this.#windowsOf(keyId)
    rejections.increment(this.rules.withinSeconds * 1000)
    if (rejections.current <= this.rules.rejections) return undefined
    ban.increment(this.rules.banSeconds * 1000)
    return ban.state(1)
  }

  increment(network: string, windowMs: number): StoredWindow {
    const window = this.#addresses.get(network) ?? new Window()
    this.#addresses.set(network, window)
    window.increment(windowMs)
    return { current: window.current, ttl: window.ttl }
  }

  #windowsOf(keyId: string): Windows {
    const found = this.#clients.get(keyId)
    if (found !== undefined) return found
    const windows = { ban: new Window(), minute: new Window(), day: new Window(), rejections: new Window() }
    this.#clients.set(keyId, windows)
    return windows
  }
}
