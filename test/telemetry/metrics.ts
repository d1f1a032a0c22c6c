import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { listenForScrapes, scrape } from 'contract-service/fixtures/metrics'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import type { Pools, RootSql } from 'contract-service/internal/database/database'
import { Feed } from 'contract-service/internal/database/feed'
import type {} from 'contract-service/internal/http/graceful-close'
import { stopClocks } from 'contract-testing/clocks'
import { until, untilReady } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { countStatements } from '../fixtures/count.js'
import { customPlan, prefix, statuses } from '../fixtures/facts.js'
import { holdInserts } from '../fixtures/locks.js'
import { contract, createDatabase, openPools, send, startService, testConfig } from '../fixtures/service.js'

// The process metrics may gain samples at any time, such as another kind of garbage collection.
function ownNames(samples: ReadonlyMap<string, number>): string[] {
  return [...samples.keys()].filter((name) => name.startsWith('animal_store_'))
}

const requests = (operation: string, status: number) =>
  `animal_store_request_seconds_count{operation="${operation}",status="${status}"}`

// Starts a service whose metrics server listens.
async function startMeasured(
  t: Test,
  env: Record<string, string> = {},
  parts: { sql?: RootSql; pools?: Pools } = {},
) {
  const service = await startService(t, { env: { METRICS_PORT: '9464', ...env }, ...parts })
  const metrics = await listenForScrapes(service)
  return { ...service, metrics, samples: () => scrape(metrics) }
}

t.test('the delay of a feed among the services is measured by its name, while it has readers', async (t) => {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const log = { info: () => {}, warn: () => {} }
  const newPets = new Feed(pools, log, { everyMs: 5 })
  const services = { newPets, idle: new Feed(pools, log), other: {}, close: async () => newPets.close() }
  const metrics = await listenForScrapes(
    await startService(t, { env: { METRICS_PORT: '9464' }, sql, pools, services }),
  )
  const delays = async () =>
    [...(await scrape(metrics))].filter(([name]) => name.startsWith('animal_store_feed_delay_seconds'))
  t.strictSame(await delays(), [])
  const leaving = new AbortController()
  const reading = newPets.since(pools.reads.sql, async () => [], undefined, leaving.signal)
  await reading.next()
  const [[name, seconds] = []] = await delays()
  t.equal(name, 'animal_store_feed_delay_seconds{feed="newPets"}')
  t.ok(Number(seconds) >= 0 && Number(seconds) < 60, String(seconds))
  const end = reading.next()
  leaving.abort()
  await end
  await until(async () => (await delays()).length === 0)
})

t.test('requests are counted and timed by operation and status', async (t) => {
  const { call, origin, samples } = await startMeasured(t)
  await call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })
  for (const path of ['/pets', '/pets', '/pets?limit=0', '/pets/1', '/pets/77', '/nowhere'])
    await call('GET', path)
  await call('DELETE', '/pets')
  for (const path of ['/healthz', '/docs']) await send(origin + path)
  const found = await samples()
  const expected: [string, number][] = [
    [requests('createPet', 201), 1],
    [requests('listPets', 200), 2],
    [requests('listPets', 400), 1],
    [requests('getPet', 200), 1],
    [requests('getPet', 404), 1],
    [requests('none', 404), 1],
    [requests('none', 405), 1],
    [requests('none', 200), 2],
  ]
  for (const [name, count] of expected) t.equal(found.get(name), count, name)
  const sum = found.get('animal_store_request_seconds_sum{operation="listPets",status="200"}') ?? 0
  t.ok(sum > 0 && sum < 60)
})

t.test('refusals are counted by plan and window, bans by plan', async (t) => {
  const { base, createKey, samples } = await startMeasured(t)
  const { ban, anonymous } = contract.rateLimits
  // No window resets during the test.
  const clock = stopClocks(t)
  const minute = await createKey({ perMinute: 1, perDay: 99 })
  const day = await createKey({ perMinute: 99, perDay: 1 })
  const times = async (count: number, key: string) => {
    for (let i = 0; i < count; i++) await send(`${base}/pets`, 'GET', { authorization: `Bearer ${key}` })
  }
  await times(1, minute.key)
  for (let i = 0; i < ban.rejections; i++) {
    await times(1, minute.key)
    clock.advance(1_000)
  }
  await times(3, minute.key)
  await times(1 + 2, day.key)
  await times(anonymous.perMinute + 4, 'nonsense')
  const found = await samples()
  const refusals = (plan: string, window: string) =>
    found.get(`animal_store_refusals_total{plan="${plan}",window="${window}"}`)
  t.equal(refusals(customPlan, 'minute'), ban.rejections)
  t.equal(refusals(customPlan, 'ban'), 3)
  t.equal(refusals(customPlan, 'day'), 2)
  t.equal(refusals('none', 'address'), 4)
  t.equal(found.get(`animal_store_bans_total{plan="${customPlan}"}`), 1)
})

