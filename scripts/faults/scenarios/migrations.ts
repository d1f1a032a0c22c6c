// New instances that migrate while other sessions hold the locks that they need.

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RootSql, Sql } from 'contract-service/internal/database/database'
import { migrate, migrationLockId } from 'contract-service/internal/database/migrate'
import { migrationsFolders } from 'contract-service/internal/lib/paths'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import postgres from 'postgres'
import { type Environment, type Report, unless } from '../environment.js'
import { timed, within, withService } from './parts.js'

const startTimeoutMs = 1_000
const reason = /A lock was not released within START_TIMEOUT_MS: process \d+ \(.+\) holds .+/

/** Holds the migration lock of an empty database, on which new instances start. */
export function holdMigrationLock(environment: Environment, instances: number): Promise<Report> {
  const { bounds, database } = environment
  const title = `the migration lock held while ${instances} instances start`
  return withService(environment, title, {}, async () => {
    const name = `${database.env.PGDATABASE}_empty`
    await database.sql`create database ${database.sql(name)}`
    const env = { ...database.env, DATABASE_URL: `postgres:///${name}`, PGDATABASE: name }
    const start = async (timeoutMs: number) => {
      const service = await environment.startService({ ...env, START_TIMEOUT_MS: String(timeoutMs) })
      await service.stop('SIGKILL')
    }
    try {
      return await withConnections(env, async (sql) => {
        const reasons: string[] = []
        const [endedMs, sessions] = await whileHeld(sql, lockMigrations, async () => {
          const end = () => start(startTimeoutMs).catch(({ message }) => reasons.push(message))
          const endedMs = await timed(() => Promise.all(Array.from({ length: instances }, end)))
          return [endedMs, await sessionsAfter(sql, bounds.recoveryMs)] as const
        })
        const startedMs = await timed(() => start(bounds.responseMs))
        const named = reasons.filter((each) => reason.test(each)).length
        return {
          figures: [
            `${named} ended within ${endedMs} ms, and named the holder; ${sessions} sessions left`,
            `another served ${startedMs} ms after the release`,
          ],
          violations: [
            ...unless(named === instances, `the instances ended with: ${reasons.join('; ')}`),
            ...unless(sessions === 0, `${sessions} sessions of ended instances wait for the lock`),
            ...within(startTimeoutMs + 3 * bounds.slackMs, endedMs, 'until the instances ended'),
          ],
        }
      })
    } finally {
      await database.sql`drop database ${database.sql(name)} with (force)`
    }
  })
}

/** Adds a column while a transaction reads the table, like `pg_dump`. No request of an instance may fail. */
export function migrateBehindReader(environment: Environment, forMs: number): Promise<Report> {
  const { database, interruption } = environment
  const title = `a long reader behind a migration, for ${forMs} ms`
  return withService(environment, title, {}, ({ ledger }) =>
    inTemporaryDirectory((folder) =>
      withConnections(database.env, async (sql) => {
        await writeFile(path.join(folder, newest), 'alter table pets add column weight_grams integer;')
        const patience = { timeoutMs: forMs, interruption }
        const ended = await whileHeld(sql, readPets, () =>
          migrate(sql, [...migrationsFolders, folder], patience).catch((error: Error) => error.message),
        )
        const appliedMs = await timed(() => migrate(sql, [...migrationsFolders, folder], { interruption }))
        await removeColumn(sql)
        const refused = ledger.count('503')
        return {
          figures: [`the migration was applied ${appliedMs} ms after the reader had ended`],
          violations: [
            ...unless(reason.test(String(ended)), `the migration ended with: ${ended}`),
            ...unless(refused === 0, `${refused} requests were refused`),
          ],
        }
      }),
    ),
  )
}

const newest = '9999-pet-weight.sql'

async function removeColumn(sql: RootSql): Promise<void> {
  await sql`alter table pets drop column weight_grams`
  await sql`delete from schema_migrations where name = ${newest}`
}

async function lockMigrations(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(${migrationLockId})`
}

async function readPets(sql: Sql): Promise<void> {
  await sql`select from pets limit 1`
}

/** Calls `act` while a transaction keeps the locks that `take` takes. */
async function whileHeld<Result>(
  sql: RootSql,
  take: (transaction: Sql) => Promise<void>,
  act: () => Promise<Result>,
): Promise<Result> {
  const result = await sql.begin(async (transaction) => {
    await take(transaction)
    return act()
  })
  return result as Result // postgres.js types it as an array of queries
}

async function withConnections<Result>(
  { PGHOST = '', PGPORT, PGUSER = '', PGDATABASE = '' }: Readonly<Record<string, string>>,
  act: (sql: RootSql) => Promise<Result>,
): Promise<Result> {
  const place = { host: PGHOST, port: Number(PGPORT), username: PGUSER, database: PGDATABASE }
  const types = { bigint: postgres.BigInt }
  const sql = postgres({ ...place, types, max: 3, fetch_types: false, onnotice: () => {} })
  try {
    return await act(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

// PostgreSQL may take a moment to notice that a process has ended.
async function sessionsAfter(sql: RootSql, timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const rows = await sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'animal-store'`
    if (rows.length === 0 || performance.now() > deadline) return rows.length
    await delay(20)
  }
}
