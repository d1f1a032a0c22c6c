// Counts requests without a valid key by client address, with @fastify/rate-limit. The plugin counts by one,
// so costlier requests are counted directly in its store. Clients are not counted with the plugin: it would
// take three steps for a ban and two windows, which our counters read and count in one.

import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddress, networkOf } from '../lib/address.js'
import { type AddressWindow, minuteMs, type StoredWindow, type WindowState, windowState } from './windows.js'

/** Counts a request, by its cost, in the window of its address. */
export type AddressCounter = (request: FastifyRequest, cost?: number) => Promise<WindowState>

/** The windows of addresses, by network. */
export interface AddressStore {
  /**
   * Counts a request.
   * @param cost the number of requests that it counts as. Above one, it is counted only if it fits within
   * `max`
   */
  increment(network: string, windowMs: number, cost?: number, max?: number): Promise<AddressWindow>
}

/** Creates a counter that keeps the windows in the given store. */
export async function createAddressCounter(
  app: FastifyInstance,
  perMinute: number,
  store: AddressStore,
): Promise<AddressCounter> {
  let countOne: ((request: FastifyRequest) => Promise<WindowState>) | undefined
  // In a separate scope, because the plugin decorates its scope.
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max: perMinute,
      timeWindow: minuteMs,
      keyGenerator: networkOfRequest,
      store: adapt(store),
    })
    const count = scope.createRateLimit() // options here would add a route to the keys
    // Cast: without an allow list, the result is always a count.
    countOne = async (request) => (await count(request)) as WindowState
  })
  await app.after()
  const one = countOne as NonNullable<typeof countOne> // otherwise app.after() has thrown
  return (request, cost = 1) => (cost === 1 ? one(request) : countMany(request, cost, perMinute, store))
}

async function countMany(
  request: FastifyRequest,
  cost: number,
  max: number,
  store: AddressStore,
): Promise<WindowState> {
  const { current, ttl, isCounted } = await store.increment(networkOfRequest(request), minuteMs, cost, max)
  return { ...windowState(current, ttl, max), isExceeded: !isCounted }
}

function networkOfRequest(request: FastifyRequest): string {
  return networkOf(clientAddress(request))
}

// Replaces the plugin's own stores. Its memory store returns a live entry, which the plugin reads after other
// requests may have incremented it, so simultaneous requests would all see the last count. Its Redis store
// would never end a window whose key has no ttl.
function adapt(store: AddressStore): new () => FastifyRateLimitStore {
  type Callback = (error: Error | null, result?: StoredWindow) => void
  return class Store {
    incr(network: string, callback: Callback, windowMs: number): void {
      store.increment(network, windowMs).then((window) => callback(null, window), callback)
    }

    child(): Store {
      return this
    }
  }
}
