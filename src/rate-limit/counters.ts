// The counters: in this process, or in Redis and then shared by every instance. While Redis is away or slow, this process
// counts on its own. Addresses are counted by @fastify/rate-limit; a client's ban and two windows are looked at and counted in
// one step, where the plugin would take a step for each.

import rateLimit, { type RateLimitOptions, type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { proceed, type Soon } from '../lib/maybe-promise.js'
import { type ClientCounts, MemoryClientCounts, minuteMs, type Tallies } from './memory.js'
import { MemoryStore, type Tally } from './memory-store.js'
import { RedisClientCounts } from './redis.js'

/** A counter's state, after the request was counted or, with `increment: false`, without counting it. */
export interface Count {
  readonly max: number
  readonly remaining: number
  /** Milliseconds until the window ends; 0 where none has begun. */
  readonly ttl: number
  /** More were counted than the window allows. */
  readonly isExceeded: boolean
}

/** Counts a request of a subject. */
export type Limiter<Subject> = (subject: Subject, options?: { readonly increment: boolean }) => Promise<Count>

/** How a client stands, after its request was counted or not. */
export interface Standing {
  /** Counted in both windows: neither they nor a ban refused it. */
  readonly isAdmitted: boolean
  readonly ban: Count
  readonly minute: Count
  readonly day: Count
}

/** A flood of addresses cannot push out a key. */
export interface Limiters {
  /** Counts a request, if it may be. */
  admit(client: Client): Soon<Standing>
  look(client: Client): Soon<Standing>
  /** Counts a refused request; gives the ban of the client if it was one too many. */
  reject(client: Client): Soon<Count | undefined>
  readonly addresses: Limiter<string>
}

/** Where the counts are kept: in this process, in Redis, or in this process because Redis is away. */
export type CountersState = 'memory' | 'redis' | 'memory, for redis is away'

/** The counters, wherever they are kept just now. */
export interface Counters {
  state(): CountersState
  /** Runs with the shared counters, or once more with this process's own if Redis fails it. */
  run<T>(work: (limiters: Limiters) => Soon<T>): Soon<T>
}

// An attacker has as many as he likes.
const addressesMax = 50_000
const networkBits = 64

/** What an address is counted as: whoever has one IPv6 address has the whole network. */
export function networkOf(address: string): string {
  return rateLimit.normalizeIP(address, networkBits)
}

/** Makes the counters; with a Redis URL, shared ones. The server's close ends them. */
export async function createCounters(
  app: FastifyInstance,
  limits: RateLimits,
  redisUrl: string | undefined,
  redisTimeoutMs: number,
  log: Logger,
): Promise<Counters> {
  const own = await createLimiters(app, limits)
  if (redisUrl === undefined) return { state: () => 'memory', run: (work) => work(own) }
  const { RedisLink } = await import('./redis-connection.js') // its client is slow to load, and most have no Redis
  const link = new RedisLink(redisUrl, redisTimeoutMs, log)
  const shared = await createLimiters(app, limits, link.redis)
  await link.open()
  app.addHook('onClose', async () => link.close())
  const runShared = async <T>(work: (limiters: Limiters) => Soon<T>) => {
    try {
      return await link.whileListening(() => work(shared))
    } catch (error) {
      link.lost(error)
      return work(own)
    }
  }
  return {
    state: () => (link.isUp ? 'redis' : 'memory, for redis is away'),
    run: (work) => (link.isUp ? runShared(work) : work(own)),
  }
}

/** What is counted, in this process or in that Redis. */
export async function createLimiters(
  app: FastifyInstance,
  { anonymous, ban }: RateLimits,
  redis?: Redis,
): Promise<Limiters> {
  const counts: ClientCounts = redis ? new RedisClientCounts(redis, ban) : new MemoryClientCounts(ban)
  const standing = ({ quotas }: Client, { isAdmitted, ...tallies }: Tallies): Standing => ({
    isAdmitted,
    ban: countOf(tallies.ban, 1),
    minute: countOf(tallies.minute, quotas.perMinute),
    day: countOf(tallies.day, quotas.perDay),
  })
  return {
    admit: (client) => proceed(counts.admit(client), (tallies) => standing(client, tallies)),
    look: (client) => proceed(counts.look(client), (tallies) => standing(client, tallies)),
    reject: (client) => proceed(counts.reject(client), (tally) => tally && countOf(tally, 1)),
    addresses: await createAddressLimiter(app, anonymous.perMinute, redis),
  }
}

function countOf({ current, ttl }: Tally, max: number): Count {
  return { max, remaining: Math.max(0, max - current), ttl, isExceeded: current > max }
}

async function createAddressLimiter(
  app: FastifyInstance,
  max: number,
  redis: Redis | undefined,
): Promise<Limiter<string>> {
  const options = { nameSpace: 'animal-store:', ...(redis ? { redis } : { store: MemoryStore }) }
  const keyOf = (address: string) => `address:${networkOf(address)}`
  const rules = { max, timeWindow: minuteMs, cache: addressesMax }
  const count = await createLimiter<string>(app, options, keyOf, rules)
  // Redis lets a key live through the whole of its last millisecond.
  const lasting = (counted: Count): Count => (redis ? { ...counted, ttl: counted.ttl + 1 } : counted)
  return async (address, how) => lasting(await count(address, how))
}

async function createLimiter<Subject>(
  app: FastifyInstance,
  options: RateLimitPluginOptions,
  keyOf: (subject: Subject) => string,
  rules: RateLimitOptions,
): Promise<Limiter<Subject>> {
  // The plugin keeps to its scope, so that several kinds of store can stand side by side.
  let limiter: Limiter<Subject> | undefined
  await app.register(async (scope) => {
    await scope.register(rateLimit, { global: false, ...options })
    const keyGenerator = (request: FastifyRequest) => keyOf(subjectOf<Subject>(request))
    const count = scope.createRateLimit({ ...rules, keyGenerator })
    // Without an allow list the plugin always answers with a count.
    limiter = async (subject, how) => (await count(requestOf(subject), how)) as Count
  })
  await app.after()
  return limiter as Limiter<Subject> // registered, or app.after() has thrown
}

// Of a request, the plugin looks at its route's configuration alone, and hands it to the functions above.
function requestOf<Subject>(subject: Subject): FastifyRequest {
  return { subject, routeOptions } as unknown as FastifyRequest
}

function subjectOf<Subject>(request: FastifyRequest): Subject {
  return (request as unknown as { subject: Subject }).subject
}

const routeOptions = { config: {} }
