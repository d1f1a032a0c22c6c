import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { silent } from 'contract-service/fixtures/cluster'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import type { Config } from 'contract-service/internal/config'
import { connect } from 'contract-service/internal/database/connect'
import type { Database, Sql } from 'contract-service/internal/database/database'
import type { Pool } from 'contract-service/internal/database/driver/pool'
import { readDatabaseUrl } from 'contract-service/internal/database/servers'
import { isUnavailable } from 'contract-service/internal/database/unavailable'
import { measureReplicationLag, measureStalls } from 'contract-service/internal/telemetry/database-metrics'
import { DatabaseProxy } from 'contract-service/tools/lib/database-proxy'
import { until, untilReady } from 'contract-testing/until'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { Replication, urlOf } from '../../scripts/faults/replication.js'
import { composeEnvironment } from '../fixtures/compose.js'
import { createDatabase, type Service, send, startService, testConfig } from '../fixtures/service.js'

// Starts a primary and its standby, with the service's tables on both.
async function startReplication(t: Test): Promise<Replication> {
  const replication = await Replication.start(dataDirectory(t))
  t.teardown(() => replication.close())
  await use(t, urlOf(replication.primary))
  await replication.caughtUp()
  return replication
}

async function use(
  t: Test,
  databaseUrl: string,
  startTimeoutMs = 0,
  { log = silent, ...others }: Partial<Config> & { readonly log?: Logger } = {},
): Promise<Database> {
  const database = await connect({ ...testConfig(), databaseUrl, startTimeoutMs, ...others }, log)
  t.teardown(() => database.close(AbortSignal.abort()))
  return database
}

async function serve(t: Test, { sql, pools }: Database) {
  const service = await startService(t, { sql, pools })
  const acknowledged: string[] = []
  let count = 0
  const create = async () => {
    const name = `Rex ${count++}`
    const { status } = await service.call('POST', '/pets', { body: { name, categoryId: 1 } })
    if (status === 201) acknowledged.push(name)
    return status
  }
  const areFound = async (sql: Sql) => {
    const names = (await sql<{ name: string }[]>`select name from pets`).map(({ name }) => name)
    return acknowledged.every((name) => names.includes(name))
  }
  return { ...service, acknowledged, create, areFound }
}

async function portOf(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ port: number }[]>`select current_setting('port')::int as port`
  return row?.port
}

const ready = async ({ origin }: Service) => (await send(`${origin}/readyz`)).status
/** The cause that degrades the service while it is ready. */
const degradedBy = async ({ origin }: Service) => {
  const { status, body } = await send(`${origin}/readyz`)
  return [status, (body as { cause?: string }).cause]
}

