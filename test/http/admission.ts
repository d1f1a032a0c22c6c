// The cost of unknown keys. The database itself counts the look-ups.

import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import { createApiKey } from 'contract-service/internal/auth/api-key'
import { stopClocks } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { countBy } from '../fixtures/count.js'
import { holdKeys } from '../fixtures/locks.js'
import { type Answer, contract, type Service, send, startService } from '../fixtures/service.js'

const { perMinute } = contract.rateLimits.anonymous
const many = perMinute * 5

// Long enough for a busy machine.
const REDIS_TIMEOUT_MS = '3000'
const stores: [name: string, skip: string | false, env: (t: Test) => Promise<Record<string, string>>][] = [
  ['in memory', false, async () => ({})],
  ['in Redis', redisIsMissing, async (t) => ({ REDIS_URL: (await startRedis(t)).url, REDIS_TIMEOUT_MS })],
]

// Redis uses its own clock, so the requests have to be sent within a minute.
const few = { perMinute: 20 }
const strict = { ...contract, rateLimits: { ...contract.rateLimits, anonymous: few } }

for (const [name, skip, env] of stores) {
  t.test(`with counters ${name}, unknown keys`, { skip }, async (t) => {
    const { perMinute } = few
    const many = perMinute * 5
    // None of these requests may be shed.
    const service = await startService(t, {
      contract: strict,
      env: { ...(await env(t)), TRUST_PROXY: 'loopback', WORK_MAX: '10000' },
    })
    stopClocks(t)
    const isBounded = (t: Test, responses: readonly Answer[]) =>
      t.strictSame(statuses(responses), { 401: perMinute, 429: many - perMinute })

    t.test('get exactly the quota of their address, one by one', async (t) => {
      const responses: Answer[] = []
      for (let i = 0; i < many; i++) responses.push(await guess(service, '192.0.2.1'))
      isBounded(t, responses)
    })

    t.test('and when sent concurrently from many addresses of one network', async (t) => {
      const addresses = Array.from({ length: many }, (_, i) => `2001:db8::${i.toString(16)}`)
      isBounded(t, await Promise.all(addresses.map((address) => guess(service, address))))
    })
  })

  t.test(
    `with counters ${name}, many concurrent requests with a valid key that is not cached are served`,
    { skip },
    async (t) => {
      const service = await startService(t, { env: { ...(await env(t)), WORK_MAX: '10000' } })
      const lookUps = await countLookUps(service)
      stopClocks(t) // cached keys stay fresh
      const responses = await Promise.all(Array.from({ length: many }, () => use(service, '', service.key)))
      t.strictSame(statuses(responses), { 200: many })
      t.equal(await lookUps(), 1)
    },
  )
}

t.test('unknown keys beyond the quota of their address', async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'loopback' } })
  const seen = await service.createKey()
  const unseen = await service.createKey()
  const others = await Promise.all(Array.from({ length: perMinute * 2 }, () => service.createKey()))
  const lookUps = await countLookUps(service)
  stopClocks(t) // the quota's minute does not end
  for (let i = 0; i < perMinute; i++) await guess(service, '192.0.2.1')
  refusesAddress(t, await guess(service, '192.0.2.1'))

  t.test('are told that no wait makes them valid, and one without a key that it needs one', async (t) => {
    const guessed = await guess(service, '192.0.2.1')
    t.match(
      guessed.body.message,
      /^The API key is mistyped, .* no key valid, and a valid key is admitted at once\.$/,
    )
    const without = await send(`${service.base}/pets`, 'GET', { 'x-forwarded-for': '192.0.2.1' })
    t.match(without, {
      status: 429,
      body: { code: 'unauthorized_limit_exceeded', message: /^Send an API key: / },
    })
    t.match(without.headers.get('www-authenticate'), /^Bearer realm="[^"]+"$/)
    const nowhere = await send(`${service.base}/nowhere`, 'GET', { 'x-forwarded-for': '192.0.2.1' })
    t.match(nowhere, { status: 429, body: { code: 'rate_limit_exceeded' } }, 'where no key is needed')
    t.equal(nowhere.headers.get('www-authenticate'), null)
  })

  t.test('do not affect a valid key that this instance has cached, from any address', async (t) => {
    t.equal((await use(service, '192.0.2.3', seen.key)).status, 200)
    t.equal((await use(service, '192.0.2.1', seen.key)).status, 200)
    await lookUps()
    stopClocks(t).advance(1_000) // the cached key is stale
    t.equal((await use(service, '192.0.2.1', seen.key)).status, 200)
    t.equal(await lookUps(), 1)
  })

  t.test('do not affect a valid key that it has not cached', async (t) => {
    t.equal((await use(service, '192.0.2.1', unseen.key)).status, 200)
    refusesAddress(t, await guess(service, '192.0.2.1'))
  })

  t.test('count against the quota of the address, and valid keys do not', async (t) => {
    for (const { key } of others) t.equal((await use(service, '192.0.2.5', key)).status, 200)
    const response = await guess(service, '192.0.2.5')
    t.equal(response.status, 401)
    t.equal(response.headers.get('x-ratelimit-remaining'), String(perMinute - 1))
  })
})

