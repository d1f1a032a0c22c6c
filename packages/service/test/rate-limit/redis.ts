import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { Client } from '../../src/auth/client.js'
import { callerId } from '../../src/middleware/caller-id.js'
import { MemoryCounter } from '../../src/rate-limit/memory.js'
import { RedisCounter } from '../../src/rate-limit/redis.js'
import {
  type ClientCounter,
  type ClientWindows,
  minuteMs,
  type WindowState,
} from '../../src/rate-limit/windows.js'
import { clientOf, clientOfKey } from '../fixtures/clients.js'
import { redisIsMissing, startRedis } from '../fixtures/redis.js'

const rules = { rejections: 2, withinSeconds: 60, banSeconds: 60 }

t.test('the client counter in Redis', { skip: redisIsMissing }, async (t) => {
  const server = await startRedis(t)
  const redis = new Redis(server.url, { enableOfflineQueue: false, lazyConnect: true, retryStrategy: null })
  redis.on('error', () => {})
  t.teardown(() => redis.disconnect())
  await redis.connect()
  const counts = new RedisCounter(redis, rules)

  for (const [perMinute, perDay, asked] of [
    [10, 100, [1, 1, 3, 0, 4, 3]],
    [100, 10, [4, 4, 4, 4]],
    [3, 3, [5, 1]],
    [0, 5, [2]],
  ] as const) {
    const quotas = `${perMinute} per minute and ${perDay} per day`
    t.test(
      `with ${quotas}, ${asked.join(', ')} simultaneous requests get the same results as in memory`,
      async (t) => {
        const client = clientOfKey(quotas, perMinute, perDay)
        const memory = new MemoryCounter(rules)
        for (const together of asked) {
          const expected = await admitTogether(memory, client, together)
          t.match(await admitTogether(counts, client, together), expected.map(withoutTtl))
          const before = await counts.read(client)
          t.match(await counts.read(client), withoutTtl(before), 'reading counts nothing')
        }
      },
    )
  }

  for (const [perMinute, perDay, costs] of [
    [100, 10_000, [10, 10, 1, 50, 40, 30, 29, 1]],
    [10_000, 100, [60, 50, 40, 1]],
    [9, 100, [10, 9, 1]],
  ] as const) {
    const quotas = `${perMinute} per minute and ${perDay} per day`
    t.test(`with ${quotas}, requests that cost ${costs.join(', ')} count alike in memory`, async (t) => {
      const client = clientOfKey(`costs of ${quotas}`, perMinute, perDay)
      const memory = new MemoryCounter(rules)
      for (const cost of costs) {
        const expected = await memory.count(client, cost)
        t.match(await counts.count(client, cost), withoutTtl(expected), `${cost}`)
      }
    })
  }

  t.test('of 300 costly requests at once exactly those within the quota are admitted', async (t) => {
    for (const counter of [counts, new MemoryCounter(rules)]) {
      const client = clientOfKey('costly', 105)
      const windows = await admitTogether(counter, client, 300, 10)
      const admitted = windows.filter(isAdmitted).map(({ minute }) => minute.remaining)
      t.strictSame(admitted, [95, 85, 75, 65, 55, 45, 35, 25, 15, 5])
      for (const { isAdmitted, minute } of windows) if (!isAdmitted) t.equal(minute.remaining, 5)
      t.match(await counter.count(client, 5), { isAdmitted: true, minute: { remaining: 0 } })
    }
  })

  t.test('of requests at once with several costs each takes what it costs, or nothing', async (t) => {
    for (const counter of [counts, new MemoryCounter(rules)]) {
      const client = clientOfKey('mixed', 100)
      const costs = Array.from({ length: 300 }, (_, i) => [1, 10, 30][i % 3] as number)
      const windows = await Promise.all(costs.map((cost) => counter.count(client, cost)))
      const taken = costs.filter((_, i) => windows[i]?.isAdmitted).reduce((sum, cost) => sum + cost, 0)
      t.equal(taken, 100, 'cheap ones fill what costly ones leave')
      t.match(await counter.count(client), { isAdmitted: false, minute: { remaining: 0 } })
    }
  })

  t.test('a window has the form that releases without costs read and count on', async (t) => {
    const client = clientOfKey('82', 100)
    await counts.count(client, 30)
    t.equal(await redis.get('{82}:minute'), '30')
    await redis.incrby('{82}:minute', 1) // as such a release does
    t.match(await counts.count(client, 60), { isAdmitted: true, minute: { remaining: 9 } })
  })

  t.test(
    'an address is counted by what its requests cost, and none beyond the quota takes any',
    async (t) => {
      for (const counter of [counts, new MemoryCounter(rules)]) {
        const take = (cost?: number) => counter.increment('192.0.2.9', minuteMs, cost, 25)
        const taken = await Promise.all(Array.from({ length: 300 }, () => take(10)))
        t.equal(taken.filter(({ isCounted }) => isCounted).length, 2)
        t.match(taken.at(-1), { isCounted: false, current: 20 })
        t.match(await take(), { isCounted: true, current: 21 })
        t.match(await take(5), { isCounted: false, current: 21 })
        t.match(await take(4), { isCounted: true, current: 25 })
        isWithin((await take(4)).ttl, minuteMs + 1)
      }

      function isWithin(ttl: number, max: number) {
        t.ok(ttl > 0 && ttl <= max, `${ttl}`)
      }
    },
  )

  t.test('counts each caller by itself: a key by its id, others by their scheme and subject', async (t) => {
    const callers = [clientOfKey('81', 3), clientOf('jwt', '81', 3), clientOf('partner', '81', 3)]
    for (const counter of [counts, new MemoryCounter(rules)]) {
      const admitted = await Promise.all(callers.map((caller) => admitTogether(counter, caller, 5)))
      for (const windows of admitted) t.equal(windows.filter(isAdmitted).length, 3)
    }
    const ids = callers.map(callerId)
    const names = ids.flatMap((id) => [`{${id}}:day`, `{${id}}:minute`])
    t.equal(await redis.exists(...names), names.length)
    t.equal(await redis.exists('{81}:minute'), 1, 'the name that earlier releases know')
  })

  t.test('the credentials of one caller share its counters', async (t) => {
    for (const counter of [counts, new MemoryCounter(rules)]) {
      const tokens = [clientOf('jwt', 'ada', 3), clientOf('jwt', 'ada', 3)]
      const admitted = await Promise.all(tokens.map((token) => admitTogether(counter, token, 3)))
      t.equal(admitted.flat().filter(isAdmitted).length, 3)
    }
  })

  t.test('the requests of one iteration of the event loop are one script call per client', async (t) => {
    const [first, second] = [clientOfKey('first', 3, 10), clientOfKey('second', 10, 10)]
    await counts.count(first) // loads the script
    const before = await calls(redis)
    const [ofFirst, ofSecond] = await Promise.all([
      admitTogether(counts, first, 4),
      admitTogether(counts, second, 2),
    ])
    t.equal((await calls(redis)) - before, 2)
    t.strictSame(ofFirst.map(isAdmitted), [true, true, false, false])
    t.strictSame(ofSecond.map(isAdmitted), [true, true])
    for (const { minute, day } of [...ofFirst, ...ofSecond]) {
      t.ok(minute.ttl > 0 && minute.ttl <= 60_001)
      t.ok(day.ttl > 60_001 && day.ttl <= 86_400_001)
    }
  })

  t.test('no window starts below its known count, in memory or in Redis', async (t) => {
    const state = (max: number, remaining: number, ttl: number) => ({
      max,
      remaining,
      ttl,
      isExceeded: false,
    })
    const known = { ban: state(1, 1, 0), minute: state(10, 4, 5_000), day: state(20, 8, 50_000) }
    for (const [where, counter] of Object.entries({
      memory: new MemoryCounter(rules),
      redis: counts,
    })) {
      const client = clientOfKey(`known in ${where}`, 10, 20)
      const { minute, day } = await counter.count(client, 1, known)
      t.match({ minute, day }, { minute: { remaining: 3 }, day: { remaining: 7 } }, where)
      t.ok(minute.ttl > 3_000 && minute.ttl <= 5_001 && day.ttl > 48_000 && day.ttl <= 50_001)
      t.match(await counter.count(client, 1, known), { minute: { remaining: 2 } }, 'which is added once')
      const banned = { ...known, ban: state(1, 0, 3_000) }
      t.match(await counter.count(client, 1, banned), { isAdmitted: false, ban: { remaining: 0 } })
      t.match(await counter.count(client), { isAdmitted: false, minute: { remaining: 2 } })
    }
  })

  t.test('a ban admits no request, though both windows have requests remaining', async (t) => {
    const client = clientOfKey('banned', 10, 10)
    await counts.count(client)
    for (const _ of [1, 2]) {
      t.equal(await counts.reject(client), undefined)
      await aSecond()
    }
    t.match(await counts.reject(client), { remaining: 0, isExceeded: false })
    for (const { isAdmitted, ban, minute } of await admitTogether(counts, client, 3)) {
      t.equal(isAdmitted, false)
      t.ok(ban.remaining === 0 && ban.ttl > 0)
      t.equal(minute.remaining, 9)
    }
  })

  t.test('of the rejections of a second one counts, in memory and in Redis', async (t) => {
    const client = clientOfKey('rejected', 1, 1)
    const counters = [new MemoryCounter(rules), counts, new RedisCounter(redis, rules)]
    const reject = () =>
      Promise.all(counters.flatMap((each) => Array.from({ length: 9 }, () => each.reject(client))))
    for (const _ of [1, 2]) {
      t.strictSame(new Set(await reject()), new Set([undefined]), 'also of several instances')
      await aSecond()
    }
    const bans = (await reject()).filter((ban) => ban !== undefined)
    t.match(bans, Array(2).fill({ remaining: 0, isExceeded: false }), 'one begins the ban, in each place')
  })

  for (const [title, change] of [
    ['without a ttl, as after a restore,', (key: string) => redis.persist(key)],
    ['with a long ttl, as after the clock went back,', (key: string) => redis.pexpire(key, 10 ** 9)],
  ] as const)
    t.test(`a window ${title} ends within its length`, async (t) => {
      const minuteMs = 60_000
      const isWithin = (ttl: number | undefined, lengthMs: number) =>
        t.ok(ttl !== undefined && ttl > 0 && ttl <= lengthMs + 1, `${ttl} of ${lengthMs} ms`)
      const client = clientOfKey(title, 1, 9)
      await counts.count(client)
      for (const kind of ['minute', 'day']) await change(`{${title}}:${kind}`)
      const { isAdmitted, minute, day } = await counts.count(client)
      t.notOk(isAdmitted)
      isWithin(minute.ttl, minuteMs)
      isWithin(day.ttl, 24 * 60 * minuteMs)

      await counts.reject(client)
      await change(`{${title}}:rejections`)
      await change(`{${title}}:rejected-second`)
      t.equal(await counts.reject(client), undefined)
      isWithin(await redis.pttl(`{${title}}:rejected-second`), 1_000)
      await aSecond()
      t.equal(await counts.reject(client), undefined)
      isWithin(await redis.pttl(`{${title}}:rejections`), rules.withinSeconds * 1000)
      await aSecond()
      await counts.reject(client)
      await change(`{${title}}:ban`)
      isWithin((await counts.count(client)).ban.ttl, rules.banSeconds * 1000)

      await counts.increment(title, minuteMs)
      await change(`address:{${title}}`)
      const { current, ttl } = await counts.increment(title, minuteMs)
      t.equal(current, 2)
      isWithin(ttl, minuteMs)
    })

  t.test('a corrupt counter fails only its own client', async (t) => {
    const [broken, sound] = [clientOfKey('broken', 10, 10), clientOfKey('sound', 10, 10)]
    await redis.lpush('{broken}:day', 'not a count')
    const asked = [broken, sound, broken, sound].map((client) => counts.count(client))
    t.match(await Promise.allSettled(asked), [
      { status: 'rejected', reason: { message: /WRONGTYPE/ } },
      { status: 'fulfilled', value: { isAdmitted: true } },
      { status: 'rejected', reason: { message: /WRONGTYPE/ } },
      { status: 'fulfilled', value: { isAdmitted: true } },
    ])
  })

  const integers = (...numbers: number[]) =>
    `*${numbers.length}\r\n${numbers.map((n) => `:${n}\r\n`).join('')}`
  for (const [title, reply] of [
    ['a text', '+OK\r\n'],
    ['nothing', '*-1\r\n'],
    ['fewer numbers', integers(1)],
    ['more numbers', integers(...Array(9).fill(0))],
    ["another call's admission", integers(1, 0, 0, 1, 1, 1, 1, 2 ** 40)],
    ["another call's rejection", integers(0, 0, 2 ** 40)],
    ["another call's address", integers(1, 1, 1, 2 ** 40)],
    ['texts', `*7\r\n${'$1\r\n0\r\n'.repeat(7)}`],
    ['a negative time', integers(1, 0, 0, 1, -1, 1, 1, 0)],
    ['a time beyond its window', integers(1, 0, 0, 1, 10 ** 9, 1, 1, 0)],
    ['more admissions than requests', integers(2, 0, 0, 1, 1, 1, 1, 0)],
  ] as const)
    t.test(`a reply of ${title} is a failure of Redis, and no count`, async (t) => {
      const counter = new RedisCounter(await connectTo(t, reply), rules)
      const client = clientOfKey(title, 10, 10)
      const calls: readonly (() => Promise<unknown>)[] = [
        () => counter.count(client),
        () => counter.read(client),
        () => counter.reject(client),
        () => counter.increment('192.0.2.1', 60_000),
      ]
      const failure = { message: /something other than the counts of this call/ }
      for (const call of calls) await t.rejects(call(), failure)
    })

  t.test('all requests fail when Redis is unavailable', async (t) => {
    await server.kill()
    const [first, second] = [clientOfKey('first', 10, 10), clientOfKey('second', 10, 10)]
    const asked = [first, second, first].map((client) => counts.count(client))
    t.match(await Promise.allSettled(asked), Array(3).fill({ status: 'rejected' }))
  })

  t.test('all requests fail when the pipeline cannot be created', async (t) => {
    const fault = () => {
      throw new Error('a fault')
    }
    const broken = new RedisCounter(Object.create(redis, { pipeline: { value: fault } }), rules)
    const asked = [1, 2].map(() => broken.count(clientOfKey('any', 10, 10)))
    t.match(await Promise.allSettled(asked), Array(2).fill({ reason: { message: 'a fault' } }))
  })
})