t.test('a primary and its standby', async (t) => {
  const replication = await startReplication(t)
  const { primary, standby, url } = replication

  t.test('the service does not start on the standby alone', async (t) => {
    for (const attributes of ['any', 'primary', 'read-write'])
      await t.rejects(use(t, `${urlOf(standby)}?target_session_attrs=${attributes}`), {
        name: 'OperatorError',
        message: new RegExp(
          `^Cannot use database "postgres" at 127\\.0\\.0\\.1:${standby.port}: 127\\.0\\.0\\.1:${standby.port} is a standby\n`,
        ),
      })
  })

  t.test('the primary is found at any position in the URL', async (t) => {
    const unreachable = { host: '127.0.0.1', port: 1 }
    for (const servers of [
      [primary],
      [standby, primary],
      [unreachable, standby, primary],
      [primary, unreachable],
    ]) {
      const { sql, pools } = await use(t, urlOf(...servers))
      for (const each of [sql, pools.keys.sql, pools.reads.sql, pools.writes.sql])
        t.equal(await portOf(each), primary.port)
    }
    const byParameters = `postgres://postgres@/postgres?host=127.0.0.1,127.0.0.1&port=${standby.port},${primary.port}`
    t.equal(await portOf((await use(t, byParameters)).sql), primary.port)
  })

  t.test('a startup without a primary reports the error of each server', async (t) => {
    const [one, other] = [1, standby.port]
    await t.rejects(use(t, urlOf({ host: '127.0.0.1', port: one }, standby)), {
      name: 'OperatorError',
      message: new RegExp(
        `^Cannot use .* at 127\\.0\\.0\\.1:1, 127\\.0\\.0\\.1:${other}: .*ECONNREFUSED.*; .*:${other} is a standby`,
      ),
    })
  })

  // Each way to give a password, and the cases of SASLprep: it maps a space, removes a character, normalizes
  // two others, leaves one as it is, and has no form for a control character.
  t.test('passwords are used in the form of SASLprep, or as they are', async (t) => {
    const { sql } = primary
    const lines = 'host all scram 127.0.0.1/32 scram-sha-256\nhost all md5 127.0.0.1/32 md5'
    await sql.unsafe(`copy (select string_to_table('${lines}', E'\n'))
      to program 'cat - pg_hba.conf > new.conf && cat new.conf > pg_hba.conf'`)
    await sql`select pg_reload_conf()`
    await sql.unsafe('create role scram login; create role md5 login')
    await sql.unsafe('grant pg_read_all_data to scram, md5')
    const base = `127.0.0.1:${primary.port}/postgres`
    const log = pino({ level: 'trace' }, { write: (line) => t.notMatch(line, /caf|%CC|Ⅷ/) })
    t.teardown(() => delete process.env.PGPASSWORD)
    const passwords = ['caf\u00a0b', 'caf\u00adb', 'caf\u2168', 'cafe\u0301', 'caf\u00e9', 'caf\u0007é']
    for (const password of passwords)
      for (const role of ['scram', 'md5']) {
        await sql.unsafe(`set password_encryption = '${role === 'md5' ? role : 'scram-sha-256'}'`)
        await sql.unsafe(`alter role ${role} password '${password}'`)
        const encoded = encodeURIComponent(password)
        for (const url of [
          `postgres://${role}:${encoded}@${base}`,
          `postgres://${base}?user=${role}&password=${encoded}`,
        ]) {
          const { pools, sql: commands } = await use(t, url, 0, { log, databaseReadUrl: url })
          for (const each of [pools.keys.sql, pools.reads.sql, commands])
            t.match(await each`select current_user as role`, [{ role }])
        }
        process.env.PGPASSWORD = password
        await use(t, `postgres://${role}@${base}`, 0, { log })
        delete process.env.PGPASSWORD
        await t.rejects(use(t, `postgres://${role}:${encoded}x@${base}`), {
          message: new RegExp(
            `at 127.0.0.1:${primary.port}: password authentication failed for user "${role}"\nCorrect`,
          ),
        })
      }
  })

  t.test('a password in a file is read for each connection, so that it can be rotated', async (t) => {
    const { sql } = primary
    const file = path.join(temporaryDirectory(t), 'passwords')
    const lines = 'host all filed 127.0.0.1/32 scram-sha-256'
    await sql.unsafe(
      `copy (select '${lines}') to program 'cat - pg_hba.conf > new.conf && cat new.conf > pg_hba.conf'`,
    )
    await sql`select pg_reload_conf()`
    await sql.unsafe(`set password_encryption = 'scram-sha-256'`)
    await sql.unsafe('create role filed login; grant pg_read_all_data to filed')
    const rotate = (password: string) => sql.unsafe(`alter role filed password '${password}'`)
    const write = (password: string) => writeFileSync(file, `*:*:*:filed:${password}\n`)
    const url = `postgres://filed@127.0.0.1:${primary.port}/postgres?passfile=${file}`
    await rotate('caf\u2168')
    write('caf\u2168')
    const { pools } = await use(t, url, 0, { databaseReadUrl: url })
    const reconnect = async (pool: Pool) => {
      pool.retireAll()
      const [row] = await pool.sql<{ role: string }[]>`select current_user as role`
      return row?.role
    }
    for (const pool of [pools.keys, pools.reads, pools.writes]) t.equal(await reconnect(pool), 'filed')
    await rotate('another')
    await t.rejects(reconnect(pools.writes), { code: '28P01' }, 'the file has the old one')
    write('another')
    await until(() =>
      reconnect(pools.writes).then(
        (role) => role === 'filed',
        () => false,
      ),
    )
    t.equal(await reconnect(pools.reads), 'filed')
    writeFileSync(file, '*:*:*:somebody:another\n')
    const place = `127.0.0.1:${primary.port}:postgres:filed`
    await t.rejects(reconnect(pools.writes), {
      message: `(DATABASE_URL: passfile: ${file} has no line for ${place})`,
    })
    await t.rejects(use(t, `${url}-gone`), {
      message: /password authentication failed.*\(DATABASE_URL: passfile cannot be read: ENOENT.*-gone'\)/,
    })
    const trusting = url.replace('filed@', 'postgres@')
    await t.resolves(use(t, `${trusting}-gone`), 'a server that asks for no password gets none')
    await t.rejects(use(t, url.replace('filed@', 'filed:wrong@')), {
      message: /password authentication failed/,
    })
  })

  t.test('the containers of docker-compose.yml take passwords of any characters', async (t) => {
    const { sql, port } = primary
    await sql.unsafe(`copy (values ('host all animal_store,animal_store_service 127.0.0.1/32 scram-sha-256'))
      to program 'cat - pg_hba.conf > new.conf && cat new.conf > pg_hba.conf'`)
    await sql`select pg_reload_conf()`
    const passwords = { POSTGRES_PASSWORD: `p@ss/w#rd%? ü'$`, SERVICE_PASSWORD: '$x:$y@5/"\\' }
    await sql.unsafe(`set password_encryption = 'scram-sha-256';
      create role animal_store superuser login password 'p@ss/w#rd%? ü''$'`)
    await sql.unsafe('create database animal_store owner animal_store')
    const environment = (name: string) => {
      const { REDIS_URL, METRICS_PORT, ...own } = composeEnvironment(name, passwords)
      const moved = Object.entries(own).map(([name, text]) => [
        name,
        text.replace('@database:5432', `@127.0.0.1:${port}`),
      ])
      return Object.fromEntries(moved) as Record<string, string>
    }
    const migrated = await runProgram('commands/migrate.ts', [], environment('migrations'))
    t.match(migrated, { code: 0, stderr: '' })
    const service = await startProcess(t, { ...environment('service'), LOG_LEVEL: 'trace' })
    await untilReady(service.base)
    const { stdout, stderr } = await service.stop()
    const wrong = { ...environment('service'), PGPASSWORD: passwords.POSTGRES_PASSWORD, PORT: '0' }
    const refused = await runProgram('src/main.ts', [], wrong)
    t.match(refused, { code: 1, stderr: /password authentication failed/ })
    for (const text of [migrated.stdout, stdout, stderr, refused.stdout, refused.stderr])
      t.notMatch(text, /ss\/w|p@ss|\$x:/, 'and never log them')
  })

  t.test('parameters of libpq do not stop the startup', async (t) => {
    const ignored = {
      ...{
        channel_binding: 'require',
        client_encoding: 'LATIN1',
        connect_timeout: '0',
        gssencmode: 'prefer',
      },
      ...{ keepalives_count: '3', keepalives_interval: '9', krbsrvname: 'postgres', replication: 'false' },
      ...{ load_balance_hosts: 'random', max_protocol_version: '3.2', require_auth: 'none' },
      ...{ requirepeer: 'x', service: 'x', sslcertmode: 'allow', sslcompression: '0', sslsni: '1' },
      ...{
        oauth_issuer: 'https://x',
        scram_client_key: 'secret',
        sslkeylogfile: '/x',
        tcp_user_timeout: '9',
      },
    }
    const used = {
      ...{ fallback_application_name: 'shop', keepalives: '1', keepalives_idle: '30', requiressl: '0' },
      ...{ sslnegotiation: 'postgres', ssl_min_protocol_version: 'TLSv1.2', options: '-c geqo=off' },
      ...{ extra_float_digits: '1', sslmode: 'prefer', host: 'db.invalid', hostaddr: primary.host },
    }
    const lines: { level: number; parameters?: string[] }[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    const parameters = new URLSearchParams({ ...ignored, ...used, port: String(primary.port) })
    const { pools } = await use(t, `postgres://postgres@/postgres?${parameters}`, 0, { log })
    const [row] = await pools.reads.sql`
      select current_setting('application_name') as name, current_setting('client_encoding') as encoding,
        current_setting('geqo') as geqo, current_setting('extra_float_digits') as digits`
    t.strictSame({ ...row }, { name: 'shop', encoding: 'UTF8', geqo: 'off', digits: '1' })
    const warnings = lines.filter(({ level }) => level === 40)
    t.match(warnings, [{ msg: 'DATABASE_URL has parameters that have no effect' }])
    t.strictSame(warnings[0]?.parameters, Object.keys(ignored))
    t.notMatch(lines, /secret/)
  })

  t.test('while the standby confirms no commit, they are kept, and no more are sent', async (t) => {
    const database = await use(t, url, 0, { handlerTimeoutMs: 1_000 })
    const service = await serve(t, database)
    const registry = new Registry()
    measureStalls(registry, database.pools)
    const once = () =>
      service.call('POST', '/pets', {
        headers: { 'idempotency-key': 'kept' },
        body: { name: 'Kept', categoryId: 1 },
      })
    const kept = () => primary.sql`select from pets where name = 'Kept'`
    const waiting = () => primary.sql`select from pg_stat_activity where wait_event = 'SyncRep'`
    // Retried, because a statement may take only half a second, and a busy machine exceeds that.
    const created = async () => (await service.create()) === 201
    await until(created)
    await standby.freeze()
    const answers = await Promise.all([once(), ...Array.from({ length: 40 }, service.create)])
    t.strictSame(
      answers.map((each) => (typeof each === 'number' ? each : each.status)),
      answers.map(() => 503),
      'whether they were committed is unknown',
    )
    await until(async () => (await kept()).length === 1)
    await until(async () => String(await degradedBy(service)) === '200,stalled')
    t.match(await registry.metrics(), /_stalled\{pool="reads"\} 0\n.*_stalled\{pool="writes"\} 1\n/)
    await until(async () => (await service.call('GET', '/pets')).status === 200)
    // The backends of the given-up connections have ended, and further trials leave none behind.
    for (let i = 0; i < 2; i++) {
      await until(async () => (await waiting()).length === 1)
      t.equal(await service.create(), 503)
      await until(async () => (await waiting()).length === 0)
    }
    t.strictSame(await degradedBy(service), [200, 'stalled'])
    standby.thaw()
    await until(async () => String(await degradedBy(service)) === '200,')
    t.match(await registry.metrics(), /_stalled\{pool="writes"\} 0\n/)
    await until(async () => (await once()).status === 201)
    t.equal((await kept()).length, 1, 'the repetition got the stored response')
    await until(created)
  })

  t.test('after the primary fails, the standby serves once it is promoted', async (t) => {
    const lines: object[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    const service = await serve(t, await use(t, url, 0, { log }))
    const statuses = await Promise.all(Array.from({ length: 20 }, service.create))
    t.strictSame([...new Set(statuses)], [201])
    await primary.kill()
    await until(async () => (await ready(service)) === 503)
    t.equal(await service.create(), 503)
    const later = use(t, url, 600_000) // it also waits for the promotion
    await replication.promote()
    await untilReady(service.origin)
    t.equal(await service.create(), 201)
    t.equal((await service.call('GET', '/pets')).status, 200)
    t.equal(service.acknowledged.length, 21)
    t.ok(await service.areFound(standby.sql), 'with every acknowledged write')
    t.equal(await portOf((await later).sql), standby.port)
    const moved = { server: `127.0.0.1:${standby.port}`, reason: /ECONN|CONNECTION_|no answer/ }
    t.match(lines, [{ ...moved, msg: 'database primary changed' }])
  })
})

t.test('a primary that becomes read-only is abandoned for the promoted standby', async (t) => {
  const replication = await startReplication(t)
  const { primary, standby } = replication
  const service = await serve(t, await use(t, replication.url))
  t.equal(await service.create(), 201)
  t.equal((await service.call('GET', '/pets')).status, 200, 'which opens a connection for reads')
  await primary.sql`alter system set default_transaction_read_only = on`
  await primary.sql`select pg_reload_conf()`
  await until(async () => (await service.create()) === 503)
  await until(async () => String(await degradedBy(service)) === '200,standby')
  t.equal((await service.call('GET', '/pets')).status, 200, 'reads are served')
  await replication.promote()
  await until(async () => (await service.create()) === 201)
  t.ok(await service.areFound(standby.sql))
  await untilReady(service.origin)
  // All connections to it close, including those for reads.
  await until(async () => {
    const left = await primary.sql`select from pg_stat_activity where application_name = 'animal-store'`
    return left.length === 0
  })
})

interface StandbyLine {
  readonly msg: string
  readonly reason?: string
  readonly server?: string
}

// Keeps the lines about standbys. On a busy machine there may be more changes than the test makes.
function standbyLog() {
  const lines: StandbyLine[] = []
  const log = pino({}, { write: (line) => void (/standby/.test(line) && lines.push(JSON.parse(line))) })
  return { log, told: () => lines }
}

t.test('requests read from a standby, and from the primary while it is unavailable', async (t) => {
  const replication = await startReplication(t)
  const { primary, standby } = replication
  const proxy = await DatabaseProxy.start(standby)
  t.teardown(() => proxy.close())
  const { log, told } = standbyLog()
  const databaseReadUrl = urlOf(proxy).replace('postgres@', 'reader@')
  const reads = { log, databaseReadUrl, handlerTimeoutMs: 20_000 }
  await primary.sql`create role reader login in role pg_read_all_data`
  await replication.caughtUp()
  const database = await use(t, urlOf(primary), 0, reads)
  const service = await serve(t, database)
  // In one statement: on a busy machine, the next one may go to another server.
  const readsFrom = (port: number, user: string) =>
    until(async () => {
      const found = await database.pools.reads.sql`
        select current_setting('port')::int as port, current_user as user`.catch(() => [])
      return found[0]?.port === port && found[0]?.user === user
    })

  await readsFrom(standby.port, 'reader')
  for (const pool of [database.pools.keys, database.pools.writes])
    t.equal(await portOf(pool.sql), primary.port)
  const { body } = await service.call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })
  const read = async () => (await service.call('GET', `/pets/${body.id}`)).status
  await until(async () => (await read()) === 200)
  t.equal((await service.call('GET', '/pets')).body.length, 1)

  proxy.admit(false)
  await until(async () => (await read()) === 200)
  await readsFrom(primary.port, 'postgres') // the user of the primary's URL
  await untilReady(service.origin)
  const another = standbyLog()
  const later = await use(t, urlOf(primary), 0, { ...reads, log: another.log })
  t.equal(await portOf(later.pools.reads.sql), primary.port, 'startup does not wait for it')
  const fallback = 'no standby available, reading from the primary'
  for (const lines of [told(), another.told()])
    t.match(lines.at(-1), { msg: fallback, reason: /ECONN|CONNECTION_|no answer/ }, 'with the reason')

  proxy.admit(true)
  await readsFrom(standby.port, 'reader')
  t.equal(await read(), 200)
  const back = { msg: 'reading from a standby', server: `127.0.0.1:${proxy.port}` }
  t.match(told().at(-1), back, 'with the address of the standby')

  // Loses packets, as when the standby's machine fails.
  proxy.silence()
  await until(async () => (await read()) === 200)
  await readsFrom(primary.port, 'postgres')
  t.match(told().at(-1), { msg: fallback, reason: 'no answer' })
  const messages = told().map(({ msg }) => msg)
  t.strictSame(
    messages.filter((msg, i) => msg === messages[i - 1]),
    [],
    'each change is logged once',
  )
})

t.test('a standby is not used until it has the migrations', async (t) => {
  const replication = await startReplication(t)
  const { primary, standby } = replication
  const tables = await primary.sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'`
  for (const { name } of tables) await primary.sql`drop table ${primary.sql(name)}`
  await primary.sql`delete from schema_migrations`
  await replication.caughtUp()
  await standby.sql`select pg_wal_replay_pause()`
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const database = await use(t, urlOf(primary), 0, { databaseReadUrl: urlOf(standby), log })
  const { call } = await startService(t, database)
  t.equal((await call('GET', '/pets')).status, 200)
  const reason = `127.0.0.1:${standby.port} lacks migrations that the primary has`
  t.equal(lines.filter((line) => line.includes(reason)).length, 1, 'logged once')
  t.equal(await portOf(database.pools.reads.sql), primary.port)
  await standby.sql`select pg_wal_replay_resume()`
  await until(async () => (await portOf(database.pools.reads.sql).catch(() => 0)) === standby.port)
  t.equal((await call('GET', '/pets')).status, 200)
})

t.test('an unavailable standby is logged before the first request', async (t) => {
  const { primary } = await startReplication(t)
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const unreachable = urlOf({ host: '127.0.0.1', port: 1 })
  const { pools } = await use(t, urlOf(primary), 0, { databaseReadUrl: unreachable, log })
  const message = 'no standby available, reading from the primary'
  await until(() => lines.some((line) => line.includes(message) && line.includes('ECONNREFUSED')))
  t.equal(await portOf(pools.reads.sql), primary.port)
})

t.test('the replication lag of a standby is measured', async (t) => {
  const { primary, standby } = await startReplication(t)
  const lagOf = async ({ pools }: Database) => {
    const registry = new Registry()
    measureReplicationLag(registry, pools.reads, true)
    const [, value] = /^animal_store_replication_lag_seconds (.+)$/m.exec(await registry.metrics()) ?? []
    return value && Number(value)
  }
  t.equal(await lagOf(await use(t, urlOf(primary))), undefined, 'a primary has none')
  const database = await use(t, urlOf(primary), 0, { databaseReadUrl: urlOf(standby) })
  await until(async () => (await lagOf(database)) === 0)
  await standby.sql`select pg_wal_replay_pause()`
  await primary.sql`insert into pets (name, category_id) values ('Rex', 1)`
  t.ok(Number(await lagOf(database)) > 0)
  await standby.sql`select pg_wal_replay_resume()`
  await until(async () => (await lagOf(database)) === 0)
  await primary.kill()
  await until(async () => Number(await lagOf(database)) > 0)
})

t.test('a read cancelled by a recovery conflict on a standby counts as an outage', async (t) => {
  const replication = await startReplication(t)
  const { primary, standby } = replication
  await standby.sql`alter system set max_standby_streaming_delay = 0`
  await standby.sql`select pg_reload_conf()`
  const { pools } = await use(t, urlOf(primary), 0, { databaseReadUrl: urlOf(standby) })
  await primary.sql`insert into pets (name, category_id) values ('Rex', 1)`
  await replication.caughtUp()
  const reading = pools.reads.sql`select pg_sleep(600) from pets`.catch((error: unknown) => error)
  const asleep = () => standby.sql`select from pg_stat_activity where wait_event = 'PgSleep'`
  await until(async () => (await asleep()).length === 1)
  await primary.sql.begin((sql) => sql`lock table pets in access exclusive mode`)
  const error = await reading
  t.match(error, { code: '40001' })
  t.ok(isUnavailable(error), 'answered with 503')
})

t.test('a read-only database serves reads, and writes once it accepts them', async (t) => {
  const sql = await createDatabase(t, { max: 1 })
  const service = await startService(t, { sql })
  const create = async () =>
    (await service.call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } })).status
  // Applies to new sessions; the write pool has none yet.
  const alter = (how: string) => sql.unsafe(`alter database ${sql.options.database} ${how}`)
  await alter('set default_transaction_read_only = on')
  for (let i = 0; i < 5; i++) t.equal(await create(), 503)
  t.equal((await service.call('GET', '/pets')).status, 200)
  await untilReady(service.origin)
  await alter('reset default_transaction_read_only')
  await until(async () => (await create()) === 201)
})

