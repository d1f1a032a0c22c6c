// Migrations: numbered SQL files, applied in one transaction, by one instance at a time: an advisory lock.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../lib/operator-error.js'
import type { RootSql, Sql } from './database.js'
import { beginPatiently, type Patience } from './locks.js'

interface Migration {
  readonly name: string
  readonly text: string
  /** SHA-256 of the text in hex. */
  readonly checksum: string
}

/** The advisory lock for changes of schema, roles or privileges: a number that nothing else uses. */
export const migrationLockId = 7_253_009_114

/**
 * Applies the folder's migrations that the database lacks, in order of name. Migrations of a newer version in
 * the database are ignored: an older instance may start while a newer one runs.
 * @returns the names of the migrations applied
 * @throws {OperatorError} when a file was edited after it was applied, or others hold the locks for too long
 */
export async function migrate(sql: RootSql, folder: string, patience: Patience = {}): Promise<string[]> {
  const migrations = await readMigrations(folder)
  return beginPatiently(sql, patience, async (transaction) => {
    // With nothing to apply, neither the lock nor the owner's privileges are needed.
    if (missingOf(migrations, await appliedMigrations(transaction)).length === 0) return []
    await transaction`select pg_advisory_xact_lock(${migrationLockId})`
    return applyMissing(transaction, migrations)
  })
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
      const advice = 'Restore it, and put the change into a new migration.'
      throw new OperatorError(`Migration ${name} was edited after it was applied. ${advice}`)
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

/** The names of the migrations in a folder and its subfolders, in the order in which they apply. */
export async function migrationNames(folder: string): Promise<string[]> {
  return (await migrationFiles(folder)).map((file) => path.basename(file))
}

async function migrationFiles(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  return files
    .filter((file) => /^\d{4}-[\w-]+\.sql$/.test(path.basename(file)))
    .sort((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1))
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const files = await migrationFiles(folder)
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(folder, file), 'utf8')
      return { name: path.basename(file), text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}
