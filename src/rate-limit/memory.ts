// Counts in this process.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
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

/** A fixed window, which begins with the first request that is counted. */
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

  /** Counts what was counted elsewhere, where that is more. */
  raise(known: WindowState): void {
    if (used(known) <= this.current) return
    this.#count = used(known)
    this.#endsAt = elapsedMs() + known.ttl
  }

  state(max: number): WindowState {
    return windowState(this.current, this.ttl, max)
  }
}

/** As many as valid keys were made. */
export const keysMax = 100_000

interface Windows {
  readonly ban: Window
  readonly minute: Window
  readonly day: Window
  readonly rejections: Window
}

export class MemoryClientCounter implements ClientCounter {
  readonly #clients = createCache<Windows>(keysMax)

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

  #windowsOf(keyId: string): Windows {
    const found = this.#clients.get(keyId)
    if (found !== undefined) return found
    const windows = { ban: new Window(), minute: new Window(), day: new Window(), rejections: new Window() }
    this.#clients.set(keyId, windows)
    return windows
  }
}

/** What @fastify/rate-limit asks a store for: how often was counted, and milliseconds until the window ends. */
export interface StoredWindow {
  readonly current: number
  readonly ttl: number
}

export type StoreCallback = (error: Error | null, result?: StoredWindow) => void

// An attacker has as many as he likes.
const addressesMax = 50_000

/**
 * A store for @fastify/rate-limit, whose own hands out its live entry: the plugin reads that only after others may have counted on
 * it, and of many requests at once, all would see the last one's count and be refused. The least recently counted make room.
 */
export class MemoryStore implements FastifyRateLimitStore {
  readonly #windows = createCache<Window>(addressesMax)

  /** Counts once in a key's window. */
  increment(key: string, windowMs: number): StoredWindow {
    const window = this.#windows.get(key) ?? new Window()
    this.#windows.set(key, window)
    window.increment(windowMs)
    return { current: window.current, ttl: window.ttl }
  }

  /** A key's window as it is. */
  look(key: string): StoredWindow {
    const { current = 0, ttl = 0 } = this.#windows.get(key) ?? {}
    return { current, ttl }
  }

  incr(key: string, callback: StoreCallback, timeWindow: number): void {
    callback(null, this.increment(key, timeWindow))
  }

  read(key: string, callback: StoreCallback): void {
    callback(null, this.look(key))
  }

  child(): MemoryStore {
    return this
  }
}