t.test(
  'startup fails in time if the server hangs up at once, as a load balancer without a primary does',
  async (t) => {
    const server = net.createServer((socket) => void socket.destroy())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as net.AddressInfo
    await t.rejects(use(t, `postgres://postgres@127.0.0.1:${port}/postgres`), {
      name: 'OperatorError',
      message: new RegExp(`^Cannot use database "postgres" at 127\\.0\\.0\\.1:${port}: `),
    })
  },
)

const urls: [url: string, hosts: [name: string, port: number][], target: string][] = [
  ['postgres://h/x', [['h', 5432]], 'primary'],
  ['postgres://h:1/x?target_session_attrs=read-write', [['h', 1]], 'read-write'],
  [
    'postgres://h1:1,h2:2/x',
    [
      ['h1', 1],
      ['h2', 2],
    ],
    'read-write',
  ],
  [
    'postgres://h1,h2/x?port=6432&target_session_attrs=primary',
    [
      ['h1', 6432],
      ['h2', 6432],
    ],
    'primary',
  ],
  [
    'postgres://h0/x?host=/run/a,::1&port=1,2',
    [
      ['/run/a', 1],
      ['::1', 2],
    ],
    'read-write',
  ],
  [
    'postgres://[::1]:1,%2Frun%2Fa:2/x',
    [
      ['::1', 1],
      ['/run/a', 2],
    ],
    'read-write',
  ],
]

