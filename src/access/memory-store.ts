// Counts in this process. @fastify/rate-limit's own store hands out its live entry, which the plugin reads only after
// others may have counted on it: of many requests at once, all would see the last one's count and be refused.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'

/** What a window holds, and the milliseconds until its end; 0 where none has begun. */
export interface Tally {
  readonly current: number
  readonly ttl: number
}

interface Entry {
  current: number
  endsAt: number
}

/** Windows of one kind, each of which begins with the first count. The least recently counted make room. */
export class MemoryWindows {
  readonly #entries: LRUCache<string, Entry>

  constructor(max: number) {
    this.#entries = new LRUCache({ max })
  }

  count(key: string, windowMs: number): Tally {
    const now = Date.now()
    const found = this.#entries.get(key)
    const entry = found !== undefined && found.endsAt > now ? found : { current: 0, endsAt: now + windowMs }
    entry.current++
    if (entry !== found) this.#entries.set(key, entry)
    return { current: entry.current, ttl: entry.endsAt - now }
  }

  /** The same without counting. */
  look(key: string): Tally {
    const now = Date.now()
    const entry = this.#entries.get(key)
    const isOpen = entry !== undefined && entry.endsAt > now
    return isOpen ? { current: entry.current, ttl: entry.endsAt - now } : { current: 0, ttl: 0 }
  }
}

type Callback = (error: Error | null, result?: Tally) => void

/** The plugin's form of it: a store for one limiter. */
export class MemoryStore implements FastifyRateLimitStore {
  readonly #windows: MemoryWindows

  constructor({ cache = 1 }: { readonly cache?: number }) {
    this.#windows = new MemoryWindows(cache)
  }

  incr(key: string, callback: Callback, timeWindow: number): void {
    callback(null, this.#windows.count(key, timeWindow))
  }

  read(key: string, callback: Callback): void {
    callback(null, this.#windows.look(key))
  }

  /** A store for a limiter of its own. */
  child(options: object): MemoryStore {
    return new MemoryStore(options) // the limiter's, though the plugin's types say a route's
  }
}
