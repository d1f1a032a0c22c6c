// Where requests are counted: in this process, in the primary of its workers, or in Redis, where all instances share the counts.
// While Redis is unavailable, each instance falls back to its own counters.

import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Channel } from '../lib/channel.js'
import { elapsedMs } from '../lib/clock.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { Contract } from '../openapi/index.js'
import { type AddressCounter, type AddressStore, createAddressCounter } from './addresses.js'
import { LastSeen } from './last-seen.js'
import { MemoryCounter } from './memory.js'
import { PrimaryCounter } from './primary.js'
import { RedisCounter } from './redis.js'
import type { RedisConfig } from './redis-connection.js'
import type { ClientCounter } from './windows.js'

/** `memory_fallback`: in this instance, because Redis is unavailable. */
export type CountersState = 'memory' | 'redis' | 'memory_fallback'

/** Counts clients and addresses separately, so that a flood of addresses evicts no client. */
export interface Counters extends ClientCounter {
  readonly address: AddressCounter
  /** Where requests are counted now. */
  state(): CountersState
}

/**
 * Creates the counters of an instance, which the server closes.
 * @param primary a worker's channel to its primary
 * @throws {OperatorError} if Redis rejects the configuration: a login, a permission, a certificate
 */
export async function createCounters(
  app: FastifyInstance,
  { title, rateLimits }: Pick<Contract, 'title' | 'rateLimits'>,
  config: RedisConfig,
  log: Logger,
  primary?: Channel,
): Promise<Counters> {
  const { ban, anonymous } = rateLimits
  const local = primary === undefined ? new MemoryCounter(ban) : new PrimaryCounter(primary)
  const countAddress = (store: AddressStore) => createAddressCounter(app, anonymous.perMinute, store)
  if (config.redisUrl === undefined)
    return {
      count: (client) => local.count(client),
      reject: (client) => local.reject(client),
      address: await countAddress(local),
      state: () => 'memory',
    }
  const { RedisConnection } = await import('./redis-connection.js') // slow to load
  const connection = new RedisConnection(config.redisUrl, title, config, log)
  app.addHook('onClose', async () => connection.close())
  const shared = new RedisCounter(connection.redis, ban)
  await connection.open()
  const lastSeen = new LastSeen()

  // The hash tag is the part of the Redis keys in braces.
  async function withFallback<T>(
    hashTag: string,
    countInRedis: () => Promise<T>,
    countLocally: () => MaybePromise<T>,
  ): Promise<T> {
    if (!connection.isUp) return countLocally()
    try {
      return await countInRedis()
    } catch (error) {
      connection.markDown(error as Error, hashTag)
      return countLocally()
    }
  }

  return {
    async count(client) {
      const { keyId } = client
      const requestedAtMs = elapsedMs()
      const known = lastSeen.get(keyId)
      const windows = await withFallback(
        keyId,
        () => shared.count(client, known),
        () => local.count(client, known),
      )
      lastSeen.set(keyId, windows, requestedAtMs)
      return windows
    },
    async reject(client) {
      const { keyId } = client
      const requestedAtMs = elapsedMs()
      const ban = await withFallback(
        keyId,
        () => shared.reject(client),
        () => local.reject(client),
      )
      const known = lastSeen.get(keyId, requestedAtMs)
      if (ban !== undefined && known !== undefined) lastSeen.set(keyId, { ...known, ban }, requestedAtMs)
      return ban
    },
    address: await countAddress({
      increment: (network, windowMs) =>
        withFallback(
          network,
          () => shared.increment(network, windowMs),
          () => local.increment(network, windowMs),
        ),
    }),
    state: () => (connection.isUp ? 'redis' : 'memory_fallback'),
  }
}
