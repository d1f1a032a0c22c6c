import type { Socket } from 'node:net'
import { RequestError } from 'contract-engine'
import { connectTo, readCluster, silent } from 'contract-service/fixtures/cluster'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { createApiKey } from 'contract-service/internal/auth/api-key'
import { connect } from 'contract-service/internal/database/connect'
import type { Sql } from 'contract-service/internal/database/database'
import { socketOption } from 'contract-service/internal/database/driver/socket'
import { transact } from 'contract-service/internal/database/driver/transaction'
import { newerSetting, requestSettings, sessionSettings } from 'contract-service/internal/database/pools'
import { isUnavailable } from 'contract-service/internal/database/unavailable'
import { untilReady } from 'contract-testing/until'
import t from 'tap'
import { createDatabase, openPools, send, startService, testConfig } from '../fixtures/service.js'

const cases: [code: unknown, expected: boolean, title: string][] = [
  ['ECONNREFUSED', true, 'a refused connection'],
  ['CONNECT_TIMEOUT', true, 'a connection timeout'],
  ['CONNECTION_CLOSED', true, 'a closed connection'],
  ['08006', true, 'a connection failure'],
  ['53300', true, 'too many connections'],
  ['57014', true, 'a statement timeout'],
  ['57P01', true, 'a shutdown'],
  ['57P03', true, 'a startup'],
  ['25006', true, 'a write on a standby'],
  ['28P01', true, 'a changed password'],
  ['28000', true, 'a role without LOGIN'],
  ['EMFILE', true, 'too many open files'],
  ['3D000', true, 'a database that is gone'],
  ['25P04', true, 'a transaction timeout'],
  ['55P03', true, 'a lock timeout'],
  ['XX000', true, 'an internal error of PostgreSQL'],
  ['23505', false, 'a unique violation'],
  ['22003', false, 'a number out of range'],
  ['25P02', false, 'a transaction that failed before'],
  ['42601', false, 'a syntax error'],
  ['0A000', false, 'what PostgreSQL does not support'],
  ['P0001', false, 'an exception of a trigger'],
  ['ERR_INVALID_ARG_TYPE', false, 'a fault of the code'],
  [undefined, false, 'any other error'],
  [42, false, 'a code that is not a string'],
]

for (const [code, expected, title] of cases) {
  t.test(`${title} (${code}) is ${expected ? 'an outage' : 'not an outage'}`, async (t) => {
    t.equal(isUnavailable(Object.assign(new Error('test'), { code })), expected)
  })
}

t.test('an error of a handler is no outage, whatever its code', async (t) => {
  for (const code of ['TAKEN', 'EXISTS', 'CONNECTED'])
    t.equal(isUnavailable(new RequestError(code, 'No.', { status: 409 })), false, code)
})

