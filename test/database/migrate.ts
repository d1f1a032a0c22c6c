import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import type { RootSql } from 'contract-service/internal/database/database'
import { isMigrated, migrate } from 'contract-service/internal/database/migrate'
import { migrationNames } from 'contract-service/internal/database/migration'
import { migrationsFolders } from 'contract-service/internal/lib/paths'
import type { DatabaseProxy } from 'contract-service/tools/lib/database-proxy'
import { until } from 'contract-testing/until'
import { pino } from 'pino'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { holdReader } from '../fixtures/locks.js'
import { createDatabase, startService } from '../fixtures/service.js'

const files = {
  '0001-first.sql': "create table runs (name text not null);\ninsert into runs values ('first');\n",
  '0002-second.sql': "insert into runs values ('second');\n",
}

async function emptyDatabase(t: Test): Promise<RootSql> {
  const sql = await createDatabase(t)
  await sql`drop schema public cascade`
  await sql`create schema public`
  return sql
}

async function runs(sql: RootSql): Promise<string[]> {
  const rows = await sql`select name from runs`
  return rows.map(({ name }) => name)
}

async function tables(sql: RootSql): Promise<string[]> {
  const rows = await sql`select tablename from pg_tables where schemaname = 'public' order by tablename`
  return rows.map(({ tablename }) => tablename)
}

t.test("the service's migrations create its tables in an empty database, once", async (t) => {
  const sql = await emptyDatabase(t)
  const applied = await migrate(sql, migrationsFolders)
  t.strictSame(applied.slice(0, 2), ['0001-pets.sql', '0002-api-keys.sql'])
  t.strictSame(await tables(sql), ['api_keys', 'idempotent_answers', 'pets', 'schema_migrations'])
  t.strictSame(await migrate(sql, migrationsFolders), [])
  t.equal(await isMigrated(sql, await migrationNames(migrationsFolders)), true)
})

t.test('migrations are applied in order of number, and other files are ignored', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    ...files,
    'README.md': 'not SQL',
    '0004-fourth.sql~': 'not SQL',
  })
  t.strictSame(await migrate(sql, [folder]), ['0001-first.sql', '0002-second.sql'])
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('a migration without a number is refused, and none is applied', async (t) => {
  const sql = await emptyDatabase(t)
  for (const name of ['3-third.sql', 'third.sql', '100_third.sql', '0003-a third.sql']) {
    const folder = temporaryDirectory(t, { ...files, toys: { [name]: 'select 1' } })
    const message = `${path.join(folder, 'toys', name)}: the name of a migration is four digits, a hyphen and words: 0100-books.sql`
    await t.rejects(migrate(sql, [folder]), { name: 'OperatorError', message })
  }
  t.strictSame(await tables(sql), [])
})

t.test('twenty concurrent runs on an empty database apply each migration once', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(sql, [folder])))
  t.strictSame(applied.flat(), ['0001-first.sql', '0002-second.sql'])
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('a migration added later is applied alone', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  await migrate(sql, [folder])
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  t.equal(await isMigrated(sql, await migrationNames([folder])), false)
  t.strictSame(await migrate(sql, [folder]), ['0003-third.sql'])
  t.equal(await isMigrated(sql, await migrationNames([folder])), true)
  t.strictSame(await runs(sql), ['first', 'second', 'third'])
})

t.test('a migration edited after it was applied is rejected by name, and nothing is applied', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  await migrate(sql, [folder])
  writeFileSync(path.join(folder, '0001-first.sql'), `${files['0001-first.sql']}-- edited\n`)
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  const message =
    'Migration 0001-first.sql was edited after it was applied. Restore it, and put the change into a new migration.'
  await t.rejects(migrate(sql, [folder]), { message })
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('migrations of a newer version are ignored', async (t) => {
  const sql = await emptyDatabase(t)
  const newer = path.join(
    temporaryDirectory(t, { newer: files, older: { '0001-first.sql': files['0001-first.sql'] } }),
    'newer',
  )
  const older = path.join(newer, '..', 'older')
  await migrate(sql, [newer])
  t.strictSame(await migrate(sql, [older]), [])
  t.equal(await isMigrated(sql, await migrationNames([older])), true)
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('a failed migration rolls back those before it, too, and can be fixed', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    ...files,
    '0003-third.sql': 'create table more (id int);\nselect 1 / 0;\n',
  })
  await t.rejects(migrate(sql, [folder]), { code: '22012', message: '0003-third.sql:2: division by zero' })
  t.strictSame(await tables(sql), [])
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  t.strictSame(await migrate(sql, [folder]), ['0001-first.sql', '0002-second.sql', '0003-third.sql'])
})

