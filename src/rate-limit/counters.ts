// Where requests are counted: in this process, in the primary of its instance, or in Redis and then shared by every instance. While
// Redis is away or slow, the instance counts on its own. Addresses are counted by @fastify/rate-limit; a client's ban and two
// windows are looked at and counted in one step, where the plugin would take a step for each.

import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Cluster, Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { Contract, RateLimits } from '../contract/types.js'
import type { Channel } from '../lib/channel.js'
import { elapsedMs } from '../lib/clock.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { LastTold } from './last-told.js'
import { MemoryClientCounter, MemoryStore } from './memory.js'
import { PrimaryCounts } from './primary.js'
import { RedisClientCounter } from './redis.js'
import type { RedisConfig } from './redis-connection.js'
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

/** What an address is counted as: whoever has one IPv6 address has the whole network, and some proxies tell a port with it. */
export function networkOf(address: string): string {
  return rateLimit.normalizeIP(address.replace(/^(?:\[(.*)\]|([^:]+)):\d+$/, '$1$2'), networkBits)
}

/**
 * Makes the counters; with a Redis URL, shared ones. One of several workers has a channel to its primary. The server's close ends them.
 * @throws {OperatorError} where Redis cannot be used, and will not mend itself
 */
export async function createCounters(
  app: FastifyInstance,
  { title, rateLimits: limits }: Pick<Contract, 'title' | 'rateLimits'>,
  config: RedisConfig,
  log: Logger,
  primary?: Channel,
): Promise<Counters> {
  const own = await createOwnCounters(app, limits, primary && new PrimaryCounts(primary))
  if (config.redisUrl === undefined) return { ...own, state: () => 'memory' }
  const { RedisConnection } = await import('./redis-connection.js') // its client is slow to load, and most have no Redis
  const connection = new RedisConnection(config.redisUrl, title, config, log)
  app.addHook('onClose', async () => connection.close())
  const clients = new RedisClientCounter(connection.redis, limits.ban)
  const address = await createRedisAddressCounter(app, limits, connection.redis)
  await connection.open()
  const lastTold = new LastTold()
  // `caller` is what its keys in Redis have in braces.
  const shared = async <T>(
    caller: string,
    ask: () => MaybePromise<T>,
    fallback: () => MaybePromise<T>,
  ): Promise<T> => {
    if (!connection.isUp) return fallback()
    try {
      return await ask()
    } catch (error) {
      connection.lost(error, caller)
      return fallback()
    }
  }
  return {
    count: async (client) => {
      const { keyId } = client
      const askedAtMs = elapsedMs()
      const known = lastTold.of(keyId)
      const windows = await shared(
        keyId,
        () => clients.count(client, known),
        () => own.count(client, known),
      )
      lastTold.keep(keyId, windows, askedAtMs)
      return windows
    },
    reject: async (client) => {
      const { keyId } = client
      const askedAtMs = elapsedMs()
      const ban = await shared(
        keyId,
        () => clients.reject(client),
        () => own.reject(client),
      )
      const known = lastTold.of(keyId, askedAtMs)
      if (ban !== undefined && known !== undefined) lastTold.keep(keyId, { ...known, ban }, askedAtMs)
      return ban
    },
    address: (request, options) =>
      shared(
        networkOf(request.ip),
        () => address(request, options),
        () => own.address(request, options),
      ),
    state: () => (connection.isUp ? 'redis' : 'memory_fallback'),
  }
}

// In this process, or in the primary.
async function createOwnCounters(
  app: FastifyInstance,
  limits: RateLimits,
  primary: PrimaryCounts | undefined,
): Promise<OwnCounters> {
  const clients: ClientCounter = primary ?? new MemoryClientCounter(limits.ban)
  return {
    count: (client, known) => clients.count(client, known),
    reject: (client) => clients.reject(client),
    address: await createAddressCounter(app, limits, { store: primary?.Store ?? MemoryStore }),
  }
}

async function createRedisAddressCounter(
  app: FastifyInstance,
  limits: RateLimits,
  redis: Redis | Cluster,
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
  const options: RateLimitPluginOptions = {
    global: false,
    nameSpace: 'address:',
    max: anonymous.perMinute,
    timeWindow: minuteMs,
    keyGenerator: ({ ip }) => `{${networkOf(ip)}}`,
    ...store,
  }
  let counter: AddressCounter | undefined
  // The plugin keeps to its scope, so that several kinds of store can stand side by side.
  await app.register(async (scope) => {
    await scope.register(rateLimit, options)
    const count = scope.createRateLimit() // with options of its own it would name its keys after a route that is none
    // Without an allow list the plugin always answers with a count.
    counter = async (request, how) => (await count(request, how)) as WindowState
  })
  await app.after()
  return counter as AddressCounter // registered, or app.after() has thrown
}