t.test('while the database is unavailable', async (t) => {
  const sql = await createDatabase(t)
  const proxy = await startDatabaseProxy(t, sql)
  const pools = await openPools(t, sql, testConfig(), proxy)
  const service = await startService(t, { sql, pools })
  await service.call('GET', '/pets')
  proxy.admit(false)

  t.test('a request with a cached key gets 503 with Retry-After', async (t) => {
    const answer = await service.call('GET', '/pets')
    t.match(answer, {
      status: 503,
      body: { code: 'unavailable', message: 'Service Unavailable. Try again in 1 second.', status: 503 },
    })
    t.equal(answer.headers.get('retry-after'), '1')
    t.equal((await service.call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })).status, 503)
  })

  t.test('so does a request with an unknown key, and not 401', async (t) => {
    const answer = await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${createApiKey()}` })
    t.match(answer, { status: 503, body: { code: 'unavailable' } })
    t.equal(answer.headers.get('www-authenticate'), null)
  })

  t.test('a request without a key, or with a malformed one, gets 401', async (t) => {
    t.equal((await send(`${service.base}/pets`)).status, 401)
    t.equal((await send(`${service.base}/pets`, 'GET', { authorization: 'Bearer ask_x' })).status, 401)
  })

  t.test('the service is live but not ready', async (t) => {
    t.equal((await send(`${service.origin}/healthz`)).status, 200)
    t.match(await send(`${service.origin}/readyz`), { status: 503, body: { code: 'unavailable' } })
  })

  t.test('the service recovers when the database is back', async (t) => {
    proxy.admit(true)
    await untilReady(service.origin)
    t.equal((await service.call('GET', '/pets')).status, 200)
  })
})

t.test('every query settles when its connection fails with an error', async (t) => {
  const cluster = await readCluster()
  for (const max of [1, 3]) {
    const sockets: Socket[] = []
    const socket = (target: Parameters<typeof socketOption.socket>[0]) => {
      const created = socketOption.socket(target)
      sockets.push(created)
      return created
    }
    const sql = connectTo(cluster, undefined, { max, backoff: () => 0.01, ...{ socket } })
    await Promise.all(Array.from({ length: max }, () => sql`select pg_sleep(0.01)`))
    const broken = Array.from({ length: max }, () =>
      sql`select pg_sleep(60)`.catch(() => sql`select 1 as one`),
    )
    for (const each of sockets) each.destroy(Object.assign(new Error('broken'), { code: 'EPIPE' }))
    const settled = await Promise.all(
      broken.map((query) =>
        query.then(
          () => true,
          () => true,
        ),
      ),
    )
    t.equal(settled.length, max)
    t.match(await sql`select 1 as one`, [{ one: 1 }], `a pool of ${max} works again`)
    await sql.end({ timeout: 1 })
  }
})

t.test('no connection is closed for its age or idleness, whatever the URL sets', async (t) => {
  const proxy = await startDatabaseProxy(t, await createDatabase(t))
  const databaseUrl = `${proxy.url}?max_lifetime=0.2&idle_timeout=0.2`
  const database = await connect({ ...testConfig(), databaseUrl }, silent)
  t.teardown(() => database.close())
  const { writes, reads } = database.pools
  // In total five times the URL's limits.
  const statement = (sql: Sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid, pg_sleep(0.05)`
  const callers = Array.from({ length: 16 }, async (_, i) => {
    const pids: number[] = []
    for (let n = 0; n < 20; n++) {
      const [row] =
        i % 2 === 0
          ? await statement(reads.sql)
          : await writes.hold(undefined, (held) => transact(held, undefined, (sql) => statement(sql)))
      pids.push(row?.pid ?? 0)
    }
    return pids
  })
  const pids = new Set((await Promise.all(callers)).flat())
  t.equal(pids.size, 8 + 2, 'each connection keeps its backend')
})

t.test('variables that postgres.js reads from the environment have no effect on a connection', async (t) => {
  const { url: databaseUrl } = await startDatabaseProxy(t, await createDatabase(t))
  const { env } = process
  t.teardown(() => {
    process.env = env
  })
  const optionsWith = async (variables: Record<string, string>) => {
    process.env = { ...env, ...variables }
    const database = await connect({ ...testConfig(), databaseUrl }, silent)
    await database.close()
    return JSON.stringify(database.sql.options, null, 1)
  }
  const names = ['MAX', 'SSL', 'IDLE_TIMEOUT', 'CONNECT_TIMEOUT', 'MAX_LIFETIME', 'MAX_PIPELINE', 'BACKOFF']
  const others = ['KEEP_ALIVE', 'PREPARE', 'DEBUG', 'FETCH_TYPES', 'APPNAME']
  const variables = Object.fromEntries([...names, ...others].map((name) => [`PG${name}`, '7']))
  t.equal(await optionsWith(variables), await optionsWith({}))
})