t.test('an error names the file, the line and, where PostgreSQL knows it, the column', async (t) => {
  const sql = await emptyDatabase(t)
  for (const [text, message] of [
    ['selec 1', ':1:1: syntax error at or near "selec"'],
    ["-- why\n\nselect '🐈', nothing", ':3:13: column "nothing" does not exist'],
    ["select 1;\n\n/* why\n */ select '🐈',\n  nothing;", ':5:3: column "nothing" does not exist'],
    ['create table a (id int);\n\n-- again\ncreate table a (id int)', ':4: relation "a" already exists'],
    ['do $$\nbegin\n  perform 1 / 0;\nend $$', ':1: division by zero'],
    ["select 1;\nselect 'a", `:2:8: unterminated quoted string at or near "'a"`],
    ['create table a (id int);\nselect $$a', ':2:8: unterminated dollar-quoted string at or near "$$a"'],
    ['select 1;\r\nselect (;\r\n', ':2:9: syntax error at or near ";"'],
    [
      'create table a (id int);\ncreate index concurrently a_id on a (id)',
      ':2: CREATE INDEX CONCURRENTLY cannot run inside a transaction block; begin the file with "-- no-transaction"',
    ],
    ['-- no-transaction\n\nvacuum nothing', ':3: relation "nothing" does not exist'],
    ['-- no-transaction\nselect nothing', ':2:8: column "nothing" does not exist'],
  ] as const) {
    const folder = temporaryDirectory(t, { '0001-first.sql': text })
    await t.rejects(migrate(sql, [folder]), { message: `0001-first.sql${message}` }, text)
    t.equal(await isMigrated(sql, ['0001-first.sql']), false)
  }
})

const table = "create table runs as select 'name ' || n as name, n from generate_series(1, 1000) as n;"
const build =
  '-- no-transaction\n-- It is large.\ncreate index concurrently if not exists "Runs N" on runs (n);\n'

async function indexes(sql: RootSql): Promise<string[]> {
  const rows = await sql<{ name: string; isValid: boolean }[]>`
    select relname as name, indisvalid as "isValid" from pg_index join pg_class on oid = indexrelid
    where indrelid = 'runs'::regclass order by relname`
  return rows.map(({ name, isValid }) => (isValid ? name : `${name} (unfinished)`))
}

// Holds an open transaction that began earlier: an index that is built concurrently waits for it.
async function holdSnapshot(sql: RootSql): Promise<() => Promise<void>> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held: Promise<unknown> = Promise.resolve()
  await new Promise<void>((begun, fail) => {
    held = sql
      .begin('isolation level repeatable read', async (transaction) => {
        await transaction`select from pg_class limit 1`
        begun()
        await released
      })
      .catch(fail)
  })
  return async () => {
    release()
    await held
  }
}

// Connects without the query for array types. If the connection is lost during that query, postgres.js 3.4.9
// leaves a rejection unhandled.
function connectThrough(t: Test, url: string): RootSql {
  const types = { bigint: postgres.BigInt }
  const sql = postgres(url, { max: 4, fetch_types: false, onnotice: () => {}, types })
  t.teardown(() => sql.end({ timeout: 0 }))
  return sql
}

async function sleepers(sql: RootSql): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'
      and state = 'active'`
  return rows.map(({ pid }) => pid)
}

async function builder(sql: RootSql): Promise<number | undefined> {
  const [row] = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and query like 'create index%' and wait_event_type = 'Lock'`
  return row?.pid
}

t.test('a migration without a transaction is applied in its turn, and recorded', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    '0001-first.sql': table,
    '0002-index.sql': build,
    '0003-third.sql': 'alter table runs rename to others;',
    '0004-vacuum.sql': '-- no-transaction: VACUUM refuses one\nvacuum others',
  })
  const names = ['0001-first.sql', '0002-index.sql', '0003-third.sql', '0004-vacuum.sql']
  t.strictSame(await migrate(sql, [folder]), names)
  t.strictSame(await migrate(sql, [folder]), [])
  await sql`alter table others rename to runs`
  t.strictSame(await indexes(sql), ['Runs N'])
  const [row] = await sql`select current_setting('statement_timeout') as timeout, count(*)::int as locks
    from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`
  t.match(row, { locks: 0 }, 'which leaves no lock')
})

