// The counters, by @fastify/rate-limit: in this process, or in Redis and then shared by every instance. While
// Redis is away or slow, this process counts on its own.

import rateLimit, { type RateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { RateLimits } from '../contract/document.js'
import type { Client } from './client.js'
import { MemoryStore } from './memory-store.js'
import { RedisLink } from './redis-link.js'

/** A counter's state, after the request was counted or, with `increment: false`, without counting it. */
export interface Count {
  readonly max: number
  readonly remaining: number
  /** Milliseconds until the window ends; 0 where none has begun. */
  readonly ttl: number
  /** More were counted than the window allows. */
  readonly isExceeded: boolean
}

/** Counts a request of a subject: a client, or an address. */
export type Limiter<Subject> = (subject: Subject, options?: { readonly increment: boolean }) => Promise<Count>

/** Each counts for itself, in a bounded store of its own: a flood of one cannot push out another. */
export interface Limiters {
  readonly minute: Limiter<Client>
  readonly day: Limiter<Client>
  readonly rejections: Limiter<Client>
  readonly bans: Limiter<Client>
  readonly addresses: Limiter<string>
}

/** Where the counts are kept: in this process, in Redis, or in this process because Redis is away. */
export type CountersState = 'memory' | 'redis' | 'memory, for redis is away'

/** The counters, wherever they are kept just now. */
export interface Counters {
  state(): CountersState
  /** Runs with the shared counters, or once more with this process's own if Redis fails it. */
  run<T>(work: (limiters: Limiters) => Promise<T>): Promise<T>
}

const minuteMs = 60_000
const dayMs = 86_400_000

// In this process. Valid keys are as many as were made; addresses as many as an attacker has.
const keysMax = 100_000
const addressesMax = 50_000
// Whoever has one IPv6 address has the whole network.
const networkBits = 64

/** Makes the counters; with a Redis URL, shared ones. The server's close ends them. */
export async function createCounters(
  app: FastifyInstance,
  limits: RateLimits,
  redisUrl: string | undefined,
  log: Logger,
): Promise<Counters> {
  const own = await createLimiters(app, limits)
  if (redisUrl === undefined) return { state: () => 'memory', run: (work) => work(own) }
  const link = new RedisLink(redisUrl, log)
  const shared = await createLimiters(app, limits, link.redis)
  await link.open()
  app.addHook('onClose', async () => link.close())
  return {
    state: () => (link.isUp ? 'redis' : 'memory, for redis is away'),
    async run(work) {
      if (link.isUp) {
        try {
          return await link.whileListening(() => work(shared))
        } catch (error) {
          link.lost(error)
        }
      }
      return work(own)
    },
  }
}

/** One limiter for each thing that is counted, in this process or in that Redis. */
export async function createLimiters(
  app: FastifyInstance,
  { anonymous, ban }: RateLimits,
  redis?: Redis,
): Promise<Limiters> {
  // The plugin keeps to its scope, so that both kinds of store can stand side by side.
  let limiters: Limiters | undefined
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      nameSpace: 'animal-store:',
      ...(redis ? { redis } : { store: MemoryStore }),
    })
    const limiter = <Subject>(
      keyOf: (subject: Subject) => string,
      timeWindow: number,
      max: number | ((subject: Subject) => number),
      cache: number,
    ): Limiter<Subject> => {
      const options: RateLimitOptions = {
        keyGenerator: (request) => keyOf(subjectOf<Subject>(request)),
        max: typeof max === 'number' ? max : (request: FastifyRequest) => max(subjectOf<Subject>(request)),
        timeWindow,
        cache,
      }
      const count = scope.createRateLimit(options)
      // Without an allow list the plugin always answers with a count.
      return async (subject, how) => lasting((await count(requestOf(subject), how)) as Count)
    }
    // Redis lets a key live through the whole of its last millisecond.
    const lasting = (count: Count): Count => (redis ? { ...count, ttl: count.ttl + 1 } : count)
    const byKey = (name: string, timeWindow: number, max: number | ((client: Client) => number)) =>
      limiter(({ keyId }: Client) => `${name}:${keyId}`, timeWindow, max, keysMax)
    limiters = {
      minute: byKey('minute', minuteMs, ({ quotas }) => quotas.perMinute),
      day: byKey('day', dayMs, ({ quotas }) => quotas.perDay),
      rejections: byKey('rejections', ban.withinSeconds * 1000, ban.rejections),
      bans: byKey('ban', ban.banSeconds * 1000, 1),
      addresses: limiter(
        (address: string) => `address:${rateLimit.normalizeIP(address, networkBits)}`,
        minuteMs,
        anonymous.perMinute,
        addressesMax,
      ),
    }
  })
  await app.after()
  return limiters as Limiters // registered, or app.after() has thrown
}

// Of a request, the plugin looks at its route's configuration alone, and hands it to the functions above.
function requestOf<Subject>(subject: Subject): FastifyRequest {
  return { subject, routeOptions } as unknown as FastifyRequest
}

function subjectOf<Subject>(request: FastifyRequest): Subject {
  return (request as unknown as { subject: Subject }).subject
}

const routeOptions = { config: {} }
