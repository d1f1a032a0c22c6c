// The role of a service that may read and write rows and change nothing else: no table, no role, no migration. It has the settings of
// requests' sessions, too, for where a pooler gives out sessions that the service cannot set.

import { OperatorError } from '../operator-error.js'
import { boundsOf, requestSettings, sessionSettings, statementTimeoutMs } from './pools.js'
import type { Database, RootSql } from './types.js'

export interface Login {
  readonly name: string
  readonly password: string
}

// As for migrations: one at a time.
const lockId = 7_253_009_114

/** Makes the role, or gives it a new password, its rights to every table that there is now, and its settings. */
export async function prepareServiceRole(
  sql: RootSql,
  { name, password }: Login,
  handlerTimeoutMs: number,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${lockId})`
    const [row] = await transaction<{ exists: boolean; schema: string }[]>`
      select exists (select from pg_roles where rolname = ${name}), current_schema() as schema`
    const search_path = String(row?.schema) // where the owner's migrations made the tables
    const settings = {
      ...sessionSettings,
      ...boundsOf(statementTimeoutMs(handlerTimeoutMs)),
      ...requestSettings,
      search_path,
    }
    // These statements take no parameters: PostgreSQL itself quotes what goes into them.
    const [verb] = await transaction<{ text: string }[]>`
      select format('%s role %I with login password %L', ${row?.exists ? 'alter' : 'create'}::text,
        ${name}::text, ${password}::text) as text`
    await transaction.unsafe(verb?.text ?? '')
    const [role, schema] = [transaction(name), transaction(search_path)]
    await transaction`grant usage on schema ${schema} to ${role}`
    await transaction`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`
    await transaction`grant usage, select on all sequences in schema ${schema} to ${role}`
    await transaction`revoke insert, update, delete on schema_migrations from ${role}`
    for (const [setting, value] of Object.entries(settings)) {
      const [statement] = await transaction<{ text: string }[]>`
        select format('alter role %I in database %I set %I = %L', ${name}::text, current_database(), ${setting}::text,
          ${String(value)}::text) as text`
      await transaction.unsafe(statement?.text ?? '')
    }
  })
}

/**
 * Looks for what the service needs of a pooler: transactions, and sessions whose role has the settings that the service cannot set.
 * @throws {OperatorError} when one is not there
 */
export async function checkPooled(
  { sql, isPooled }: Pick<Database, 'sql' | 'isPooled'>,
  handlerTimeoutMs: number,
): Promise<void> {
  if (!isPooled) return
  const needed = [...needsOf(statementTimeoutMs(handlerTimeoutMs))]
  const settings = await sql
    .begin(
      (transaction) => transaction<{ name: string; setting: string }[]>`
        select name, setting from pg_settings where name in ${transaction(needed.map(([name]) => name))}`,
    )
    .catch((cause: Error) => {
      throw new OperatorError(
        `The database is behind a pooler, where a transaction fails: ${cause.message}\nHave it pool by the transaction or by the session.`,
        { cause },
      )
    })
  const found = new Map(settings.map(({ name, setting }) => [name, setting]))
  const missing = needed.filter(([name, { isMet }]) => !isMet(found.get(name) ?? ''))
  if (missing.length === 0) return
  throw new OperatorError(
    `The database is behind a pooler, and the settings of the role "${sql.options.user}" lack ${missing.map(([name, { text }]) => `${name} ${text}`).join(', ')}.
Run \`npm run migrate\` with its SERVICE_DATABASE_URL, and have the pooler reconnect.`,
  )
}

interface Need {
  readonly text: string
  isMet(setting: string): boolean
}

function needsOf(timeoutMs: number): Map<string, Need> {
  const needs = new Map<string, Need>()
  for (const name of Object.keys(boundsOf(timeoutMs)))
    needs.set(name, {
      text: `of ${timeoutMs} ms at the most`,
      isMet: (setting) => Number(setting) >= 1 && Number(setting) <= timeoutMs,
    })
  // That of dates tells the order of their parts, too.
  for (const [name, value] of Object.entries(sessionSettings))
    needs.set(name, { text: value, isMet: (setting) => setting.startsWith(value) })
  return needs
}
