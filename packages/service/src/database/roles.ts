// The service's role. It may read and write rows, but change no table, role or migration, so an intruder
// cannot drop a table. It also has the session settings of requests, because behind a pooler the service
// cannot set them.

import { OperatorError } from '../lib/operator-error.js'
import { begin } from './begin.js'
import type { Database, RootSql, RootTransaction } from './database.js'
import { beginPatiently, type Patience } from './locks.js'
import { migrationLockId } from './migrate.js'
import {
  newerSetting,
  requestSettings,
  sessionSettings,
  statementTimeoutMs,
  timeoutSettings,
} from './pools.js'

// The settings of the role besides timeouts and schema.
const settingsOfRole = { ...sessionSettings, ...newerSetting, ...requestSettings }

export interface Login {
  readonly name: string
  /** If empty or undefined, a certificate suffices, and the role keeps any password that it has. */
  readonly password: string | undefined
}

/**
 * Creates the role or changes its password, grants it privileges on all tables, and applies its settings.
 * @throws {OperatorError} if other sessions hold the locks for too long
 */
export async function prepareServiceRole(
  sql: RootSql,
  { name, password }: Login,
  handlerTimeoutMs: number,
  patience: Patience = {},
): Promise<void> {
  await beginPatiently(sql, patience, async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${migrationLockId})`
    const [row] = await transaction<{ exists: boolean; schema: string }[]>`
      select exists (select from pg_roles where rolname = ${name}), current_schema() as schema`
    const search_path = String(row?.schema) // where the owner's migrations created the tables
    const settings = {
      ...settingsOfRole,
      ...timeoutSettings(statementTimeoutMs(handlerTimeoutMs)),
      search_path,
    }
    // CREATE ROLE and ALTER ROLE take no parameters, so PostgreSQL quotes the values.
    const [verb] = await transaction<{ text: string }[]>`
      select format('%s role %I with login', ${row?.exists ? 'alter' : 'create'}::text, ${name}::text)
        || coalesce(' password ' || quote_literal(${password || null}::text), '') as text`
    await transaction.unsafe(verb?.text ?? '')
    await grantRows(transaction, name, search_path)
    for (const [setting, value] of Object.entries(settings))
      await set(transaction, name, setting, String(value))
  })
}

async function grantRows(transaction: RootTransaction, roleName: string, schemaName: string): Promise<void> {
  const [role, schema] = [transaction(roleName), transaction(schemaName)]
  await transaction`grant usage on schema ${schema} to ${role}`
  await transaction`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`
  await transaction`grant usage, select on all sequences in schema ${schema} to ${role}`
  await transaction`revoke insert, update, delete on schema_migrations from ${role}`
}

async function set(
  transaction: RootTransaction,
  role: string,
  setting: string,
  value: string,
): Promise<void> {
  const [statement] = await transaction<{ text: string }[]>`
    select format('alter role %I in database %I set %I = %L',
      ${role}::text, current_database(), ${setting}::text, ${value}::text) as text
    from pg_settings where name = ${setting}`
  if (statement !== undefined) await transaction.unsafe(statement.text) // undefined: the server is too old
}

/**
 * Checks that transactions work.
 * @throws {OperatorError} if one fails, as it does with a pooler that pools by statement
 */
export async function checkTransactions(sql: RootSql): Promise<void> {
  await begin(sql, (transaction) => transaction`select 1`).catch((cause: Error) => {
    throw new OperatorError(
      `The database is behind a connection pooler, through which a transaction fails: ${cause.message}
Set the pooler to transaction or session pooling.`,
      { cause },
    )
  })
}

/**
 * Checks that the role has the settings that the service cannot set behind a pooler.
 * @throws {OperatorError} if one is missing
 */
export async function checkPooled(
  { sql, isPooled }: Pick<Database, 'sql' | 'isPooled'>,
  handlerTimeoutMs: number,
): Promise<void> {
  if (!isPooled) return
  const timeouts = timeoutSettings(statementTimeoutMs(handlerTimeoutMs))
  const needed = Object.keys({ ...timeouts, ...settingsOfRole })
  const settings = await sql<{ name: string; setting: string }[]>`
    select name, setting from pg_settings where name in ${sql(needed)}`
  const missing = missingOf(new Map(settings.map(({ name, setting }) => [name, setting])), timeouts)
  if (missing.length === 0) return
  throw new OperatorError(
    `The database is behind a connection pooler, and the role "${sql.options.user}" lacks these settings: ` +
      `${missing.join(', ')}.\nRun \`migrate\` with this role in SERVICE_DATABASE_URL, ` +
      'then make the pooler reconnect (PgBouncer: RECONNECT).',
  )
}

// Returns the settings that are missing or wrong, with the values that they need.
function missingOf(found: ReadonlyMap<string, string>, timeouts: Readonly<Record<string, number>>): string[] {
  const isWithin = (setting: number, ms: number) => setting >= 1 && setting <= ms
  return [
    ...Object.entries(timeouts).flatMap(([name, ms]) =>
      isWithin(Number(found.get(name)), ms) ? [] : [`${name} of at most ${ms} ms`],
    ),
    // DateStyle also contains the order of day and month (ISO, MDY).
    ...Object.entries(settingsOfRole).flatMap(([name, value]) =>
      (found.get(name) ?? value).startsWith(value) ? [] : [`${name} ${value}`],
    ),
  ]
}