t.test('those before one that fails stay, and it is applied once it is mended', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    '0001-first.sql': table,
    '0002-index.sql': build.replace('index', 'unique index').replace('(n)', '((n / 2))'),
    '0003-third.sql': 'alter table runs rename to others;',
  })
  const message = '0002-index.sql:3: could not create unique index "Runs N"'
  await t.rejects(migrate(sql, [folder]), { message })
  t.strictSame(await indexes(sql), ['Runs N (unfinished)'])
  await t.rejects(migrate(sql, [folder]), { message }, 'not for the index that is left')
  writeFileSync(path.join(folder, '0002-index.sql'), build)
  t.strictSame(await migrate(sql, [folder]), ['0002-index.sql', '0003-third.sql'])
})

t.test('it is resumed after its process, or its connection, was lost', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, { '0001-first.sql': table, '0002-index.sql': build })
  const proxy = await startDatabaseProxy(t, sql)
  const lost = connectThrough(t, proxy.url)
  for (const how of ['its backend is terminated', 'its client is gone']) {
    const release = await holdSnapshot(sql)
    const failed = migrate(lost, [folder]).catch((error) => error)
    await until(async () => (await builder(sql)) !== undefined)
    const pid = await builder(sql)
    if (how === 'its client is gone') await proxy.close()
    else await sql`select pg_terminate_backend(${pid ?? 0})`
    t.type(await failed, Error, how)
    await until(async () => (await sql`select from pg_stat_activity where pid = ${pid ?? 0}`).length === 0)
    await release()
    t.strictSame(await indexes(sql), ['Runs N (unfinished)'])
    t.equal(await isMigrated(sql, ['0002-index.sql']), false)
  }
  t.strictSame(await migrate(sql, [folder], { timeoutMs: 60_000 }), ['0002-index.sql'])
  t.strictSame(await indexes(sql), ['Runs N'])
})

t.test('a connection lost in a transaction is the error of its statement, and no other', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, { '0001-first.sql': 'select pg_sleep(60)' })
  for (const [how, lose] of [
    [
      'its backend is terminated',
      (_: DatabaseProxy, pid: number) => sql`select pg_terminate_backend(${pid})`,
    ],
    ['it is closed', (proxy: DatabaseProxy) => proxy.close()],
    ['it is reset', (proxy: DatabaseProxy) => proxy.admit(false)],
  ] as const) {
    const proxy = await startDatabaseProxy(t, sql)
    const failed = migrate(connectThrough(t, proxy.url), [folder]).catch((error) => error)
    await until(async () => (await sleepers(sql)).length === 1)
    const [pid] = await sleepers(sql)
    await lose(proxy, pid ?? 0)
    const error = await failed
    t.match(error.message, /write CONNECTION_CLOSED|read ECONNRESET/, how)
    await until(async () => (await sleepers(sql)).length === 0)
  }
})

t.test('it is recorded if only that was missing', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, { '0001-first.sql': table, '0002-index.sql': build })
  await migrate(sql, [folder])
  const [before] =
    await sql`delete from schema_migrations where name like '0002%' returning '"Runs N"'::regclass::oid as oid`
  t.strictSame(await migrate(sql, [folder]), ['0002-index.sql'])
  const [after] = await sql`select '"Runs N"'::regclass::oid as oid`
  t.strictSame(after, before, 'the index is not built again')
})

t.test('instances that start together build it once, while others read', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, { '0001-first.sql': table })
  await migrate(sql, [folder])
  writeFileSync(path.join(folder, '0002-index.sql'), build)
  writeFileSync(path.join(folder, '0003-third.sql'), 'alter table runs add column more int;')
  const release = await holdSnapshot(sql)
  const pools = Array.from(
    { length: 5 },
    () => postgres({ ...sql.options, max: 4 } as never) as unknown as RootSql,
  )
  t.teardown(() => Promise.all(pools.map((each) => each.end({ timeout: 0 }))))
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const migrated = Promise.all(pools.map((each) => migrate(each, [folder], { timeoutMs: 60_000, log })))
  await until(async () => (await builder(sql)) !== undefined)
  await sql`insert into runs values ('served', 0)`
  await until(() => lines.some(({ holders }) => (holders as { lock: string }[])[0]?.lock === 'virtualxid'))
  await release()
  t.strictSame((await migrated).flat().sort(), ['0002-index.sql', '0003-third.sql'])
  t.strictSame(await indexes(sql), ['Runs N'])
})