t.test('calls of deprecated operations are counted by key, up to a number of keys', async (t) => {
  const { call, base, createKey, samples } = await startMeasured(t)
  const name = (key: bigint | string) =>
    `animal_store_deprecated_requests_total{operation="getPet",key="${key}"}`
  await call('GET', '/pets')
  t.notOk(ownNames(await samples()).some((each) => each.includes('deprecated_requests_total{')))
  const keys = await Promise.all(Array.from({ length: 205 }, () => createKey()))
  for (const { key } of [...keys, ...keys]) {
    await send(`${base}/pets/1`, 'GET', { authorization: `Bearer ${key}` })
  }
  await send(`${base}/pets/1`) // a request without a key is not counted
  const found = await samples()
  for (const { id } of keys.slice(0, 200)) if (found.get(name(id)) !== 2) t.fail(`key ${id}`)
  t.equal(found.get(name('other')), 10)
})

t.test('statements and connections of the database are measured', async (t) => {
  const { call, sql, samples } = await startMeasured(t)
  for (let i = 0; i < 3; i++) await call('GET', '/pets')
  const before = await samples()
  t.equal(before.get('animal_store_statement_seconds_count{pool="reads"}'), 3)
  t.equal(before.get('animal_store_statement_seconds_count{pool="keys"}'), 1, 'the key, looked up once')
  for (const pool of ['keys', 'reads', 'writes'])
    t.equal(before.get(`animal_store_statements_waiting{pool="${pool}"}`), 0, pool)
  t.equal(before.get('animal_store_database_up'), 1)
  t.ok((before.get('animal_store_database_connections{state="active"}') ?? 0) >= 1)

  const held = await holdInserts(sql)
  const waiting = call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })
  let during = await samples()
  while (!during.get('animal_store_database_connections{state="lock"}')) during = await samples()
  during = await samples() // the statement may have started during the last scrape
  const waitingStatements = during.get('animal_store_statements_waiting{pool="writes"}')
  t.ok(waitingStatements === 1 || waitingStatements === 2, 'the request, and perhaps the check of readiness')
  t.equal(
    during.get('animal_store_database_connections{state="transaction"}'),
    0,
    'the lock is held by another application',
  )
  await held.release()
  await waiting
})

t.test('a scrape succeeds without a database, and reports it as down', async (t) => {
  const sql = await createDatabase(t)
  const proxy = await startDatabaseProxy(t, sql)
  const pools = await openPools(t, sql, testConfig(), proxy)
  const service = await startMeasured(t, {}, { sql, pools })
  t.equal((await service.samples()).get('animal_store_database_up'), 1)
  proxy.admit(false)
  const found = await service.samples()
  t.equal(found.get('animal_store_ready{cause="unreachable"}'), 0)
  t.equal(found.get('animal_store_database_up'), 0)
  t.notOk(found.has('animal_store_database_connections{state="active"}'))
  t.equal((await send(new URL('/readyz', service.metrics).href)).status, 503)
  t.equal((await send(new URL('/healthz', service.metrics).href)).status, 200)
})

t.test('readiness is reported with its cause, also that of an instance that stops', async (t) => {
  const { app, sql, samples } = await startMeasured(t)
  const readiness = async () =>
    [...(await samples())].filter(([name]) => name.startsWith('animal_store_ready'))
  t.strictSame(await readiness(), [['animal_store_ready{cause="none"}', 1]])
  await sql`alter table schema_migrations rename to away`
  t.strictSame(await readiness(), [['animal_store_ready{cause="schema"}', 1]], 'degraded')
  await sql`alter table away rename to schema_migrations`
  t.strictSame(await readiness(), [['animal_store_ready{cause="none"}', 1]])
  await sql`alter table api_keys rename to away`
  t.strictSame(await readiness(), [['animal_store_ready{cause="schema"}', 0]])
  await sql`alter table away rename to api_keys`
  t.strictSame(await readiness(), [['animal_store_ready{cause="none"}', 1]])
  app.announceClose()
  t.strictSame(await readiness(), [['animal_store_ready{cause="closing"}', 0]])
})

t.test('the process is measured: memory, event loop, connections', async (t) => {
  const { call, samples } = await startMeasured(t)
  await call('GET', '/pets')
  const found = await samples()
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'process_cpu_seconds_total',
    'animal_store_connections',
  ])
    t.ok((found.get(name) ?? 0) > 0, name)
  t.equal(found.get('animal_store_counters{place="memory"}'), 1)
})

t.test('the place where requests are counted is reported', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t)
  const { call, samples } = await startMeasured(t, { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '3000' })
  const places = async () => {
    const found = await samples()
    return ['memory', 'redis', 'memory_fallback'].map((place) =>
      found.get(`animal_store_counters{place="${place}"}`),
    )
  }
  t.strictSame(await places(), [0, 1, 0])
  const trips = async () => (await samples()).get('animal_store_redis_seconds_count') ?? 0
  const before = await trips()
  await call('GET', '/pets')
  t.equal(await trips(), before + 1, 'a request is one round trip')
  const sum = (await samples()).get('animal_store_redis_seconds_sum') ?? 0
  t.ok(sum > 0 && sum < 60)
  t.equal((await samples()).get('animal_store_new_connection_fails{to="redis"}'), 0)
  await redis.kill()
  await call('GET', '/pets')
  t.strictSame(await places(), [0, 0, 1])
})

