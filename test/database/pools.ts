import { connectTo, readCluster } from 'contract-service/fixtures/cluster'
import { listenForScrapes, scrape } from 'contract-service/fixtures/metrics'
import { createApiKey } from 'contract-service/internal/auth/api-key'
import type { Pools, RootSql, Sql } from 'contract-service/internal/database/database'
import { createPools, endPools } from 'contract-service/internal/database/pools'
import { until, untilReady } from 'contract-testing/until'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { holdInserts, holdPets } from '../fixtures/locks.js'
import { createDatabase, send, startService, testConfig } from '../fixtures/service.js'

const { handlerTimeoutMs } = testConfig()

interface Service {
  readonly pools: Pools
  readonly role: string
  readonly log: Record<string, unknown>[]
}

// Connects as a role with a connection limit, because superusers have none.
async function openAs(
  t: Test,
  admin: RootSql,
  limit: number,
  timeoutMs = handlerTimeoutMs,
): Promise<Service> {
  const cluster = await readCluster()
  const role = `${admin.options.database}_role`
  const password = 'secret'
  await admin.unsafe(`create role ${role} login password '${password}' connection limit ${limit}`)
  await admin.unsafe(`grant select, insert, update, delete on all tables in schema public to ${role}`)
  await admin.unsafe(`grant usage, select on all sequences in schema public to ${role}`)
  const log: Record<string, unknown>[] = []
  const logger = pino({}, { write: (line: string) => void log.push(JSON.parse(line)) })
  const make = (options: object) =>
    connectTo(cluster, admin.options.database, { ...options, username: role, password })
  const pools = createPools(make, timeoutMs, logger)
  t.teardown(async () => {
    await endPools(pools)
    await admin.unsafe(`drop owned by ${role}`)
    await admin.unsafe(`drop role ${role}`)
  })
  return { pools, role, log }
}

async function countOf(admin: RootSql, role: string): Promise<number> {
  const [row] = await admin`select count(*)::int as count from pg_stat_activity where usename = ${role}`
  return row?.count
}

