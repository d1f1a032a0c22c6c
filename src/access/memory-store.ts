// Counts in this process. @fastify/rate-limit's own store hands out its live entry, which the plugin reads only after
// others may have counted on it: of many requests at once, all would see the last one's count and be refused.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'

interface Entry {
  current: number
  endsAt: number
}

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** A bounded store for one limiter: the least recently counted make room. */
export class MemoryStore implements FastifyRateLimitStore {
  readonly #entries: LRUCache<string, Entry>

  constructor({ cache = 1 }: { readonly cache?: number }) {
    this.#entries = new LRUCache({ max: cache })
  }

  /** Counts one, in a window that begins with the first. */
  incr(key: string, callback: Callback, timeWindow: number): void {
    const now = Date.now()
    const found = this.#entries.get(key)
    const entry = found !== undefined && found.endsAt > now ? found : { current: 0, endsAt: now + timeWindow }
    entry.current++
    if (entry !== found) this.#entries.set(key, entry)
    callback(null, { current: entry.current, ttl: entry.endsAt - now })
  }

  /** The same without counting. */
  read(key: string, callback: Callback): void {
    const now = Date.now()
    const entry = this.#entries.get(key)
    const isOpen = entry !== undefined && entry.endsAt > now
    callback(null, isOpen ? { current: entry.current, ttl: entry.endsAt - now } : { current: 0, ttl: 0 })
  }

  /** A store for a limiter of its own. */
  child(options: object): MemoryStore {
    return new MemoryStore(options) // the limiter's, though the plugin's types say a route's
  }
}
