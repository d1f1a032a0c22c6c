// Applies migrations, which are numbered SQL files. Successive migrations share one transaction. An advisory
// lock lets one instance at a time apply them.

import { OperatorError } from '../lib/operator-error.js'
import type { RootSql, Sql } from './database.js'
import { beginPatiently, lockPatiently, type Patience } from './locks.js'
import { type Migration, readMigrations, runAlone, runStatements } from './migration.js'

/** The advisory lock for changes of schema, roles or privileges: a number that nothing else uses. */
export const migrationLockId = 7_253_009_114

export interface MigrateOptions extends Patience {
  /** True if a pooler is in front of the database. */
  readonly isPooled?: boolean
}

/**
 * Applies the folders' migrations that the database lacks, in order of name. Ignores a newer version's
 * migrations in the database: an older instance may start while a newer one runs.
 * @returns the names of the migrations applied
 * @throws {OperatorError} if a file was edited after it was applied, or others hold the locks for too long
 */
export async function migrate(
  sql: RootSql,
  folders: readonly string[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(folders)
  // If nothing is missing, the service needs neither the lock nor the owner's privileges.
  const missing = await beginPatiently(sql, options, (transaction) => missingOf(migrations, transaction))
  const applied: string[] = []
  for (const step of stepsOf(missing)) applied.push(...(await applyStep(sql, step, options)))
  return applied
}

/** True if all of these migrations are applied. */
export async function isMigrated(sql: Sql, names: readonly string[]): Promise<boolean> {
  const applied = await appliedMigrations(sql)
  return names.every((name) => applied.has(name))
}

// Groups the migrations that share a transaction. A migration that cannot run in one is a step of its own.
function stepsOf(migrations: readonly Migration[]): Migration[][] {
  const steps: Migration[][] = []
  for (const each of migrations) {
    const last = steps.at(-1)
    if (last !== undefined && each.isTransactional && last[0]?.isTransactional) last.push(each)
    else steps.push([each])
  }
  return steps
}

async function applyStep(
  sql: RootSql,
  step: readonly Migration[],
  { isPooled, ...patience }: MigrateOptions,
): Promise<string[]> {
  if (step.every(({ isTransactional }) => isTransactional))
    return beginPatiently(sql, patience, async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${migrationLockId})`
      return applyMissing(transaction, step, runStatements)
    })
  if (isPooled)
    throw new OperatorError(
      `Migration ${step[0]?.name} needs a session of its own, which a connection pooler does not give.
Run \`migrate\` with a DATABASE_URL that leads to PostgreSQL itself.`,
    )
  return lockPatiently(sql, patience, migrationLockId, (session) => applyMissing(session, step, runAlone))
}

async function applyMissing(
  sql: Sql,
  migrations: readonly Migration[],
  run: (sql: Sql, migration: Migration) => Promise<void>,
): Promise<string[]> {
  await sql`
    create table if not exists schema_migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`
  const missing = await missingOf(migrations, sql)
  for (const migration of missing) {
    await run(sql, migration)
    const { name, checksum } = migration
    await sql`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
  }
  return missing.map(({ name }) => name)
}

async function missingOf(migrations: readonly Migration[], sql: Sql): Promise<Migration[]> {
  const applied = await appliedMigrations(sql)
  for (const { name, checksum } of migrations) {
    if ((applied.get(name) ?? checksum) !== checksum) {
      const advice = 'Restore it, and put the change into a new migration.'
      throw new OperatorError(`Migration ${name} was edited after it was applied. ${advice}`)
    }
  }
  return migrations.filter(({ name }) => !applied.has(name))
}

async function appliedMigrations(sql: Sql): Promise<Map<string, string>> {
  const [table] = await sql<{ name: string | null }[]>`select to_regclass('schema_migrations')::text as name`
  if (table?.name == null) return new Map()
  const rows = await sql<{ name: string; checksum: string }[]>`select name, checksum from schema_migrations`
  return new Map(rows.map(({ name, checksum }) => [name, checksum]))
}
