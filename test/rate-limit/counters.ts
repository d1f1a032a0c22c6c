import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { clientOfKey } from 'contract-service/fixtures/clients'
import { silent } from 'contract-service/fixtures/cluster'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { startProcess } from 'contract-service/fixtures/process'
import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import type { RedisServer } from 'contract-service/fixtures/redis-server'
import { createCounters } from 'contract-service/internal/rate-limit/counters'
import { until } from 'contract-testing/until'
import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { countBy } from '../fixtures/count.js'
import { customPlan, fixedPlan } from '../fixtures/facts.js'
import {
  type Answer,
  contract,
  createDatabase,
  type Service,
  send,
  startService,
  testConfig,
} from '../fixtures/service.js'

const unavailable = 'redis unavailable, counting in memory'
const available = 'redis available again'

// Bans a key after the second second with a rejection: Redis has its own clock, so time passes.
const ban = { ...contract.rateLimits.ban, rejections: 1, withinSeconds: 60 }
const strict = { ...contract, rateLimits: { ...contract.rateLimits, ban } }
const nextSecond = () => setTimeout(1_010)

// More than a load test sends.
const plenty = 1_000_000

// Long enough for a busy machine and thousands of requests.
const generousLimits = { REDIS_TIMEOUT_MS: '3000', HANDLER_TIMEOUT_MS: '120000', WORK_MAX: '10000' }

t.test('in-memory counters', async (t) => {
  t.test('admit exactly the quota of simultaneous requests', async (t) => {
    const { app, createKey } = await startService(t, { env: { WORK_MAX: '10000' } })
    const { perMinute } = fixedPlan
    const { key } = await createKey({ plan: fixedPlan.name, perMinute: null, perDay: null })
    // Injected, so that all wait for the same look-up of the key, and continue in the same tick.
    const request = { url: `${contract.prefix}/pets`, headers: { authorization: `Bearer ${key}` } }
    const responses = await Promise.all(Array.from({ length: perMinute + 90 }, () => app.inject(request)))
    t.strictSame(
      countBy(responses, ({ statusCode }) => String(statusCode)),
      { 200: perMinute, 429: 90 },
    )
    const admitted = responses.filter(({ statusCode }) => statusCode === 200)
    t.equal(new Set(admitted.map(({ headers }) => headers['x-ratelimit-remaining'])).size, perMinute)
  })

  t.test('evict the oldest address in a flood of addresses, and no client', async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const counters = await createCounters(app, contract, testConfig(), silent)
    const client = clientOfKey('1', 60)
    const from = (ip: string) => ({ ip, routeOptions: {} }) as FastifyRequest // no other properties are read
    const oldest = '192.0.2.1'
    await counters.count(client)
    await counters.address(from(oldest))
    for (let i = 0; i < 60_000; i++) await counters.address(from(`10.0.${i >> 8}.${i & 255}`))
    t.match(
      await counters.address(from(oldest)),
      { remaining: contract.rateLimits.anonymous.perMinute - 1 },
      'the address starts a new window',
    )
    t.match(await counters.count(client), { minute: { remaining: 58 } })
  })
})

