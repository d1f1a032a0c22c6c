import { randomBytes } from 'node:crypto'
import { runProgram, startProcess, startProgram } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import type { RootSql } from 'contract-service/internal/database/database'
import { newerSetting, requestSettings, sessionSettings } from 'contract-service/internal/database/pools'
import { until, untilReady } from 'contract-testing/until'
import postgres from 'postgres'
import t from 'tap'
import { callCommand, startCommand } from '../fixtures/command.js'
import { ampleTerms } from '../fixtures/facts.js'
import { holdKeys, holdMigrations } from '../fixtures/locks.js'
import { createDatabase, send } from '../fixtures/service.js'

t.test('the service runs as a role that cannot change tables', async (t) => {
  const sql = await createDatabase(t)
  const schema = 'Own schema'
  await sql`drop schema public cascade`
  await sql`create schema ${sql(schema)}`
  const { url } = await startDatabaseProxy(t, sql)
  const ownerUrl = `${url}?search_path=${encodeURIComponent(`"${schema}"`)}`
  const role = `service'"${randomBytes(4).toString('hex')}`
  const serviceUrl = new URL(url)
  serviceUrl.username = encodeURIComponent(role)
  serviceUrl.password = 'it%27s'
  const service = { DATABASE_URL: serviceUrl.href }

  // Names two servers, as for a service that has to find the primary.
  const two = service.DATABASE_URL.replace(/:(\d+)\//, ':$1,standby.example:5432/')
  const owner = { DATABASE_URL: ownerUrl, SERVICE_DATABASE_URL: two }
  const first = await callCommand('migrate', [], owner)
  t.match(first, { code: 0, stdout: /0001-pets\.sql[\s\S]*may read and write rows/ })
  t.notMatch(first.stdout + first.stderr, /it's|it%27s/, 'without its password')
  t.after(async () => {
    await sql`drop owned by ${sql(role)}`
    await sql`drop role ${sql(role)}`
  })
  t.match(await callCommand('migrate', [], owner), { code: 0, stderr: '' }, 'a second run changes nothing')

  const [before, rotated] = [await passwordOf(sql, role), new URL(serviceUrl)]
  rotated.password = 'another'
  const rotation = { ...owner, SERVICE_DATABASE_URL: rotated.href }
  t.match(await callCommand('migrate', [], rotation), { code: 0, stderr: '' })
  const after = await passwordOf(sql, role)
  t.not(after, before, 'the password of the existing role changes')
  rotated.password = ''
  rotated.searchParams.set('sslcert', 'client.pem')
  const certified = { ...owner, SERVICE_DATABASE_URL: rotated.href }
  t.match(await callCommand('migrate', [], certified), { code: 0, stderr: '' })
  t.equal(await passwordOf(sql, role), after, 'a certificate needs none, and leaves it')
  await callCommand('migrate', [], owner)

  const { base, stop } = await startProcess(t, service)
  const made = await callCommand('keys', ['create', '--name', 'x', ...ampleTerms], service)
  t.equal(made.code, 0, made.stderr)
  const headers = { authorization: `Bearer ${made.stdout.trim()}` }
  const create = (own = {}) =>
    send(`${base}/pets`, 'POST', { ...headers, ...own }, { name: 'Rex', categoryId: 1 })
  t.match(await create(), { status: 201 })
  t.match(await create({ 'idempotency-key': 'a' }), { status: 201 })
  t.match(await send(`${base}/pets`, 'GET', headers), { status: 200, body: [{ id: 1 }, { id: 2 }] })
  await untilReady(base)
  t.match(await callCommand('keys', ['revoke', '1'], service), { code: 0 })
  await stop()

  const limited = postgres(service.DATABASE_URL, { max: 1, fetch_types: false, onnotice: () => {} })
  t.teardown(() => limited.end())
  const rows = await limited<{ name: string; setting: string }[]>`
    select name, setting from pg_settings where source = 'database user'`
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  const timeouts = { statement_timeout: '2000', idle_in_transaction_session_timeout: '2000' }
  t.strictSame(
    { ...newerSetting, ...settings },
    {
      ...{ ...sessionSettings, ...newerSetting, DateStyle: 'ISO, MDY' },
      ...{ ...timeouts, ...requestSettings },
      search_path: `"${schema}"`,
    },
    'the role has the session settings, for poolers',
  )
  for (const statement of [
    'drop table pets',
    'truncate pets',
    'alter table pets add column x int',
    'create table mine (id int)',
    'create index on pets (name)',
    'drop index pets_status_id',
    'create schema mine',
    'create role mine',
    "delete from schema_migrations where name like '0%'",
    "insert into schema_migrations (name, checksum) values ('x', 'y')",
  ]) {
    await t.rejects(limited.unsafe(statement), { code: '42501' }, statement)
  }

  const startFails = async (reason: string) =>
    t.match(await runProgram('src/main.ts', [], { ...service, PORT: '0' }), {
      code: 1,
      stderr: new RegExp(
        `lacks migrations, or the role ".+" lacks privileges: .*${reason}.*\nRun \`migrate\``,
      ),
    })
  const migrations = sql(`${schema}.schema_migrations`)
  await sql`delete from ${migrations} where name like '0003%'`
  await startFails('permission denied for schema')
  await sql`revoke all on ${migrations} from ${sql(role)}`
  await startFails('permission denied for table schema_migrations')
})

// Returns the stored hash of the role's password.
async function passwordOf(sql: RootSql, role: string): Promise<unknown> {
  const [row] = await sql`select rolpassword from pg_authid where rolname = ${role}`
  return row?.rolpassword
}

t.test('a rejected login fails at once, with advice', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const refused = new URL(url)
  refused.username = `nobody_${randomBytes(4).toString('hex')}`
  const { code, stdout, stderr } = await callCommand('migrate', [], {
    DATABASE_URL: refused.href,
    START_TIMEOUT_MS: '600000',
  })
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /Cannot use database [\s\S]*Correct the user or the password in DATABASE_URL/)
})

