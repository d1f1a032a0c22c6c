// Adds rows that other tables refer to.

import type { RootSql } from '../../src/database/database.js'

/** Adds rows with nothing but a key, as targets of a test's foreign keys. Handlers cannot read such rows. */
export async function addKeys(
  sql: RootSql,
  table: string,
  column: string,
  keys: readonly (string | number | bigint)[],
): Promise<void> {
  const required = await sql<{ name: string }[]>`
    select attname as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and attnotnull and attname <> ${column}
      and not exists (
        select from pg_index where indrelid = attrelid and indisprimary and attnum = any (indkey))`
  for (const { name } of required)
    await sql`alter table ${sql(table)} alter column ${sql(name)} drop not null`
  for (const key of keys)
    await sql`insert into ${sql(table)} (${sql(column)}) overriding system value values (${String(key)})`
}
