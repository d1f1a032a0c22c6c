// LRU caches.

import { LRUCache } from 'lru-cache'

/** Creates a cache that grows with use. `max` would make lru-cache allocate 100,000 entries: 9 ms, 3 MB. */
export function createCache<Value extends object>(entriesMax: number): LRUCache<string, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 })
}
