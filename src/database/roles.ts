// The role of a service that may read and write rows and change nothing else: no table, no role, no migration. It has the settings of
// requests' sessions, too, for where a pooler gives out sessions that the service cannot set.

import { OperatorError } from '../operator-error.js'
import { boundsOf, requestSettings, statementTimeoutMs } from './pools.js'
import type { Database, RootSql } from './types.js'

/** A role to log in with. */
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
  const settings = { ...boundsOf(statementTimeoutMs(handlerTimeoutMs)), ...requestSettings }
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${lockId})`
    const [row] = await transaction<{ exists: boolean }[]>`
      select exists (select from pg_roles where rolname = ${name})`
    // These statements take no parameters: PostgreSQL itself quotes what goes into them.
    const [verb] = await transaction<{ text: string }[]>`
      select format('%s role %I with login password %L', ${row?.exists ? 'alter' : 'create'}::text,
        ${name}::text, ${password}::text) as text`
    await transaction.unsafe(verb?.text ?? '')
    const role = transaction(name)
    await transaction`grant usage on schema public to ${role}`
    await transaction`grant select, insert, update, delete on all tables in schema public to ${role}`
    await transaction`grant usage, select on all sequences in schema public to ${role}`
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
 * Looks for what the service needs of a pooler: transactions, and sessions whose role bounds the statements of requests.
 * @throws {OperatorError} when one is not there
 */
export async function checkPooled(
  { sql, isPooled }: Pick<Database, 'sql' | 'isPooled'>,
  handlerTimeoutMs: number,
): Promise<void> {
  if (!isPooled) return
  const timeoutMs = statementTimeoutMs(handlerTimeoutMs)
  const rows = await sql
    .begin(
      (transaction) => transaction<{ name: string }[]>`
        select name from pg_settings
        where name in ${transaction(Object.keys(boundsOf(timeoutMs)))} and setting::integer not between 1 and ${timeoutMs}
        order by name`,
    )
    .catch((cause: Error) => {
      throw new OperatorError(
        `The database is behind a pooler, where a transaction fails: ${cause.message}\nHave it pool by the transaction or by the session.`,
        { cause },
      )
    })
  if (rows.length === 0) return
  const names = rows.map(({ name }) => name).join(' and ')
  throw new OperatorError(
    `The database is behind a pooler, and the settings of the role "${sql.options.user}" lack ${names} of ${timeoutMs} ms at the most.
Run \`npm run migrate\` with its SERVICE_DATABASE_URL, and have the pooler reconnect.`,
  )
}
