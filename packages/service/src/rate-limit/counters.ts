// Counts requests in this process, or in Redis, where all instances share the counts. While Redis is
// unavailable, each instance falls back to its own counters.

import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Client } from '../auth/client.js'
import type { ServiceContract } from '../auth/plans.js'
import { elapsedMs } from '../lib/clock.js'
import { callerId } from '../middleware/caller-id.js'
import { type AddressCounter, type AddressStore, createAddressCounter } from './addresses.js'
import { LastSeen } from './last-seen.js'
import { MemoryCounter } from './memory.js'
import { RedisCounter } from './redis.js'
import type { RedisConfig, RedisConnection } from './redis-connection.js'
import type {
  AddressWindow,
  ClientCounter,
  ClientWindows,
  KnownWindows,
  LastCounts,
  StoredWindow,
  WindowState,
} from './windows.js'

/** Where requests are counted. `memory_fallback`: in this instance, because Redis is unavailable. */
export type CountersState = 'memory' | 'redis' | 'memory_fallback'

/**
 * The counters of an instance. Clients and addresses are apart, so that a flood of addresses evicts no
 * client.
 */
export interface Counters extends ClientCounter, LastCounts {
  readonly address: AddressCounter
  /** Returns where requests are counted now. */
  state(): CountersState
  /** Undefined without REDIS_URL. */
  readonly redis: RedisParts | undefined
}

/** The parts of Redis for metrics and trials. */
export interface RedisParts {
  readonly connection: Pick<RedisConnection, 'certificates' | 'tryConnecting'>
  readonly shared: Pick<RedisCounter, 'ontime'>
}

/**
 * Creates the counters of an instance. The server closes them.
 * @throws {OperatorError} if Redis rejects the configuration, such as a login, a permission or a certificate
 */
export async function createCounters(
  app: FastifyInstance,
  { title, rateLimits }: Pick<ServiceContract, 'title' | 'rateLimits'>,
  config: RedisConfig,
  log: Logger,
): Promise<Counters> {
  const { ban, anonymous } = rateLimits
  const local = new MemoryCounter(ban)
  const counter = config.redisUrl === undefined ? local : await openRedis(config.redisUrl)
  return {
    count: counter.count.bind(counter),
    reject: counter.reject.bind(counter),
    lastOf: counter.lastOf.bind(counter),
    lastOfAddress: counter.lastOfAddress.bind(counter),
    address: await createAddressCounter(app, anonymous.perMinute, counter),
    state: () => (counter instanceof FallbackCounter ? counter.state : 'memory'),
    redis: counter instanceof FallbackCounter ? counter : undefined,
  }

  async function openRedis(url: string): Promise<FallbackCounter> {
    const { RedisConnection } = await import('./redis-connection.js') // slow to load
    const connection = new RedisConnection(url, title, config, log)
    app.addHook('onClose', async () => connection.close())
    const shared = new RedisCounter(connection.redis, ban)
    await connection.open()
    return new FallbackCounter(connection, shared, local)
  }
}

/** Counts in Redis, and in this instance while Redis is unavailable. */
class FallbackCounter implements ClientCounter, AddressStore, LastCounts {
  readonly #lastSeen = new LastSeen()

  constructor(
    readonly connection: RedisConnection,
    readonly shared: RedisCounter,
    readonly local: MemoryCounter,
  ) {}

  get state(): CountersState {
    return this.connection.isUp ? 'redis' : 'memory_fallback'
  }

  async count(client: Client, cost?: number): Promise<ClientWindows> {
    const id = callerId(client)
    const requestedAtMs = elapsedMs()
    const known = this.#lastSeen.get(id)
    const windows = await this.#try(id, (counter) => counter.count(client, cost, known))
    this.#lastSeen.set(id, windows, requestedAtMs)
    return windows
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    const id = callerId(client)
    const requestedAtMs = elapsedMs()
    const ban = await this.#try(id, (counter) => counter.reject(client))
    const known = this.#lastSeen.get(id, requestedAtMs)
    if (ban !== undefined && known !== undefined) this.#lastSeen.set(id, { ...known, ban }, requestedAtMs)
    return ban
  }

  lastOf(client: Client): KnownWindows | undefined {
    return this.#lastSeen.get(callerId(client))
  }

  // While Redis is up, it alone has the counts of addresses.
  lastOfAddress(network: string): StoredWindow | undefined {
    return this.connection.isUp ? undefined : this.local.lastOfAddress(network)
  }

  increment(network: string, windowMs: number, cost?: number, max?: number): Promise<AddressWindow> {
    return this.#try(network, (counter) => counter.increment(network, windowMs, cost, max))
  }

  // The hash tag is the part of a Redis key in braces.
  async #try<Result>(
    hashTag: string,
    count: (counter: RedisCounter | MemoryCounter) => Result | Promise<Result>,
  ): Promise<Result> {
    if (!this.connection.isUp) return count(this.local)
    try {
      return await count(this.shared)
    } catch (error) {
      this.connection.markDown(error as Error, hashTag)
      return count(this.local)
    }
  }
}