t.test('parameters of libpq become those of the driver', async (t) => {
  for (const [given, url] of [
    ['fallback_application_name=a&application_name=b', 'application_name=b&keep_alive=60'],
    ['keepalives=0&keepalives_idle=9', 'keep_alive=false'],
    ['keepalives_idle=9', 'keep_alive=9'],
    ['requiressl=1', 'keep_alive=60&sslmode=require'],
    ['ssl=true', 'keep_alive=60&sslmode=require'],
    ['ssl=true&sslmode=prefer', 'sslmode=prefer&keep_alive=60'],
  ])
    t.equal((await readDatabaseUrl(`postgres://h/x?${given}`)).url, `postgres:///?${url}`)
  const { servers } = await readDatabaseUrl(
    'postgres://a,b/x?hostaddr=192.0.2.1,192.0.2.2&sslmode=verify-full',
  )
  t.match(servers.all, [
    { host: ['192.0.2.1'], ssl: { checkServerIdentity: Function } },
    { host: ['192.0.2.2'], ssl: { checkServerIdentity: Function } },
  ])
  const unnamed = await readDatabaseUrl('postgres:///x?hostaddr=192.0.2.1,192.0.2.2')
  t.match(unnamed.servers.all, [{ host: ['192.0.2.1'] }, { host: ['192.0.2.2'] }])
  await t.rejects(readDatabaseUrl('postgres://a,b/x?hostaddr=192.0.2.1'), {
    message: /^must be a URL with a hostaddr/,
  })
})

