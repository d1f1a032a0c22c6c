// The role of a service that may read and write rows and change nothing else: no table, no role, no migration.

import type { RootSql } from './types.js'

/** A role to log in with. */
export interface Login {
  readonly name: string
  readonly password: string
}

// As for migrations: one at a time.
const lockId = 7_253_009_114

/** Makes the role, or gives it a new password, and its rights to every table that there is now. */
export async function prepareServiceRole(sql: RootSql, { name, password }: Login): Promise<void> {
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
  })
}
