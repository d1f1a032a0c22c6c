// Brings a database to the form this version needs: numbered SQL files in one transaction, one runner at a
// time however many instances start at once.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../operator-error.js'
import type { RootSql, Sql } from './types.js'

interface Migration {
  readonly name: string
  readonly text: string
  /** SHA-256 of the text in hex. */
  readonly checksum: string
}

// Any number will do, if nothing else in the database uses it for an advisory lock.
const lockId = 7_253_009_114

/**
 * Applies the migrations of the folder that the database has not seen, in order of name. Those of a newer
 * version are left alone: an older instance may start while a newer one runs.
 * @returns the names of those applied now
 * @throws {OperatorError} when an applied file was edited since
 */
export async function migrate(sql: RootSql, folder: string): Promise<string[]> {
  const migrations = await readMigrations(folder)
  // With nothing to do it waits for nobody, and a role that may do nothing will do.
  if (missingOf(migrations, await appliedMigrations(sql)).length === 0) return []
  return sql.begin(async (transaction) => {
    // However long another instance's migrations take, or these.
    await transaction`set local statement_timeout = 0`
    await transaction`select pg_advisory_xact_lock(${lockId})`
    return applyMissing(transaction, migrations)
  }) as Promise<string[]> // postgres.js types a transaction's result as if it were a list of queries
}

/** Whether all of these migrations are applied. */
export async function isMigrated(sql: Sql, names: readonly string[]): Promise<boolean> {
  const applied = await appliedMigrations(sql)
  return names.every((name) => applied.has(name))
}

async function applyMissing(sql: Sql, migrations: readonly Migration[]): Promise<string[]> {
  await sql`
    create table if not exists schema_migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`
  const missing = missingOf(migrations, await appliedMigrations(sql))
  for (const migration of missing) await apply(sql, migration)
  return missing.map(({ name }) => name)
}

function missingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  for (const { name, checksum } of migrations) {
    if ((applied.get(name) ?? checksum) !== checksum) {
      throw new OperatorError(
        `Migration ${name} was edited after it was applied. Restore it, and write a new one.`,
      )
    }
  }
  return migrations.filter(({ name }) => !applied.has(name))
}

async function apply(sql: Sql, { name, text, checksum }: Migration): Promise<void> {
  await sql.unsafe(text).catch((error: Error) => {
    error.message = `${name}: ${error.message}`
    throw error
  })
  await sql`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
}

async function appliedMigrations(sql: Sql): Promise<Map<string, string>> {
  const [table] = await sql<{ name: string | null }[]>`select to_regclass('schema_migrations')::text as name`
  if (table?.name == null) return new Map()
  const rows = await sql<{ name: string; checksum: string }[]>`select name, checksum from schema_migrations`
  return new Map(rows.map(({ name, checksum }) => [name, checksum]))
}

/** The names of the folder's migrations, in the order in which they are applied. */
export async function migrationNames(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  return names.filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort()
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = await migrationNames(folder)
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(folder, name), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}
