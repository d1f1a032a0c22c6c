// Operations that cost more than one request (`x-rate-cost`), as a client sees them.

import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import type { AppParts } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import { redisIsMissing, startRedis } from '../fixtures/redis.js'
import { type Answer, send, startService } from '../fixtures/service.js'

const responses = { 204: { description: 'Done.' }, '4XX': { description: 'Refused.' } }
const operation = (operationId: string, more: object) => ({
  operationId,
  summary: 'Reports.',
  responses,
  ...more,
})
const contract = await readServiceContract('openapi.yaml', async () =>
  stringify({
    openapi: '3.1.0',
    info: { title: 'Reports', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    security: [{ key: [] }],
    'x-rate-limits': {
      plans: { free: { perMinute: 25, perDay: 1_000 }, agreed: 'custom' },
      anonymous: { perMinute: 25 },
      ban: { rejections: 30, withinSeconds: 60, banSeconds: 300 },
    },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    paths: {
      '/report': {
        get: operation('getReport', { 'x-rate-cost': 10 }),
        post: operation('addReport', { 'x-rate-cost': 20 }),
      },
      '/cheap': { get: operation('getCheap', {}) },
      '/public': { get: operation('getPublic', { security: [], 'x-rate-cost': 10 }) },
    },
  }),
)

const done = async () => ({ status: 204 })
const handlers = {
  getReport: done,
  addReport: done,
  getCheap: done,
  getPublic: done,
} as unknown as AppParts['handlers'] // of another contract than the project's

async function start(t: Test, env: Record<string, string> = {}) {
  const service = await startService(t, { contract, handlers, schemes: { key: apiKeys() }, env })
  const { key } = await service.createKey({ plan: 'free', perMinute: null, perDay: null })
  const auth = { authorization: `Bearer ${key}` }
  const call = (method: string, path: string, headers: Record<string, string> = auth) =>
    send(`${service.base}${path}`, method, headers)
  return { service, call }
}

function facts({ status, headers }: Answer) {
  return [status, Number(headers.get('x-ratelimit-remaining'))]
}

t.test('an operation takes what it costs, and one that costs more than is left takes nothing', async (t) => {
  const clock = stopClocks(t)
  const { call } = await start(t)
  t.strictSame(facts(await call('GET', '/report')), [204, 15])
  t.strictSame(facts(await call('GET', '/cheap')), [204, 14])
  t.strictSame(facts(await call('GET', '/report')), [204, 4])
  clock.advance(20_000)
  const refused = await call('GET', '/report')
  t.strictSame(facts(refused), [429, 4], 'what cheaper operations may still take')
  t.equal(refused.headers.get('retry-after'), '40')
  t.equal(Number(refused.headers.get('x-ratelimit-reset')), Math.ceil(clock.now() / 1000) + 40)
  t.match(refused.headers.get('ratelimit'), /^"minute";r=4;t=40, "day";r=979;/)
  t.equal(
    refused.body.message,
    "This minute's requests are used up but for 4, and this one counts as 10. Try again in 40 seconds.",
  )
  t.strictSame(facts(await call('GET', '/cheap')), [204, 3])
  clock.advance(40_000)
  t.strictSame(facts(await call('POST', '/report')), [204, 5], 'who waits is admitted')
})

t.test('HEAD costs what GET does, and what runs no operation costs one', async (t) => {
  const { call } = await start(t)
  t.strictSame(facts(await call('HEAD', '/report')), [204, 15])
  t.strictSame(facts(await call('OPTIONS', '/report')), [405, 14])
  t.strictSame(facts(await call('DELETE', '/report')), [405, 13])
  t.strictSame(facts(await call('GET', '/nothing')), [404, 12])
  t.strictSame(facts(await call('GET', '/report?a=1')), [400, 2], 'what is read is counted before')
})

t.test('a request without a valid key costs one, unless it is served', async (t) => {
  const { call } = await start(t)
  t.strictSame(facts(await call('GET', '/report', {})), [401, 24])
  t.strictSame(facts(await call('GET', '/report', { authorization: 'Bearer wrong' })), [401, 23])
  t.strictSame(facts(await call('GET', '/public', {})), [204, 13])
  t.strictSame(facts(await call('GET', '/public', { authorization: 'Bearer wrong' })), [204, 3])
  const refused = await call('GET', '/public', {})
  t.strictSame(facts(refused), [429, 3])
  t.match(
    refused.body.message,
    'requests without a valid key are used up but for 3, and this one counts as 10.',
  )
  t.strictSame(facts(await call('GET', '/report', {})), [401, 2])
})

t.test('costly requests that keep coming after their 429 are banned', async (t) => {
  const clock = stopClocks(t)
  const { call } = await start(t)
  await call('POST', '/report')
  const statuses: unknown[] = []
  for (let i = 0; i <= 30; i++) {
    statuses.push((await call('POST', '/report')).body.code)
    clock.advance(1_000)
  }
  t.equal(statuses.filter((code) => code === 'rate_limit_exceeded').length, 30)
  t.equal(statuses.at(-1), 'key_banned')
  t.strictSame(facts(await call('GET', '/cheap')), [429, 0], 'a ban is of all operations')
})

for (const [quotas, named] of [
  [{ perMinute: 15, perDay: 1_000 }, '15 per minute'],
  [{ perMinute: 25, perDay: 19 }, '19 per day'],
] as const)
  t.test(`a key whose quota is ${named} is told that a request of 20 is never admitted`, async (t) => {
    const clock = stopClocks(t)
    const { service, call } = await start(t)
    const { key } = await service.createKey({ plan: 'agreed', ...quotas })
    const headers = { authorization: `Bearer ${key}` }
    const message = `This request counts as 20, and the quota of this key is ${named}: it is never admitted.`
    for (let i = 0; i < 2; i++) {
      const refused = await call('POST', '/report', headers)
      t.equal(refused.status, 429)
      t.equal(refused.body.message, message)
      clock.advance(Number(refused.headers.get('retry-after')) * 1_000)
    }
    t.equal((await call('GET', '/report', headers)).status, 204, 'it may call the others')
    const { body } = await call('GET', '/report', headers)
    t.match(body.message, /Try again in \d+ seconds\.$/, 'which are worth a repetition')
  })

for (const kind of ['memory', 'Redis'] as const)
  t.test(
    `of 300 costly requests at once exactly those within the quota are served, with counters in ${kind}`,
    { skip: kind === 'Redis' && redisIsMissing },
    async (t) => {
      const env = kind === 'Redis' ? { REDIS_URL: (await startRedis(t)).url } : {}
      const { call } = await start(t, { WORK_MAX: '1000', ...env })
      const all = await Promise.all(Array.from({ length: 300 }, () => call('GET', '/report')))
      t.strictSame(
        all
          .filter(({ status }) => status === 204)
          .map((each) => facts(each)[1])
          .sort(),
        [15, 5],
      )
      t.ok(all.every((each) => each.status === 204 || facts(each)[1] === 5))
      t.strictSame(facts(await call('GET', '/cheap')), [204, 4])
    },
  )
