import { connectTo, readCluster, silent } from 'contract-service/fixtures/cluster'
import { listenForScrapes, scrape } from 'contract-service/fixtures/metrics'
import type { RootSql } from 'contract-service/internal/database/database'
import { createPools, endPools } from 'contract-service/internal/database/pools'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { createDatabase, send, startService, testConfig } from '../fixtures/service.js'

// Makes trials begin every ten milliseconds, whatever their outcome.
function hurryTrials(t: Test): void {
  const { setTimeout: before } = globalThis
  const hurried = (run: () => void, ms?: number, ...args: []) =>
    before(run, ms === 60_000 || ms === 15_000 ? 10 : ms, ...args)
  globalThis.setTimeout = Object.assign(hurried, before) as typeof before
  t.teardown(() => {
    globalThis.setTimeout = before
  })
}

async function openAs(t: Test, admin: RootSql) {
  const cluster = await readCluster()
  const role = `${admin.options.database}_role`
  await admin.unsafe(`create role ${role} login password 'secret'`)
  await admin.unsafe(`grant select, insert, update, delete on all tables in schema public to ${role}`)
  await admin.unsafe(`grant usage, select on all sequences in schema public to ${role}`)
  const own = { username: role, password: 'secret' }
  const make = (options: object) => connectTo(cluster, admin.options.database, { ...options, ...own })
  const pools = createPools(make, testConfig().handlerTimeoutMs, silent)
  t.teardown(async () => {
    await endPools(pools)
    await admin.unsafe(`drop owned by ${role}; drop role ${role}`)
  })
  const sessions = async () => {
    const rows = await admin`select pid from pg_stat_activity where usename = ${role} order by pid`
    return rows.map(({ pid }) => pid)
  }
  return { pools, role, sessions }
}

t.test('a login that has ended', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role, sessions } = await openAs(t, admin)
  hurryTrials(t)
  const service = await startService(t, { sql: admin, pools, env: { METRICS_PORT: '9464' } })
  const metrics = await listenForScrapes(service)
  const ready = async () => (await send(`${service.origin}/readyz`)).body
  const fails = async () => (await scrape(metrics)).get('animal_store_new_connection_fails{to="database"}')
  const told = () => service.log.filter(({ msg }) => /new connection/.test(String(msg))).map(({ msg }) => msg)
  await until(async () => (await ready()).status === 'ok')
  t.equal(await fails(), 0)
  t.strictSame(told(), [])

  await admin.unsafe(`alter role ${role} nologin`)
  await until(async () => (await ready()).status === 'degraded')
  t.match(await ready(), { cause: 'new_connection' })
  t.equal(await fails(), 1)
  t.equal((await service.call('GET', '/pets')).status, 200, 'the open connections serve')
  t.strictSame(told(), ['no new connection can be opened'], 'it is logged once')

  await admin.unsafe(`alter role ${role} login`)
  await until(async () => (await ready()).status === 'ok')
  t.equal(await fails(), 0)
  t.equal(told().length, 2)
  await service.app.close()
  const left = await sessions()
  t.ok(left.length <= 11, 'what is tried is given back')
})

t.test('what is tried is closed, and leaves the connections of the pool as they are', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role, sessions } = await openAs(t, admin)
  const [own] = await pools.writes.sql`select pg_backend_pid() as pid`
  const only = () => until(async () => String(await sessions()) === String(own?.pid))
  for (let i = 0; i < 5; i++) await pools.writes.tryOpening()
  await only()
  await admin.unsafe(`alter role ${role} nologin`)
  await t.rejects(pools.writes.tryOpening(), { code: '28000' })
  await only()
  await admin.unsafe(`alter role ${role} login connection limit 1`)
  await pools.writes.tryOpening()
  t.pass('a server without a place for it has found nothing wrong')
  await only()
  t.match(await pools.writes.sql`select pg_backend_pid() as pid`, [{ pid: own?.pid }])
})