t.test('whether requests should read from standbys is told apart from whether they do', async (t) => {
  const url = 'postgres://127.0.0.1/none'
  const environments: [Record<string, string>, number][] = [
    [{}, 0],
    [{ DATABASE_URL: url, DATABASE_READ_URL: url }, 1],
  ]
  for (const [env, expected] of environments) {
    const found = await (await startMeasured(t, env)).samples()
    t.equal(found.get('animal_store_standbys_configured'), expected)
    t.notOk(found.has('animal_store_replication_lag_seconds'))
  }
})

t.test('scrapes under load lose no count', async (t) => {
  const { call, samples } = await startMeasured(t)
  const [callers, rounds] = [32, 20]
  let scrapes = 0
  let isOver = false
  const caller = async () => {
    for (let i = 0; i < rounds; i++) await call('GET', i % 2 === 0 ? '/pets' : '/pets/7')
  }
  const scraper = async () => {
    for (; !isOver; scrapes++) await samples()
  }
  const scraping = scraper()
  await Promise.all(Array.from({ length: callers }, caller))
  isOver = true
  await scraping
  t.ok(scrapes > 0, `${scrapes} scrapes`)

  const half = (callers * rounds) / 2
  const found = await samples()
  t.equal(found.get(requests('listPets', 200)), half)
  t.equal(found.get(requests('getPet', 404)), half)
  t.equal(found.get('animal_store_request_seconds_bucket{le="+Inf",operation="listPets",status="200"}'), half)
  const statements = found.get('animal_store_statement_seconds_count{pool="reads"}') ?? 0
  t.ok(statements > 0 && statements <= 2 * half, `${statements} statements: some serve several requests`)
  t.equal(found.get('animal_store_statements_waiting{pool="reads"}'), 0)
  t.ok((found.get('animal_store_connections') ?? 0) >= callers, 'the client connections are kept alive')
  t.equal([...found].find(([name]) => name.startsWith('animal_store_deprecated_requests_total{'))?.[1], half)
})

t.test('no label takes a value that a client chooses', async (t) => {
  const { call, origin, samples } = await startMeasured(t)
  await call('GET', '/pets')
  await send(`${origin}/nowhere`)
  await samples() // its statements are those of another pool, too
  const before = ownNames(await samples())
  const long = 'x'.repeat(40)
  for (let i = 0; i < 20; i++) {
    await send(`${origin}/${long}${i}`)
    await send(`${origin}${prefix}/${long}${i}`, 'GET', {
      'x-request-id': `${long}${i}`,
      'user-agent': `${i}`,
    })
    await call('GET', `/pets?limit=1&status=${statuses[i % statuses.length]}`)
  }
  t.strictSame(ownNames(await samples()), before)
})

t.test('the service port has no metrics, and the metrics port has only metrics and health', async (t) => {
  const service = await startProcess(t, { DATA_DIR: dataDirectory(t), METRICS_PORT: '0' })
  const { port } = await service.logged('metrics server listening')
  const { origin } = new URL(service.base)
  t.equal((await send(`${origin}/metrics`)).status, 404)
  const metrics = `http://127.0.0.1:${port}`
  t.equal((await scrape(`${metrics}/metrics`)).get(requests('none', 404)), 1)
  t.match((await send(`${metrics}/metrics`)).headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  for (const path of ['/', `${prefix}/pets`, '/readyz/x'])
    t.equal((await send(metrics + path)).status, 404, path)
  t.equal((await send(`${metrics}/metrics`, 'POST')).status, 404)
  await untilReady(origin)
  for (const path of ['/healthz', '/readyz'])
    t.equal((await send(metrics + path)).status, (await send(origin + path)).status, path)
  t.match(await service.stop(), { code: 0 })
})

t.test('scrapes that arrive together share a collection, and those of a connection wait', async (t) => {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const { metrics, app } = await startMeasured(t, {}, { sql, pools })
  const statements = countStatements(pools.reads)
  const together = await Promise.all(Array.from({ length: 20 }, () => send(metrics)))
  t.ok(together.every(({ status }) => status === 200))
  t.ok(statements.count < 20, `${statements.count} statements for 20 scrapes`)

  const server = app.metricsServer as Server
  let received = 0
  server.on('request', () => received++)
  const { hostname, port } = new URL(metrics)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500))
  await until(() => received > 0)
  await send(metrics)
  t.ok(received < 100, `${received} of 500 unread scrapes were begun`)
})

t.test('without METRICS_PORT nothing is measured', async (t) => {
  const { app, origin } = await startService(t)
  t.equal(app.metricsServer, undefined)
  t.equal((await send(`${origin}/metrics`)).status, 404)
})

t.test('a METRICS_PORT in use fails the startup', async (t) => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const METRICS_PORT = String((server.address() as AddressInfo).port)
  const start = startProcess(t, { DATA_DIR: dataDirectory(t), METRICS_PORT })
  await t.rejects(start, /EADDRINUSE[\s\S]*set METRICS_PORT to another/)
})