async function disconnect(admin: RootSql, role: string): Promise<void> {
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`
  await until(async () => (await countOf(admin, role)) === 0)
}

const refusals = (log: readonly Record<string, unknown>[]) =>
  log.map(({ msg }) => msg).filter((msg) => String(msg).startsWith('database '))

t.test('an instance serves with fewer connections than it may open', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role, log } = await openAs(t, admin, 3)
  const service = await startService(t, { sql: admin, pools })
  const call = (i: number) =>
    i % 2 === 0
      ? service.call('GET', '/pets')
      : service.call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })
  // Creations that wait for a lock need connections of their own.
  const held = await holdInserts(admin)
  const calls: ReturnType<typeof call>[] = []
  await until(() => {
    calls.push(call(calls.length))
    return refusals(log).length > 0
  })
  await held.release()
  for (let round = 0; round < 3; round++) calls.push(...Array.from({ length: 20 }, (_, i) => call(i)))
  const answers = await Promise.all(calls)
  t.strictSame([...new Set(answers.map(({ status }) => status))].sort(), [200, 201])
  await untilReady(service.origin)
  t.equal(await countOf(admin, role), 3)
  t.strictSame(refusals(log), ['database refuses connections'], 'logged once')

  t.test('and opens more when it can', async (t) => {
    await admin.unsafe(`alter role ${role} connection limit 20`)
    const held = await holdInserts(admin)
    const creations: Promise<unknown>[] = []
    await until(async () => {
      creations.push(call(1))
      return (await countOf(admin, role)) > 3
    })
    await held.release()
    await Promise.all(creations)
    await until(() => refusals(log).length > 1)
    t.strictSame(refusals(log), ['database refuses connections', 'database accepts connections again'])
  })
})

const sleep = (sql: Sql) => sql`select pg_sleep(0.5)`.execute()

function active({ keys, reads, writes }: Pools): number[] {
  return [keys, reads, writes].map(({ counts }) => counts.active)
}

t.test('the write pool cedes a connection to each of the other pools', async (t) => {
  const admin = await createDatabase(t)
  const { pools } = await openAs(t, admin, 3)
  await Promise.all(Array.from({ length: 3 }, () => sleep(pools.writes.sql)))
  const busy = Promise.all(Array.from({ length: 6 }, () => sleep(pools.writes.sql)))
  t.match(await pools.keys.sql`select 1 as one`, [{ one: 1 }])
  t.match(await pools.reads.sql`select 2 as two`, [{ two: 2 }])
  await busy
  t.match(await pools.writes.sql`select 3 as three`, [{ three: 3 }])
  t.strictSame(active(pools), [1, 1, 1])
})

t.test('a pool whose only connection is lost to another client gets one of the write pool', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role, log } = await openAs(t, admin, 4)
  const keys = pools.keys.sql
  const [row] = await keys<{ pid: number }[]>`select pg_backend_pid() as pid`
  await pools.reads.sql`select 1`
  await Promise.all([sleep(pools.writes.sql), sleep(pools.writes.sql)])
  await until(() => pools.writes.counts.active === 2)
  await admin`select pg_terminate_backend(${row?.pid ?? 0}, 10000)`
  const { options } = pools.keys.options.make({ max: 1, onclose: () => {}, socket: undefined as never })
  const other = connectTo(await readCluster(), admin.options.database, {
    ...{ username: role, password: String(options.pass), max: 1 },
  })
  t.teardown(() => other.end())
  await other`select 1`
  t.match(await keys`select 1 as one`, [{ one: 1 }])
  t.strictSame(active(pools), [1, 1, 1])
  t.strictSame(refusals(log), ['database refuses connections'], 'there are no more than at the refusal')
})

for (const limit of [0, 1, 2])
  t.test(
    `with a limit of ${limit} a pool without a connection fails at once, and is served later`,
    async (t) => {
      const admin = await createDatabase(t)
      const { pools, role, log } = await openAs(t, admin, limit)
      const each = [pools.keys, pools.reads, pools.writes]
      const codes = async () => {
        const settled = await Promise.allSettled(each.map(({ sql }) => sql`select 1`.execute()))
        return settled.map((one) => (one.status === 'rejected' ? one.reason.code : 'served'))
      }
      // The pool for keys comes first, then that for reads.
      const expected = [...Array(limit).fill('served'), ...Array(3 - limit).fill('53300')]
      const timely = async () => {
        const startedAt = performance.now()
        const found = await codes()
        t.ok(performance.now() - startedAt < handlerTimeoutMs, 'before the request times out')
        return found
      }
      // Of two simultaneous connections, PostgreSQL may refuse both although there is a place for one. And
      // while pools cede places, one of them may briefly have a place.
      const hasSettled = () => refusals(log).at(-1) === 'database refuses connections'
      await until(async () => (await timely()).join() === expected.join() && hasSettled())
      const logged = refusals(log)
      for (let i = 0; i < 3; i++) t.strictSame(await timely(), expected)
      t.strictSame(refusals(log), logged, 'nothing changes any more')
      await admin.unsafe(`alter role ${role} connection limit 3`)
      await until(async () => (await codes()).every((code) => code === 'served'))
      await until(() => refusals(log).length > logged.length)
      t.equal(refusals(log)[logged.length], 'database accepts connections again')
    },
  )

t.test('with two connections reads are served, whatever had them before', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role } = await openAs(t, admin, 2)
  const service = await startService(t, { sql: admin, pools, env: { METRICS_PORT: '9464' } })
  const metrics = await listenForScrapes(service)
  const create = () => service.call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })
  const reads = async () => (await service.call('GET', '/pets')).status
  await create() // takes a connection for keys and one for writes
  const creations = Array.from({ length: 4 }, async () => {
    for (let i = 0; i < 20; i++) t.match(await create(), { status: /^(201|503)$/ })
  })
  await until(async () => (await reads()) === 200)
  for (let i = 0; i < 20; i++) t.equal(await reads(), 200, 'beside creations that want the place')
  await Promise.all(creations)
  t.equal((await create()).status, 503)
  const { status, body } = await send(`${service.origin}/readyz`)
  t.match([status, body], [200, { status: 'degraded', cause: 'connections' }])
  t.equal((await scrape(metrics)).get('animal_store_ready{cause="connections"}'), 1)

  await t.test('and with one the instance is not ready', async () => {
    await admin.unsafe(`alter role ${role} connection limit 1`)
    await disconnect(admin, role)
    await until(async () => (await send(`${service.origin}/readyz`)).status === 503)
    await until(async () => (await scrape(metrics)).get('animal_store_ready{cause="connections"}') === 0)
  })

  await t.test('and with three all is served again', async () => {
    await admin.unsafe(`alter role ${role} connection limit 3`)
    await until(async () => (await create()).status === 201)
    await until(async () => (await scrape(metrics)).get('animal_store_ready{cause="none"}') === 1)
  })
})

t.test('a role that may no longer log in', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role } = await openAs(t, admin, -1)
  const service = await startService(t, { sql: admin, pools, env: { METRICS_PORT: '9464' } })
  const metrics = await listenForScrapes(service)
  const ready = async () => (await fetch(`${service.origin}/readyz`)).status
  await until(async () => (await ready()) === 200)
  await admin.unsafe(`alter role ${role} nologin`)

  t.test('is served by its open connections', async (t) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.call('GET', '/pets')))
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200])
    await until(async () => (await ready()) === 200)
  })

  t.test('gets 503 once they are closed, and the instance is not ready', async (t) => {
    await disconnect(admin, role)
    await until(async () => (await ready()) === 503)
    const answer = await service.call('GET', '/pets')
    t.match(answer, { status: 503, body: { code: 'unavailable' } })
    t.equal(answer.headers.get('retry-after'), '1')
    t.equal(await ready(), 503)
    t.equal((await scrape(metrics)).get('animal_store_ready{cause="login"}'), 0)
  })

  t.test('is served again once it may log in', async (t) => {
    await admin.unsafe(`alter role ${role} login`)
    await until(async () => (await ready()) === 200)
    t.equal((await service.call('GET', '/pets')).status, 200)
  })
})

interface Outage {
  readonly code: string
  readonly title: string
  /** The cause that `animal_store_ready` names. */
  readonly cause: string
  /** True if reads are served, so that /readyz responds 200. */
  readonly isReady: boolean
  readonly start: (role: string, database: string) => string
  readonly end: (role: string, database: string) => string
}

const rename = (from: string, to: string) => () => `alter table ${from} rename to ${to}`
const isolation = (table: string, state: string) => () => `alter table ${table} ${state} row level security`
const reconnect = (role: string) =>
  `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`

const outages: readonly Outage[] = [
  {
    ...{ code: '42P01', title: 'a table is missing', cause: 'schema', isReady: false },
    start: rename('pets', 'away'),
    end: rename('away', 'pets'),
  },
  {
    ...{ code: '42703', title: 'a column is missing', cause: 'schema', isReady: false },
    start: () => 'alter table pets rename name to other',
    end: () => 'alter table pets rename other to name',
  },
  {
    ...{ code: '42P01', title: 'the stored responses are missing', cause: 'schema', isReady: true },
    start: rename('idempotent_answers', 'away'),
    end: rename('away', 'idempotent_answers'),
  },
  {
    ...{ code: '42501', title: 'the role may not write', cause: 'privileges', isReady: true },
    start: (role) => `revoke insert on pets from ${role}`,
    end: (role) => `grant insert on pets to ${role}`,
  },
  {
    ...{ code: '42501', title: 'the role may not read keys', cause: 'privileges', isReady: false },
    start: (role) => `revoke select on api_keys from ${role}`,
    end: (role) => `grant select on api_keys to ${role}`,
  },
  {
    ...{ code: '42501', title: 'row-level security is on for animals', cause: 'privileges', isReady: false },
    start: isolation('pets', 'enable'),
    end: isolation('pets', 'disable'),
  },
  {
    ...{ code: '42501', title: 'row-level security is on for keys', cause: 'privileges', isReady: false },
    start: isolation('api_keys', 'enable'),
    end: isolation('api_keys', 'disable'),
  },
  {
    ...{ code: '42501', title: 'row-level security is on for stored responses', cause: 'privileges' },
    isReady: true,
    start: isolation('idempotent_answers', 'enable'),
    end: isolation('idempotent_answers', 'disable'),
  },
  {
    ...{ code: '25006', title: 'the database is read-only', cause: 'read_only', isReady: true },
    start: (role) => `alter role ${role} set default_transaction_read_only = on; ${reconnect(role)}`,
    end: (role) => `alter role ${role} reset default_transaction_read_only; ${reconnect(role)}`,
  },
  {
    ...{ code: '55000', title: 'the database accepts no connections', cause: 'unreachable', isReady: false },
    start: (role, database) => `alter database ${database} allow_connections false; ${reconnect(role)}`,
    end: (_, database) => `alter database ${database} allow_connections true`,
  },
]

t.test('an outage that someone has to mend', async (t) => {
  const admin = await createDatabase(t)
  const { pools, role } = await openAs(t, admin, -1, 10_000) // a limit that ends statements on locked tables
  const maintenance = connectTo(await readCluster(), undefined, { max: 1 })
  t.teardown(() => maintenance.end())
  const service = await startService(t, { sql: admin, pools, env: { METRICS_PORT: '9464' } })
  const metrics = await listenForScrapes(service)
  const body = { name: 'Rex', categoryId: 1 }
  let count = 0
  const requests = async () => {
    const headers = { 'idempotency-key': `key-${count++}` }
    return [
      await service.call('GET', '/pets', { headers: { authorization: `Bearer ${createApiKey()}` } }),
      await service.call('POST', '/pets', { body, headers }),
      await service.call('POST', '/pets', { body }),
      await service.call('GET', '/pets/1'),
    ]
  }
  const ready = async () => {
    const { status, body } = await send(`${service.origin}/readyz`)
    return [status, status === 503 ? undefined : (body as { cause?: string }).cause]
  }
  const well = async () => {
    const [status, cause] = await ready()
    return status === 200 && cause === undefined
  }
  const reported = async (cause: string) =>
    (await scrape(metrics)).get(`animal_store_ready{cause="${cause}"}`)
  const statuses = async () => (await requests()).map(({ status }) => status)
  const wellServed = [401, 201, 201, 200]
  t.strictSame(await statuses(), wellServed)
  t.strictSame(await ready(), [200, undefined])
  for (const { code, title, cause, isReady, start, end } of outages)
    await t.test(`${title} (${code}): 503 for what needs it, ${isReady ? '' : 'not '}ready`, async (t) => {
      const database = String(admin.options.database)
      const sql = code === '55000' ? maintenance : admin
      await sql.unsafe(start(role, database))
      const answers = await requests()
      const failed = answers.filter(({ status }, i) => status !== wellServed[i])
      t.not(failed.length, 0)
      for (const { status, body, headers } of failed)
        t.match([status, body.code, headers.get('retry-after')], [503, 'unavailable', '1'])
      if (isReady) t.equal(answers[3]?.status, 200, 'reads are served')
      t.ok(
        service.log.some(
          ({ msg, err }) => msg === 'request failed' && (err as { code?: string })?.code === code,
        ),
      )
      t.strictSame(await ready(), isReady ? [200, cause] : [503, undefined])
      t.equal(await reported(cause), isReady ? 1 : 0)
      await sql.unsafe(end(role, database))
      await until(well)
      await until(async () => (await statuses()).join() === wellServed.join()) // served again
    })

  await t.test('the migrations cannot be found: all is served, and the instance is ready', async (t) => {
    await admin`alter table schema_migrations rename to away`
    t.strictSame(await statuses(), wellServed)
    t.strictSame([await ready(), await reported('schema')], [[200, 'schema'], 1])
    await admin`alter table away rename to schema_migrations`
    await until(well)
  })

  await t.test('a table is locked against writes: reads are served, and the instance is ready', async (t) => {
    const held = await holdInserts(admin)
    t.strictSame(await ready(), [200, 'slow'], 'whoever asks is not kept waiting')
    await until(async () => (await ready())[1] === 'no_answer')
    t.strictSame([await ready(), await ready()], Array(2).fill([200, 'no_answer']))
    const waiting = async () => {
      const statements = await admin`
        select query from pg_locks join pg_stat_activity using (pid)
        where not granted and relation = 'pets'::regclass and datname = current_database()`
      return statements.length
    }
    const asked: Promise<unknown>[] = []
    let most = 0
    await until(async () => {
      asked.push(ready()) // a check that is about to end has no waiting statement
      most = await waiting()
      return most > 0
    })
    t.equal(most, 1, 'one statement of probes waits')
    await Promise.all(asked)
    t.equal(await reported('no_answer'), 1)
    t.equal((await service.call('GET', '/pets/1')).status, 200)
    await held.release()
    await until(well)
  })

  await t.test('a table is locked against all: the instance is not ready', async (t) => {
    const held = await holdPets(admin)
    await until(async () => (await ready())[0] === 503)
    t.strictSame([await ready(), await reported('no_answer')], [[503, undefined], 0])
    await held.release()
    await until(well)
  })
})

t.test('a column type that changes under a warm service fails no request', async (t) => {
  const admin = await createDatabase(t)
  const service = await startService(t, { sql: admin })
  const create = (i: number, key?: string) =>
    service.call('POST', '/pets', {
      headers: key === undefined ? {} : { 'idempotency-key': `${key}-${i}` },
      body: { name: 'Rex', categoryId: 1 },
    })
  const all = async (key?: string) => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => create(i, key)))
    return [...new Set(answers.map(({ status }) => status))]
  }
  for (const type of ['varchar(300)', 'text']) {
    t.strictSame([await all(), await all(`before-${type}`)], [[201], [201]])
    await admin.unsafe(`alter table pets alter column name type ${type}`)
    // Alone first, because a failed batch is repeated anyway.
    const alone = [await service.call('GET', '/pets/1'), await create(0, `alone-${type}`), await create(0)]
    const statuses = alone.map(({ status }) => status)
    t.strictSame([statuses, await all(), await all(`after-${type}`)], [[200, 201, 201], [201], [201]])
  }
  t.match(await admin`select count(*)::int as n, count(distinct name)::int as names from pets`, [
    { n: 324, names: 1 },
  ])
})

t.test('retiring healthy connections fails no request', async (t) => {
  const admin = await createDatabase(t)
  const { pools } = await openAs(t, admin, -1)
  const service = await startService(t, { sql: admin, pools })
  const create = (i: number) =>
    service.call('POST', '/pets', {
      headers: { 'idempotency-key': `key-${i}-of-them` },
      body: { name: 'Rex', categoryId: 1 },
    })
  const statuses: number[] = []
  const callers = Array.from({ length: 40 }, async (_, i) => {
    statuses.push((await create(i)).status)
    for (const pool of [pools.keys, pools.reads, pools.writes]) {
      pool.retireAll()
      pool.retireOne()
    }
  })
  await Promise.all(callers)
  t.strictSame([...new Set(statuses)], [201])
})
