// Counts requests without a valid key by client address, with @fastify/rate-limit. Clients are not counted
// with it: their ban and two windows are read and counted in one step, for which the plugin would take three.

import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddress, networkOf } from '../lib/address.js'
import { minuteMs, type StoredWindow, type WindowState } from './windows.js'

/** Counts a request in its address's window. */
export type AddressCounter = (request: FastifyRequest) => Promise<WindowState>

/** The windows of addresses, by network. */
export interface AddressStore {
  increment(network: string, windowMs: number): Promise<StoredWindow>
}

/** Creates a counter that keeps the windows in the given store. */
export async function createAddressCounter(
  app: FastifyInstance,
  perMinute: number,
  store: AddressStore,
): Promise<AddressCounter> {
  let counter: AddressCounter | undefined
  // In a scope of its own, because the plugin decorates it.
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max: perMinute,
      timeWindow: minuteMs,
      keyGenerator: (request) => networkOf(clientAddress(request)),
      store: adapt(store),
    })
    const count = scope.createRateLimit() // options here would add a route to the keys
    // Without an allow list the result is always a count.
    counter = async (request) => (await count(request)) as WindowState
  })
  await app.after()
  return counter as AddressCounter // assigned, or app.after() has thrown
}

// The plugin's own stores are not used. The one in memory returns its live entry, which the plugin reads
// after other requests may have incremented it: of many simultaneous requests all would see the last count.
// The one in Redis would never end a window whose key has no ttl.
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
