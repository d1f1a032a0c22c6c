// Counts requests without a valid key by client address, with @fastify/rate-limit. Clients are not counted with it: their ban and two
// windows are read and counted in one step, for which the plugin would take three.

import rateLimit, { type FastifyRateLimitStore, type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Cluster, Redis } from 'ioredis'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { minuteMs, type WindowState } from './windows.js'

/** Counts a request in its address's window, or with `increment: false` only reads the window. */
export type AddressCounter = (
  request: FastifyRequest,
  options?: { readonly increment: boolean },
) => Promise<WindowState>

/** The windows of addresses. */
export interface AddressStore {
  increment(key: string, windowMs: number): MaybePromise<StoredWindow>
  read(key: string): MaybePromise<StoredWindow>
}

/** A window as @fastify/rate-limit reads it from a store: the count, and the milliseconds until it resets. */
export interface StoredWindow {
  readonly current: number
  readonly ttl: number
}

const networkBits = 64

/** The address to count: an IPv6 client usually has a whole /64, and some proxies append a port to the address. */
export function networkOf(address: string): string {
  return rateLimit.normalizeIP(address.replace(/^(?:\[(.*)\]|([^:]+)):\d+$/, '$1$2'), networkBits)
}

/** Creates a counter that keeps the windows in the given store. */
export function createAddressCounter(
  app: FastifyInstance,
  perMinute: number,
  store: AddressStore,
): Promise<AddressCounter> {
  return registerPlugin(app, perMinute, { store: adapt(store) })
}

/** Creates a counter that keeps the windows in Redis. */
export async function createRedisAddressCounter(
  app: FastifyInstance,
  perMinute: number,
  redis: Redis | Cluster,
): Promise<AddressCounter> {
  const count = await registerPlugin(app, perMinute, { redis })
  return async (request, options) => {
    const window = await count(request, options)
    return { ...window, ttl: window.ttl + 1 } // a Redis key lives through the whole of its last millisecond
  }
}

// The plugin's own in-memory store returns its live entry, which the plugin reads after other requests may have incremented it:
// of many simultaneous requests all would see the last count.
function adapt(store: AddressStore): new () => FastifyRateLimitStore {
  type Callback = (error: Error | null, result?: StoredWindow) => void
  return class Store {
    incr(key: string, callback: Callback, windowMs: number): void {
      void thenMaybe(store.increment(key, windowMs), (window) => callback(null, window))
    }

    read(key: string, callback: Callback): void {
      void thenMaybe(store.read(key), (window) => callback(null, window))
    }

    child(): Store {
      return this
    }
  }
}

async function registerPlugin(
  app: FastifyInstance,
  perMinute: number,
  store: Pick<RateLimitPluginOptions, 'redis' | 'store'>,
): Promise<AddressCounter> {
  const options: RateLimitPluginOptions = {
    global: false,
    nameSpace: 'address:',
    max: perMinute,
    timeWindow: minuteMs,
    keyGenerator: ({ ip }) => `{${networkOf(ip)}}`,
    ...store,
  }
  let counter: AddressCounter | undefined
  // In a scope of its own, so that several stores can coexist.
  await app.register(async (scope) => {
    await scope.register(rateLimit, options)
    const count = scope.createRateLimit() // options here would add a route to the key names
    // Without an allow list the result is always a count.
    counter = async (request, how) => (await count(request, how)) as WindowState
  })
  await app.after()
  return counter as AddressCounter // assigned, or app.after() has thrown
}