t.test('the request settings are on every connection for requests, and on no other', async (t) => {
  const dataDir = dataDirectory(t)
  const database = await connect(testConfig({ DATA_DIR: dataDir }), silent)
  t.teardown(() => database.close())
  const settingsOf = async (sql: Sql) => {
    const rows = await sql<{ name: string; setting: string }[]>`
      select name, setting from pg_settings
      where name = any(${Object.keys(requestSettings)}) and source = 'client'`
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  }
  const { keys, reads, writes } = database.pools
  for (const { sql } of [keys, reads, writes])
    for (const settings of await Promise.all(Array.from({ length: 10 }, () => settingsOf(sql))))
      t.strictSame(settings, requestSettings)
  t.strictSame(await settingsOf(database.sql), {})
})

t.test('settings of the database do not affect the service', async (t) => {
  const sql = await createDatabase(t)
  const others = {
    DateStyle: 'SQL, DMY',
    IntervalStyle: 'sql_standard',
    TimeZone: 'Asia/Kathmandu',
    extra_float_digits: '-3',
    bytea_output: 'escape',
    default_transaction_isolation: 'serializable',
    idle_session_timeout: '60s',
    lock_timeout: '60s',
    row_security: 'on',
    transaction_timeout: '60s',
  } satisfies Record<keyof typeof sessionSettings | keyof typeof newerSetting, string>
  const known = (await sql<{ name: string }[]>`select name from pg_settings`).map(({ name }) => name)
  const supported = (settings: object) => Object.entries(settings).filter(([name]) => known.includes(name))
  for (const [name, value] of supported(others))
    await sql.unsafe(`alter database ${sql.options.database} set ${name} = '${value}'`)
  const service = await startService(t, { sql })
  const { key } = await service.createKey({ expiresAt: new Date(Date.now() - 1) })
  t.equal((await service.call('GET', '/pets', { headers: { authorization: `Bearer ${key}` } })).status, 401)
  const create = () =>
    service.call('POST', '/pets', {
      headers: { 'idempotency-key': 'a' },
      body: { name: 'Rex', categoryId: 1 },
    })
  const first = await create()
  t.match(await create(), { status: 201, text: first.text })
  const pools = await openPools(t, sql)
  for (const [name, value] of supported({ ...sessionSettings, ...newerSetting })) {
    const [row] = await pools.writes.sql<{ setting: string }[]>`select current_setting(${name}) as setting`
    t.match(row?.setting, new RegExp(`^${value}`), name)
  }
})

t.test('a database with an encoding other than UTF8 is rejected', async (t) => {
  const cluster = await readCluster()
  const admin = connectTo(cluster, undefined)
  const name = `${cluster.template}_latin1`
  await admin`create database ${admin(name)}
    template template0 encoding 'LATIN1' locale_provider libc locale 'C'`
  t.teardown(async () => {
    await admin`drop database ${admin(name)} with (force)`
    await admin.end()
  })
  const { url } = await startDatabaseProxy(t, connectTo(cluster, name))
  await t.rejects(connect({ ...testConfig(), databaseUrl: url }, silent), {
    message: `The database "${name}" has the encoding LATIN1, but must have UTF8.\nCreate one with: create database NAME template template0 encoding 'UTF8'`,
  })
})

t.test('prepare=false in the URL declares a pooler', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  for (const [prepare, isPooled] of [
    ['', false],
    ['?prepare=false', true],
  ] as const) {
    const databaseUrl = `${url}${prepare}`
    const database = await connect({ ...testConfig(), databaseUrl }, silent)
    t.teardown(() => database.close())
    t.equal(database.isPooled, isPooled)
    for (const sql of [database.sql, database.pools.reads.sql]) {
      await sql`select ${1}::integer`
      const prepared = await sql`select name from pg_prepared_statements where statement like '%::integer'`
      t.equal(prepared.length, isPooled ? 0 : 1)
    }
    const [row] = await database.pools.reads.sql<{ isSet: boolean }[]>`
      select source = 'client' as "isSet" from pg_settings where name = 'statement_timeout'`
    t.equal(row?.isSet, !isPooled)
  }
})