t.test('what could not be resumed is refused before it runs', async (t) => {
  const sql = await emptyDatabase(t)
  await sql.unsafe(table)
  const again = 'because the statement may run twice.'
  for (const [text, message] of [
    ['create index concurrently runs_n on runs (n)', `:2: add "if not exists" and a name, ${again}`],
    ['create unique index /* a */ concurrently on runs (n)', `:2: add "if not exists" and a name, ${again}`],
    ['drop index concurrently runs_n', `:2: add "if exists" and a name, ${again}`],
    ['vacuum runs; vacuum runs', ': without a transaction, a migration is one statement.'],
    ['-- nothing', ': without a transaction, a migration is one statement.'],
  ] as const) {
    const folder = temporaryDirectory(t, { '0001-first.sql': `-- no-transaction\n${text}` })
    const error = { name: 'OperatorError', message: `0001-first.sql${message}` }
    await t.rejects(migrate(sql, [folder]), error, text)
  }
  const folder = temporaryDirectory(t, { '0001-first.sql': '-- no-transaction\nvacuum runs' })
  await t.rejects(migrate(sql, [folder], { isPooled: true }), {
    name: 'OperatorError',
    message: /^Migration 0001-first\.sql needs a session of its own, .+\nRun `migrate` /,
  })
  t.strictSame(await indexes(sql), [])
})

t.test('a migration may take longer than the statement timeout', async (t) => {
  const sql = await emptyDatabase(t)
  await sql.unsafe(`alter database "${sql.options.database}" set statement_timeout = '5s'`)
  const folder = temporaryDirectory(t, {
    '0001-first.sql': "create table runs as select current_setting('statement_timeout') as name",
  })
  await migrate(sql, [folder])
  t.strictSame(await runs(sql), ['0'])
  const [after] = await sql`show statement_timeout`
  t.not(after?.statement_timeout, undefined)
})

t.test('an older instance serves while a newer one migrates, and after it', async (t) => {
  const { call, sql } = await startService(t)
  const folder = temporaryDirectory(t, {})
  writeFileSync(
    path.join(folder, '9999-newer.sql'),
    `alter table pets add column weight_grams integer;
    create index pets_weight_grams on pets (weight_grams);
    create table toys (id bigint primary key);
    insert into pets (name, category_id) select 'pet ' || n, n from generate_series(1, 20000) as n;`,
  )
  let isMigrating = true
  const statuses: number[] = []
  const client = async () => {
    while (isMigrating) {
      const body = { name: 'Rex', categoryId: 1 }
      const headers = { 'idempotency-key': crypto.randomUUID() }
      statuses.push((await call('POST', '/pets', { body })).status)
      statuses.push((await call('POST', '/pets', { body, headers })).status)
      statuses.push((await call('GET', '/pets')).status)
    }
  }
  const clients = Array.from({ length: 4 }, client)
  t.strictSame(await migrate(sql, [...migrationsFolders, folder]), ['9999-newer.sql'])
  isMigrating = false
  await Promise.all(clients)
  t.ok(statuses.length >= 12)
  t.strictSame([...new Set(statuses)].sort(), [200, 201])
  t.match(await call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } }), { status: 201 })
  t.equal(
    await isMigrated(sql, await migrationNames(migrationsFolders)),
    true,
    'the older instance stays ready',
  )
})

t.test('while a reader keeps a migration waiting, requests are served, and the log names it', async (t) => {
  const { call, sql } = await startService(t)
  const folder = temporaryDirectory(t, {})
  writeFileSync(path.join(folder, '9998-table.sql'), 'create table toys (id bigint primary key);')
  writeFileSync(path.join(folder, '9999-column.sql'), 'alter table pets add column weight_grams integer;')
  const reader = await holdReader(sql)
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })

  const folders = [...migrationsFolders, folder]
  const migrated = migrate(sql, folders, { timeoutMs: 60_000, log })
  for (let tries = 0; tries < 2; tries++) {
    await reader.someoneWaits()
    t.match(await call('GET', '/pets'), { status: 200 }, 'a request behind the migration')
  }
  const reported = () => lines.find(({ holders }) => (holders as unknown[]).length > 0)
  await until(() => reported() !== undefined)
  const { holders, msg } = reported() ?? {}
  t.equal(msg, 'waiting for a lock of another session')
  const holder = {
    application: 'postgres.js',
    state: 'idle in transaction',
    mode: 'AccessShareLock',
    lock: 'pets',
  }
  t.match(holders, [{ pid: Number, queryStart: String, ...holder }])
  t.equal(Object.keys((holders as object[])[0] ?? {}).length, 6, 'without its statement')
  t.notOk((await tables(sql)).includes('toys'), 'no migration is applied without the others')
  await reader.release()
  t.strictSame(await migrated, ['9998-table.sql', '9999-column.sql'])
})
