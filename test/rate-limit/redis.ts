import { Redis } from 'ioredis'
import t from 'tap'
import type { Client } from '../../src/auth/client.js'
import { MemoryClientCounter } from '../../src/rate-limit/memory.js'
import { createCountsAnswerer, PrimaryCounts } from '../../src/rate-limit/primary.js'
import { RedisClientCounter } from '../../src/rate-limit/redis.js'
import type { ClientCounter, ClientWindows, WindowState } from '../../src/rate-limit/windows.js'
import { redisIsMissing, startRedis } from '../fixtures/redis.js'
import { contract } from '../fixtures/service.js'

const rules = { rejections: 2, withinSeconds: 60, banSeconds: 60 }

t.test('client counts in Redis', { skip: redisIsMissing }, async (t) => {
  const server = await startRedis(t)
  const redis = new Redis(server.url, { enableOfflineQueue: false, lazyConnect: true, retryStrategy: null })
  redis.on('error', () => {})
  t.teardown(() => redis.disconnect())
  await redis.connect()
  const counts = new RedisClientCounter(redis, rules)

  for (const [perMinute, perDay, asked] of [
    [10, 100, [1, 1, 3, 0, 4, 3]],
    [100, 10, [4, 4, 4, 4]],
    [3, 3, [5, 1]],
    [0, 5, [2]],
  ] as const) {
    const quotas = `${perMinute} a minute and ${perDay} a day`
    t.test(
      `of ${quotas}, ${asked.join(', ')} that ask together are told what they are in memory`,
      async (t) => {
        const client = clientOf(quotas, perMinute, perDay)
        const memory = new MemoryClientCounter(rules)
        for (const together of asked) {
          const expected = await admitTogether(memory, client, together)
          t.match(await admitTogether(counts, client, together), expected.map(withoutEnds))
          const before = await counts.look(client)
          t.match(await counts.look(client), withoutEnds(before), 'and to look counts nothing')
        }
      },
    )
  }

  t.test(
    'what is asked in one iteration of the event loop is one call of the script for each client',
    async (t) => {
      const [first, second] = [clientOf('first', 3, 10), clientOf('second', 10, 10)]
      await counts.count(first) // the script is there
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
    },
  )

  t.test(
    'a window begins from no less than what is known, in memory, of a primary, and in Redis',
    async (t) => {
      const state = (max: number, remaining: number, ttl: number) => ({
        max,
        remaining,
        ttl,
        isExceeded: false,
      })
      const known = { ban: state(1, 1, 0), minute: state(10, 4, 5_000), day: state(20, 8, 50_000) }
      for (const [where, counter] of Object.entries({
        memory: new MemoryClientCounter(rules),
        primary: primary(),
        redis: counts,
      })) {
        const client = clientOf(`known in ${where}`, 10, 20)
        const { minute, day } = await counter.count(client, known)
        t.match({ minute, day }, { minute: { remaining: 3 }, day: { remaining: 7 } }, where)
        t.ok(minute.ttl > 3_000 && minute.ttl <= 5_001 && day.ttl > 48_000 && day.ttl <= 50_001)
        t.match(await counter.count(client, known), { minute: { remaining: 2 } }, 'which is known once')
        const banned = { ...known, ban: state(1, 0, 3_000) }
        t.match(await counter.count(client, banned), { isAdmitted: false, ban: { remaining: 0 } })
        t.match(await counter.count(client), { isAdmitted: false, minute: { remaining: 2 } })
      }
    },
  )

  t.test('a ban admits none, though both windows have room', async (t) => {
    const client = clientOf('banned', 10, 10)
    await counts.count(client)
    for (const _ of [1, 2]) t.equal(await counts.reject(client), undefined)
    t.match(await counts.reject(client), { remaining: 0, isExceeded: false })
    for (const { isAdmitted, ban, minute } of await admitTogether(counts, client, 3)) {
      t.equal(isAdmitted, false)
      t.ok(ban.remaining === 0 && ban.ttl > 0)
      t.equal(minute.remaining, 9)
    }
  })

  t.test('a client whose counts are broken fails alone', async (t) => {
    const [broken, sound] = [clientOf('broken', 10, 10), clientOf('sound', 10, 10)]
    await redis.lpush('{broken}:day', 'not a count')
    const asked = [broken, sound, broken, sound].map((client) => counts.count(client))
    t.match(await Promise.allSettled(asked), [
      { status: 'rejected', reason: { message: /WRONGTYPE/ } },
      { status: 'fulfilled', value: { isAdmitted: true } },
      { status: 'rejected', reason: { message: /WRONGTYPE/ } },
      { status: 'fulfilled', value: { isAdmitted: true } },
    ])
  })

  t.test('all who ask are told when Redis is away', async (t) => {
    await server.kill()
    const [first, second] = [clientOf('first', 10, 10), clientOf('second', 10, 10)]
    const asked = [first, second, first].map((client) => counts.count(client))
    t.match(await Promise.allSettled(asked), Array(3).fill({ status: 'rejected' }))
  })

  t.test('and when it cannot even be asked', async (t) => {
    const fault = () => {
      throw new Error('a fault')
    }
    const broken = new RedisClientCounter(Object.create(redis, { pipeline: { value: fault } }), rules)
    const asked = [1, 2].map(() => broken.count(clientOf('any', 10, 10)))
    t.match(await Promise.allSettled(asked), Array(2).fill({ reason: { message: 'a fault' } }))
  })
})

/** A worker's counts, with the primary that answers it at the other end of its channel. */
function primary(): PrimaryCounts {
  const answer = createCountsAnswerer({ ...contract.rateLimits, ban: rules })
  let hear: (message: unknown) => void = () => {}
  return new PrimaryCounts({
    send: (message) => hear(answer(JSON.parse(JSON.stringify(message)))),
    listen: (callBack) => {
      hear = callBack
    },
  })
}

function clientOf(keyId: string, perMinute: number, perDay: number): Client {
  return { keyId, plan: 'free', quotas: { perMinute, perDay }, expiresAt: undefined }
}

async function admitTogether(counts: ClientCounter, client: Client, times: number): Promise<ClientWindows[]> {
  return Promise.all(Array.from({ length: times }, () => counts.count(client)))
}

function withoutEnds({ isAdmitted, ban, minute, day }: ClientWindows) {
  const withoutEnd = ({ max, remaining }: WindowState) => ({ max, remaining })
  return { isAdmitted, ban: withoutEnd(ban), minute: withoutEnd(minute), day: withoutEnd(day) }
}

function isAdmitted(windows: ClientWindows): boolean {
  return windows.isAdmitted
}

// Scripts that were run, by either command.
async function calls(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0)
}