/** Connects to a server that replies to every command with this text. */
async function connectTo(t: Test, reply: string): Promise<Redis> {
  const server = createServer((socket) => socket.on('data', () => socket.write(reply)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const redis = new Redis(port, { enableReadyCheck: false, disableClientInfo: true, retryStrategy: null })
  t.teardown(() => {
    redis.disconnect()
    server.close()
  })
  return redis
}

// Waits in real time, because Redis has its own clock: a second, and the last millisecond of its window.
async function aSecond(): Promise<void> {
  await setTimeout(1_010)
}

async function admitTogether(
  counts: ClientCounter,
  client: Client,
  times: number,
  cost?: number,
): Promise<ClientWindows[]> {
  return Promise.all(Array.from({ length: times }, () => counts.count(client, cost)))
}

function withoutTtl({ isAdmitted, ban, minute, day }: ClientWindows) {
  const withoutOneTtl = ({ max, remaining }: WindowState) => ({ max, remaining })
  return { isAdmitted, ban: withoutOneTtl(ban), minute: withoutOneTtl(minute), day: withoutOneTtl(day) }
}

function isAdmitted(windows: ClientWindows): boolean {
  return windows.isAdmitted
}

// Returns the number of script calls, by EVAL or EVALSHA.
async function calls(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0)
}