t.test('counters in Redis', { skip: redisIsMissing }, async (t) => {
  const sql = await createDatabase(t)

  const startPair = async (t: Test, { url }: RedisServer, of = contract) => {
    const start = () => startService(t, { sql, contract: of, env: { REDIS_URL: url, ...generousLimits } })
    const [first, second] = await Promise.all([start(), start()])
    const createKey = async (plan: string, perMinute: number | null = null) => {
      const { key } = await first.createKey({ plan, perMinute, perDay: perMinute && plenty })
      return { authorization: `Bearer ${key}` }
    }
    return { pair: [first, second] as const, createKey }
  }
  const redis = await startRedis(t)

  t.test('two instances share their counts', async (t) => {
    const { pair, createKey } = await startPair(t, redis)
    const [first, second] = pair

    await t.test('and admit exactly the quota under concurrency', async (t) => {
      const quota = 300
      const busy = await createKey(customPlan, quota)
      const from = Math.floor(Date.now() / 1000)
      const responses = await Promise.all(
        Array.from({ length: 2 * quota }, (_, i) => list(i % 2 ? first : second, busy)),
      )
      const banEnd = Math.ceil(Date.now() / 1000) + Math.max(ban.banSeconds, 60) + 1
      t.strictSame(count(responses), { 200: quota, 429: quota })

      const admitted = responses.filter(({ status }) => status === 200)
      t.equal(new Set(admitted.map(remaining)).size, quota, 'each admitted response has another remaining')
      t.ok(admitted.every(({ headers }) => isWhole(headers.get('x-ratelimit-remaining'), 0, quota - 1)))
      const refused = responses.filter(({ status }) => status === 429)
      t.ok(refused.every(({ headers }) => headers.get('x-ratelimit-remaining') === '0'))
      t.ok(refused.every(({ headers }) => isWhole(headers.get('retry-after'), 1, banEnd - from)))
      t.ok(responses.every(({ headers }) => headers.get('x-ratelimit-limit') === String(quota)))
      t.ok(responses.every(({ headers }) => isWhole(headers.get('x-ratelimit-reset'), from + 1, banEnd)))
      t.strictSame(
        countBy(refused, ({ body }) => body.code),
        { rate_limit_exceeded: quota },
        'requests sent at once are no reason for a ban',
      )
    })

    const log = pair.flatMap((each) => each.log)
    t.strictSame(levels(log, unavailable), [], 'Redis was available all the time')
  })

  t.test('two instances share their bans', async (t) => {
    const { pair, createKey } = await startPair(t, redis, strict)
    const [first, second] = pair

    await t.test('so one of them holds on the other', async (t) => {
      const [banned, other] = [await createKey(customPlan, 1), await createKey(fixedPlan.name)]
      t.match(await list(first, banned), { status: 200 })
      t.match(await list(first, banned), { status: 429, body: { code: 'rate_limit_exceeded' } })
      await nextSecond()
      const begins = await list(second, banned)
      t.match(begins, { status: 429, body: { code: 'key_banned' } }, 'the instances share their rejections')
      const holds = await list(first, banned)
      t.match(holds, { status: 429, body: { code: 'key_banned' } })
      t.ok(isWhole(holds.headers.get('retry-after'), 1, Number(begins.headers.get('retry-after'))))
      t.match(await list(second, other), { status: 200 }, 'another key is not banned')
    })

    const log = pair.flatMap((each) => each.log)
    t.strictSame(levels(log, 'key banned'), [40], 'the ban is logged once, by the instance that started it')
    t.strictSame(levels(log, unavailable), [], 'Redis was available all the time')
  })

  t.test('no request under load fails when Redis is killed and restarted', async (t) => {
    const { pair, createKey } = await startPair(t, redis)
    await untilCounters(pair, 'redis')
    const load = startLoad(pair, await createKey(customPlan, plenty))
    await load.untilResponses(200)
    await redis.kill()
    await logged(pair, unavailable)
    await untilCounters(pair, 'memory_fallback')
    await load.untilResponses(500)
    await redis.start()
    await logged(pair, available)
    await load.untilResponses(500)
    const responses = await load.end()
    t.strictSame(Object.keys(count(responses)), ['200'], `all ${responses.length} requests were admitted`)
    await untilCounters(pair, 'redis')
    for (const { log } of pair) {
      t.strictSame(levels(log, unavailable), [40], 'one warning')
      t.strictSame(levels(log, available), [30], 'one line on recovery')
    }
  })

  t.test('under load a frozen Redis delays requests once', async (t) => {
    const { pair, createKey } = await startPair(t, redis)
    const load = startLoad(pair, await createKey(customPlan, plenty))
    await load.untilResponses(200)
    redis.freeze()
    await logged(pair, unavailable)
    await load.untilResponses(500)
    t.strictSame(Object.keys(count(await load.end())), ['200'], 'all requests were admitted')

    const [first, second] = pair
    const { perMinute } = fixedPlan
    const free = await createKey(fixedPlan.name)
    const whileFrozen = await Promise.all(Array.from({ length: perMinute + 40 }, () => list(first, free)))
    t.strictSame(count(whileFrozen), { 200: perMinute, 429: 40 }, 'an instance enforces the quota by itself')
    t.match(await list(second, free), { status: 200 }, 'and does not share counts with the other')

    redis.thaw()
    await logged(pair, available)
    t.match(await list(first, free), { status: 429 }, 'the window does not restart when Redis recovers')
    t.match(await list(second, free), { status: 429 }, 'nor on the other instance, which reads it from Redis')
    for (const { log } of pair) {
      t.strictSame(levels(log, unavailable), [40])
      t.strictSame(levels(log, available), [30])
    }
  })

  t.test('a used-up quota and a ban survive when Redis fails and comes back empty', async (t) => {
    const { pair, createKey } = await startPair(t, redis, strict)
    const { perMinute } = fixedPlan
    const halfway = Math.floor(perMinute / 2)
    const [used, banned, half] = [
      await createKey(fixedPlan.name),
      await createKey(fixedPlan.name),
      await createKey(fixedPlan.name),
    ]
    const spread = (headers: Headers, times: number) =>
      Promise.all(Array.from({ length: times }, (_, i) => list(pair[i % 2], headers)))
    t.strictSame(count(await spread(used, perMinute)), { 200: perMinute })
    await spread(banned, perMinute + 1)
    await nextSecond()
    await spread(banned, 2)
    t.strictSame(count(await spread(half, halfway)), { 200: halfway })
    // In sequence, so that the first instance has seen all counts.
    for (const each of pair.toReversed()) {
      const last = await Promise.all([used, banned, half].map((headers) => list(each, headers)))
      t.strictSame(
        last.map(({ status, body }) => body.code ?? status),
        ['rate_limit_exceeded', 'key_banned', 200],
      )
    }

    await redis.kill()
    await t.test(
      'while it is unavailable, each instance continues from the counts that it last saw',
      async (t) => {
        for (const each of pair)
          t.match(await list(each, used), { status: 429, body: { code: 'rate_limit_exceeded' } })
        for (const each of pair) t.match(await list(each, banned), { body: { code: 'key_banned' } })
        const more = perMinute - halfway - 2
        const [first] = pair
        const responses = await Promise.all(Array.from({ length: perMinute }, () => list(first, half)))
        t.strictSame(count(responses.filter(({ status }) => status === 200)), { 200: more })
      },
    )
    await redis.start()
    await logged(pair, available)
    await t.test(
      'when it comes back empty, all instances continue from the highest known count',
      async (t) => {
        for (const each of pair) t.match(await list(each, used), { status: 429 })
        for (const each of pair) t.match(await list(each, banned), { body: { code: 'key_banned' } })
        for (const each of pair) t.match(await list(each, half), { status: 429 })
      },
    )
  })

  for (const [title, leave, comeBack] of [
    ['is down', () => redis.kill(), () => redis.start()],
    ['is frozen', async () => redis.freeze(), async () => redis.thaw()],
  ] as const) {
    t.test(`the service starts while Redis ${title}, and uses it once it is available`, async (t) => {
      await leave()
      const { pair, createKey } = await startPair(t, redis)
      await untilCounters(pair, 'memory_fallback')
      const free = await createKey(fixedPlan.name)
      t.match(await Promise.all(pair.map((each) => list(each, free))), [{ status: 200 }, { status: 200 }])
      await comeBack()
      await logged(pair, available)
      await untilCounters(pair, 'redis')
      t.equal(remaining(await list(pair[0], free)), fixedPlan.perMinute - 2, 'the count continues')
      t.equal(remaining(await list(pair[1], free)), fixedPlan.perMinute - 3, 'the instances share the count')
      for (const { log } of pair) t.strictSame(levels(log, unavailable), [40])
    })
  }

  t.test('a service shuts down while Redis is frozen', async (t) => {
    const service = await startProcess(t, {
      DATA_DIR: dataDirectory(t),
      REDIS_URL: redis.url,
      ...generousLimits,
    })
    redis.freeze()
    t.match(await service.stop(), { code: 0 })
    redis.thaw()
  })
})

