// LRU caches.

import { LRUCache } from 'lru-cache'

/**
 * Creates a cache that grows with use. The option `max` would make lru-cache allocate 100,000 entries: 9 ms,
 * 3 MB.
 * @param sizeMax the size of all entries together
 * @param sizeOf default: each entry counts as one
 */
export function createCache<Value extends object>(
  sizeMax: number,
  sizeOf: (value: Value) => number = () => 1,
): LRUCache<string, Value> {
  return new LRUCache({ maxSize: sizeMax, sizeCalculation: sizeOf })
}
