// Counts requests without a valid key by client address, with @fastify/rate-limit, which counts by one: those
// that cost more are counted in its store. Clients are not counted with it: their ban and two windows are
// read and counted in one step, for which the plugin would take three.

import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddress, networkOf } from '../lib/address.js'
import { type AddressWindow, minuteMs, type StoredWindow, type WindowState, windowState } from './windows.js'

/** Counts a request in its address's window, as so many as it costs. */
export type AddressCounter = (request: FastifyRequest, cost?: number) => Promise<WindowState>

/** The windows of addresses, by network. */
export interface AddressStore {
  /**
   * Counts a request.
   * @param cost the requests that it counts as: one that costs more than one is only counted within `max`
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
  // In a scope of its own, because the plugin decorates it.
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max: perMinute,
      timeWindow: minuteMs,
      keyGenerator: networkOfRequest,
      store: adapt(store),
    })
    const count = scope.createRateLimit() // options here would add a route to the keys
    // Without an allow list the result is always a count.
    countOne = async (request) => (await count(request)) as WindowState
  })
  await app.after()
  const one = countOne as NonNullable<typeof countOne> // assigned, or app.after() has thrown
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