t.test('a valid key that is not cached is served during a flood of unknown keys', async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'loopback', WORK_MAX: String(many) } })
  const lookUps = await countLookUps(service)
  const held = await holdKeys(service.sql, 'stored_keys')
  let received = 0
  service.app.server.on('request', () => received++)
  const guesses = Array.from({ length: many - 1 }, () => guess(service, '192.0.2.1'))
  await until(() => received === guesses.length)
  const valid = use(service, '192.0.2.1', service.key)
  await held.someoneWaits()
  await held.release()
  t.equal((await valid).status, 200)
  t.strictSame(statuses(await Promise.all(guesses)), { 401: perMinute, 429: many - 1 - perMinute })
  t.ok((await lookUps()) < many / 4, 'look-ups share statements')
})

t.test('unknown keys beyond WORK_MAX are refused, and take no slot of known keys', async (t) => {
  const service = await startService(t, { env: { WORK_MAX: '2' } })
  t.equal((await use(service, '', service.key)).status, 200)
  stopClocks(t) // the cached key stays fresh
  const held = await holdKeys(service.sql)
  const guesses = Array.from({ length: 3 }, () => guess(service, ''))
  t.match(await Promise.race(guesses), { status: 503, body: { code: 'unavailable' } })
  t.equal((await use(service, '', service.key)).status, 200)
  await held.release()
  t.strictSame(statuses(await Promise.all(guesses)), { 401: 2, 503: 1 })
})

t.test('failed look-ups release their slots, and count against no quota', async (t) => {
  const service = await startService(t)
  await service.sql`alter table api_keys rename to away`
  for (let i = 0; i < perMinute * 2; i++) t.equal((await guess(service, '')).status, 503)
  await service.sql`alter table away rename to api_keys`
  const response = await guess(service, '')
  t.equal(response.status, 401)
  t.equal(response.headers.get('x-ratelimit-remaining'), String(perMinute - 1))
})

function guess(service: Service, address: string): Promise<Answer> {
  return use(service, address, createApiKey())
}

function use({ base }: Service, address: string, key: string): Promise<Answer> {
  return send(`${base}/pets`, 'GET', { authorization: `Bearer ${key}`, 'x-forwarded-for': address })
}

function refusesAddress(t: Test, response: Answer | undefined): void {
  t.match(response, { status: 429, body: { code: 'unauthorized_limit_exceeded' } })
  t.match(response?.headers.get('www-authenticate'), /^Bearer realm="[^"]+", error="invalid_token", /)
  t.equal(response?.headers.get('x-ratelimit-limit'), String(perMinute))
  t.equal(response?.headers.get('x-ratelimit-remaining'), '0')
  t.ok(Number(response?.headers.get('retry-after')) > 1)
}

function statuses(responses: readonly Answer[]): Record<string, number> {
  return countBy(responses, ({ status }) => String(status))
}

/**
 * Counts the look-ups of keys; afterwards no key can be created. Returns a function that reads and resets the
 * count.
 */
async function countLookUps({ sql }: Service): Promise<() => Promise<number>> {
  await sql`alter table api_keys rename to stored_keys`
  await sql`create sequence look_ups`
  await sql`
    create function look_up() returns setof stored_keys language sql volatile as $$
      select nextval('look_ups');
      select * from stored_keys
    $$`
  await sql`create view api_keys as select * from look_up()`
  return async () => {
    const [row] = await sql<{ count: number }[]>`
      select (case when is_called then last_value else 0 end)::int as count from look_ups`
    await sql`alter sequence look_ups restart`
    return row?.count ?? Number.NaN
  }
}
