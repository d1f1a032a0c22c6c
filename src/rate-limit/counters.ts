// Where requests are counted: in this process, in the primary of its instance, or in Redis and then shared by every instance. While
// Redis is away or slow, the instance counts on its own. Addresses are counted by @fastify/rate-limit; a client's ban and two
// windows are looked at and counted in one step, where the plugin would take a step for each.

import rateLimit, { type RateLimitOptions, type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { RateLimits } from '../contract/types.js'
import type { Channel } from '../lib/channel.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { addressesMax, MemoryClientCounter, MemoryStore } from './memory.js'
import { PrimaryCounts } from './primary.js'
import { RedisClientCounter } from './redis.js'
import { type ClientCounter, minuteMs, type WindowState } from './windows.js'

/** Counts the requests of addresses: a flood of them pushes out no client. */
export type AddressCounter = (
  request: FastifyRequest,
  options?: { readonly increment: boolean },
) => Promise<WindowState>

/** Where requests are counted; `memory_fallback`: in this instance, because Redis is away. */
export type CountersState = 'memory' | 'redis' | 'memory_fallback'

/** All that is counted, wherever that is just now. */
export interface Counters extends ClientCounter {
  readonly address: AddressCounter
  state(): CountersState
}

type OwnCounters = Omit<Counters, 'state'>

const networkBits = 64

/** What an address is counted as: whoever has one IPv6 address has the whole network. */
export function networkOf(address: string): string {
  return rateLimit.normalizeIP(address, networkBits)
}

/** Makes the counters; with a Redis URL, shared ones. One of several workers has a channel to its primary. The server's close ends them. */
export async function createCounters(
  app: FastifyInstance,
  limits: RateLimits,
  redisUrl: string | undefined,
  redisTimeoutMs: number,
  log: Logger,
  primary?: Channel,
): Promise<Counters> {
  const own =
    primary === undefined ? await createMemoryCounters(app, limits) : await askPrimary(app, limits, primary)
  if (redisUrl === undefined) return { ...own, state: () => 'memory' }
  const { RedisConnection } = await import('./redis-connection.js') // its client is slow to load, and most have no Redis
  const connection = new RedisConnection(redisUrl, redisTimeoutMs, log)
  const clients = new RedisClientCounter(connection.redis, limits.ban)
  const address = await createRedisAddressCounter(app, limits, connection.redis)
  await connection.open()
  app.addHook('onClose', async () => connection.close())
  const shared = async <T>(ask: () => MaybePromise<T>, fallback: () => MaybePromise<T>): Promise<T> => {
    try {
      return await connection.whileListening(ask)
    } catch (error) {
      connection.lost(error)
      return fallback()
    }
  }
  const either = <T>(ask: () => MaybePromise<T>, fallback: () => MaybePromise<T>): MaybePromise<T> =>
    connection.isUp ? shared(ask, fallback) : fallback()
  return {
    count: (client) =>
      either(
        () => clients.count(client),
        () => own.count(client),
      ),
    reject: (client) =>
      either(
        () => clients.reject(client),
        () => own.reject(client),
      ),
    address: async (request, options) =>
      either(
        () => address(request, options),
        () => own.address(request, options),
      ),
    state: () => (connection.isUp ? 'redis' : 'memory_fallback'),
  }
}

/** Counters in this process. */
export async function createMemoryCounters(app: FastifyInstance, limits: RateLimits): Promise<OwnCounters> {
  return createOwnCounters(app, limits, new MemoryClientCounter(limits.ban), MemoryStore)
}

async function askPrimary(app: FastifyInstance, limits: RateLimits, primary: Channel): Promise<OwnCounters> {
  const counts = new PrimaryCounts(primary)
  return createOwnCounters(app, limits, counts, counts.Store)
}

async function createOwnCounters(
  app: FastifyInstance,
  limits: RateLimits,
  clients: ClientCounter,
  store: NonNullable<RateLimitPluginOptions['store']>,
): Promise<OwnCounters> {
  return {
    count: (client) => clients.count(client),
    reject: (client) => clients.reject(client),
    address: await createAddressCounter(app, limits, { store }),
  }
}

async function createRedisAddressCounter(
  app: FastifyInstance,
  limits: RateLimits,
  redis: Redis,
): Promise<AddressCounter> {
  const count = await createAddressCounter(app, limits, { redis })
  return async (request, options) => {
    const window = await count(request, options)
    return { ...window, ttl: window.ttl + 1 } // Redis lets a key live through the whole of its last millisecond
  }
}

async function createAddressCounter(
  app: FastifyInstance,
  { anonymous }: RateLimits,
  store: Pick<RateLimitPluginOptions, 'redis' | 'store'>,
): Promise<AddressCounter> {
  const options: RateLimitOptions = {
    max: anonymous.perMinute,
    timeWindow: minuteMs,
    cache: addressesMax,
    keyGenerator: ({ ip }) => `address:${networkOf(ip)}`,
  }
  let counter: AddressCounter | undefined
  // The plugin keeps to its scope, so that several kinds of store can stand side by side.
  await app.register(async (scope) => {
    await scope.register(rateLimit, { global: false, nameSpace: 'animal-store:', ...store })
    const count = scope.createRateLimit(options)
    // Without an allow list the plugin always answers with a count.
    counter = async (request, how) => (await count(request, how)) as WindowState
  })
  await app.after()
  return counter as AddressCounter // registered, or app.after() has thrown
}
