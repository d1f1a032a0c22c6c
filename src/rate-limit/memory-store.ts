// Counts in this process. @fastify/rate-limit's own store hands out its live entry, which the plugin reads only after
// others may have counted on it: of many requests at once, all would see the last one's count and be refused.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'
import { elapsedMs } from '../lib/clock.js'

/** What a window holds, and the milliseconds until its end; 0 where none has begun. */
export interface Tally {
  readonly current: number
  readonly ttl: number
}

/** A window, which begins with the first count. */
export class Window {
  #current = 0
  #endsAt = 0

  count(windowMs: number): Tally {
    const now = elapsedMs()
    if (this.#endsAt <= now) {
      this.#current = 0
      this.#endsAt = now + windowMs
    }
    this.#current++
    return { current: this.#current, ttl: this.#endsAt - now }
  }

  /** The same without counting. */
  look(): Tally {
    const ttl = this.#endsAt - elapsedMs()
    return ttl > 0 ? { current: this.#current, ttl } : noTally
  }
}

const noTally: Tally = { current: 0, ttl: 0 }

type Callback = (error: Error | null, result?: Tally) => void

/** The plugin's form of it: a store for one limiter. The least recently counted make room. */
export class MemoryStore implements FastifyRateLimitStore {
  readonly #windows: LRUCache<string, Window>

  constructor({ cache = 1 }: { readonly cache?: number }) {
    this.#windows = new LRUCache({ max: cache })
  }

  incr(key: string, callback: Callback, timeWindow: number): void {
    const window = this.#windows.get(key) ?? new Window()
    this.#windows.set(key, window)
    callback(null, window.count(timeWindow))
  }

  read(key: string, callback: Callback): void {
    callback(null, this.#windows.get(key)?.look() ?? noTally)
  }

  /** A store for a limiter of its own. */
  child(options: object): MemoryStore {
    return new MemoryStore(options) // the limiter's, though the plugin's types say a route's
  }
}