type Headers = Record<string, string>

function list(service: Service | undefined, headers: Headers): Promise<Answer> {
  return send(`${service?.base}/pets`, 'GET', headers)
}

/** Waits for the counters' state on /readyz: on a busy machine its probe of the database may be late. */
async function untilCounters(services: readonly Service[], state: string): Promise<void> {
  const isShown = async ({ origin }: Service) => (await send(`${origin}/readyz`)).body.counters === state
  await until(async () => (await Promise.all(services.map(isShown))).every(Boolean))
}

async function logged(services: readonly Service[], message: string): Promise<void> {
  await until(() => services.every(({ log }) => log.some(({ msg }) => msg === message)))
}

function isWhole(text: string | null, min: number, max: number): boolean {
  return text !== null && /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
}

function remaining({ headers }: Answer): number {
  return Number(headers.get('x-ratelimit-remaining'))
}

/** Returns the level of each line with that message. */
function levels(log: readonly Record<string, unknown>[], message: string): unknown[] {
  return log.filter(({ msg }) => msg === message).map(({ level }) => level)
}

function count(responses: readonly Answer[]): Record<string, number> {
  return countBy(responses, ({ status }) => String(status))
}

/** Starts sixteen clients, spread over the services, that send requests until the load ends. */
function startLoad(services: readonly Service[], headers: Headers) {
  const responses: Answer[] = []
  const progress = new EventEmitter()
  let isWanted = true
  const client = async (service: Service | undefined) => {
    while (isWanted) {
      responses.push(await list(service, headers))
      progress.emit('response')
    }
  }
  const clients = Promise.all(Array.from({ length: 16 }, (_, i) => client(services[i % services.length])))
  return {
    /** Resolves after this many more responses, or when a client fails. */
    untilResponses: async (more: number) => {
      const goal = responses.length + more
      const reached = async () => {
        while (responses.length < goal) await once(progress, 'response')
      }
      await Promise.race([reached(), clients])
    },
    end: async () => {
      isWanted = false
      await clients
      return responses
    },
  }
}