for (const [url, hosts, target] of urls) {
  t.test(`the servers of ${url}`, async (t) => {
    const { servers } = await readDatabaseUrl(url)
    const expected = hosts.map(([name, port]) => ({ host: [name], port: [port], ssl: false }))
    t.strictSame([servers.all, servers.target], [expected, target])
  })
}

t.test('a change is reported with the reasons of all attempts, once', async (t) => {
  const { servers } = await readDatabaseUrl('postgres://h1:1,h2:2,h3:3/x')
  const [first = {}, second = {}, third = {}] = servers.all
  const state = { isStandby: false, isReadOnly: false, isPooled: false, migrations: 0 }
  const address = { host: ['h'], port: [1] }
  const reasons: (string | undefined)[] = []
  servers.onchange = ({ reason }) => reasons.push(reason)
  servers.failed(second, new Error('too slow at first'))
  servers.accept(second, state, address)
  t.strictSame(reasons, [], 'the first is no change')
  servers.failed(second, new Error('hung up'))
  servers.failed(first, new Error('a standby')) // by another attempt
  servers.accept(third, state, address)
  servers.accept(third, state, address)
  servers.accept(first, state, address)
  t.strictSame(reasons, ['hung up; a standby', undefined])
})

t.test(
  'a pooler put in front of a server after startup is rejected: it would lose the session settings',
  async (t) => {
    const address = { host: ['h'], port: [1] }
    const state = { isStandby: false, isReadOnly: false, migrations: 0 }
    const { servers } = await readDatabaseUrl('postgres://h:1/x')
    const [server = {}] = servers.all
    servers.accept(server, { ...state, isPooled: false }, address)
    t.throws(() => servers.accept(server, { ...state, isPooled: true }, address), {
      code: '08004',
      message: 'h:1 is now behind a connection pooler',
    })
    const pooled = (await readDatabaseUrl('postgres://h:1/x')).servers
    pooled.accept(server, { ...state, isPooled: true }, address)
    pooled.accept(server, { ...state, isPooled: false }, address)
    t.ok(pooled.isPooled)
  },
)

t.test(
  'the login and the database of a URL are decoded, and other parameters go to PostgreSQL',
  async (t) => {
    const login = { username: 'me@here', password: 'p:w', database: 'x y' }
    for (const text of [
      'postgres://me%40here:p%3Aw@h1:1,h2:2/x%20y?application_name=a%20b',
      'postgres://h1:1,h2:2?user=me%40here&password=p%3Aw&dbname=x%20y&application_name=a%20b',
    ]) {
      const read = await readDatabaseUrl(text)
      t.strictSame(read.login, login)
      t.equal(read.url, 'postgres:///?application_name=a+b&keep_alive=60')
    }
  },
)