t.test('while another session migrates', async (t) => {
  const sql = await createDatabase(t)
  await sql`delete from schema_migrations`
  const { url } = await startDatabaseProxy(t, sql)
  const envOf = (START_TIMEOUT_MS: string) => ({ DATABASE_URL: url, START_TIMEOUT_MS, PORT: '0' })
  const sessions = async () =>
    (
      await sql`
    select from pg_stat_activity where datname = current_database() and application_name = 'animal-store'`
    ).length
  const holder = await holdMigrations(sql)
  t.teardown(() => holder.release())
  const [row] = await sql`
    select pid from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`

  const reason = `A lock was not released within START_TIMEOUT_MS: process ${row?.pid} \\(postgres\\.js, idle in transaction, .+\\) holds ExclusiveLock on advisory\n$`

  t.test('the service and `migrate` end after START_TIMEOUT_MS, and name the session', async (t) => {
    const env = envOf('2000')
    for (const ended of [runProgram('src/main.ts', [], env), callCommand('migrate', [], env)])
      t.match(await ended, { code: 1, stderr: new RegExp(`^(startup failed: )?${reason}`) })
  })

  t.test('`migrate` ends at once when it is interrupted', async (t) => {
    const { interrupt, ended } = startCommand('migrate', [], envOf('600000'))
    await holder.someoneWaits()
    interrupt('SIGTERM')
    t.equal((await ended).code, 143)
    await until(async () => (await sessions()) === 0)
  })

  t.test('the service does, too, and its session when it is killed', async (t) => {
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGKILL', null],
    ] as const) {
      const { child, ended } = startProgram(t, 'src/main.ts', [], envOf('600000'))
      await holder.someoneWaits()
      child.kill(signal)
      t.equal((await ended).code, code)
      await until(async () => (await sessions()) === 0)
    }
  })
})

t.test(
  'startup waits for tables that it reads until START_TIMEOUT_MS, and names who holds them',
  async (t) => {
    for (const table of ['schema_migrations', 'api_keys']) {
      const sql = await createDatabase(t)
      const { url } = await startDatabaseProxy(t, sql)
      const holder = await holdKeys(sql, table)
      t.teardown(() => holder.release())
      const env = { DATABASE_URL: url, START_TIMEOUT_MS: '3000', PORT: '0' }
      const reason = new RegExp(
        `within START_TIMEOUT_MS: process .+ holds AccessExclusiveLock on ${table}\n$`,
      )
      t.match(await runProgram('src/main.ts', [], env), { code: 1, stderr: reason })
    }
  },
)

t.test('an error of the database is reported without a stack', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const env = { DATABASE_URL: url, SERVICE_DATABASE_URL: 'postgres://pg_service:x@127.0.0.1/x' }
  const stderr = 'The database reports: role name "pg_service" is reserved\n'
  t.match(await callCommand('migrate', [], env), { code: 1, stderr })
})

t.test('wrong usage fails with what is expected', async (t) => {
  const url = 'postgres://owner@127.0.0.1:1/x'
  const cases: [env: Record<string, string>, message: RegExp, code: number][] = [
    [{}, /^Usage: [\s\S]*\nDATABASE_URL is required\..*\n$/, 2],
    [{ DATABASE_URL: 'x' }, /DATABASE_URL must be a valid URL/, 1],
    [
      { DATABASE_URL: url, SERVICE_DATABASE_URL: 'postgres://service@127.0.0.1/x' },
      /a user, and a password, which SERVICE_PASSWORD can hold, or an sslcert/,
      1,
    ],
    [{ DATABASE_URL: url, SERVICE_DATABASE_URL: 'x' }, /^SERVICE_DATABASE_URL must be a valid URL/, 1],
  ]
  for (const [env, message, code] of cases) {
    t.match(await callCommand('migrate', [], env), { code, stderr: message })
  }
})
