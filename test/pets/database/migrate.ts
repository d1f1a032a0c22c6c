import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { RootSql } from '../../../src/database/database.js'
import { isMigrated, migrate, migrationNames } from '../../../src/database/migrate.js'
import { migrationsFolder } from '../../../src/lib/paths.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import { createDatabase, startService } from '../../fixtures/service.js'
import { until } from '../../fixtures/until.js'
import { holdReader } from '../fixtures/locks.js'

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
  const applied = await migrate(sql, migrationsFolder)
  t.strictSame(applied.slice(0, 2), ['0001-pets.sql', '0002-api-keys.sql'])
  t.strictSame(await tables(sql), ['api_keys', 'idempotent_answers', 'pets', 'schema_migrations'])
  t.strictSame(await migrate(sql, migrationsFolder), [])
  t.equal(await isMigrated(sql, await migrationNames(migrationsFolder)), true)
})

t.test('migrations are applied in order of number, and other files are ignored', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    ...files,
    'README.md': 'not SQL',
    '3-third.sql': 'not SQL',
    '0004-fourth.sql~': 'not SQL',
  })
  t.strictSame(await migrate(sql, folder), ['0001-first.sql', '0002-second.sql'])
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('twenty concurrent runs on an empty database apply each migration once', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(sql, folder)))
  t.strictSame(applied.flat(), ['0001-first.sql', '0002-second.sql'])
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('a migration added later is applied alone', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  await migrate(sql, folder)
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  t.equal(await isMigrated(sql, await migrationNames(folder)), false)
  t.strictSame(await migrate(sql, folder), ['0003-third.sql'])
  t.equal(await isMigrated(sql, await migrationNames(folder)), true)
  t.strictSame(await runs(sql), ['first', 'second', 'third'])
})

t.test('a migration edited after it was applied is rejected by name, and nothing is applied', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, files)
  await migrate(sql, folder)
  writeFileSync(path.join(folder, '0001-first.sql'), `${files['0001-first.sql']}-- edited\n`)
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  const message =
    'Migration 0001-first.sql was edited after it was applied. Restore it, and put the change into a new migration.'
  await t.rejects(migrate(sql, folder), { message })
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('migrations of a newer version are ignored', async (t) => {
  const sql = await emptyDatabase(t)
  const newer = path.join(
    temporaryDirectory(t, { newer: files, older: { '0001-first.sql': files['0001-first.sql'] } }),
    'newer',
  )
  const older = path.join(newer, '..', 'older')
  await migrate(sql, newer)
  t.strictSame(await migrate(sql, older), [])
  t.equal(await isMigrated(sql, await migrationNames(older)), true)
  t.strictSame(await runs(sql), ['first', 'second'])
})

t.test('a failed migration rolls back those before it, too, and can be fixed', async (t) => {
  const sql = await emptyDatabase(t)
  const folder = temporaryDirectory(t, {
    ...files,
    '0003-third.sql': 'create table more (id int);\nselect 1 / 0;\n',
  })
  await t.rejects(migrate(sql, folder), { code: '22012', message: '0003-third.sql: division by zero' })
  t.strictSame(await tables(sql), [])
  writeFileSync(path.join(folder, '0003-third.sql'), "insert into runs values ('third')")
  t.strictSame(await migrate(sql, folder), ['0001-first.sql', '0002-second.sql', '0003-third.sql'])
})

t.test('a migration may take longer than the statement timeout', async (t) => {
  const sql = await emptyDatabase(t)
  await sql.unsafe(`alter database "${sql.options.database}" set statement_timeout = '5s'`)
  const folder = temporaryDirectory(t, {
    '0001-first.sql': "create table runs as select current_setting('statement_timeout') as name",
  })
  await migrate(sql, folder)
  t.strictSame(await runs(sql), ['0'])
  const [after] = await sql`show statement_timeout`
  t.not(after?.statement_timeout, undefined)
})

t.test('an older instance serves while a newer one migrates, and after it', async (t) => {
  const { call, sql } = await startService(t)
  const folder = temporaryDirectory(t, {})
  cpSync(migrationsFolder, folder, { recursive: true })
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
  t.strictSame(await migrate(sql, folder), ['9999-newer.sql'])
  isMigrating = false
  await Promise.all(clients)
  t.ok(statuses.length >= 12)
  t.strictSame([...new Set(statuses)].sort(), [200, 201])
  t.match(await call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 } }), { status: 201 })
  t.equal(
    await isMigrated(sql, await migrationNames(migrationsFolder)),
    true,
    'the older instance stays ready',
  )
})

t.test('while a reader keeps a migration waiting, requests are served, and the log names it', async (t) => {
  const { call, sql } = await startService(t)
  const folder = temporaryDirectory(t, {})
  cpSync(migrationsFolder, folder, { recursive: true })
  writeFileSync(path.join(folder, '9998-table.sql'), 'create table toys (id bigint primary key);')
  writeFileSync(path.join(folder, '9999-column.sql'), 'alter table pets add column weight_grams integer;')
  const reader = await holdReader(sql)
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })

  const migrated = migrate(sql, folder, { timeoutMs: 60_000, log })
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
