// Copies the service's tables from one embedded server to another.

import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import postgres from 'postgres'
import { begin } from '../../src/database/begin.js'
import type { RootSql, Sql } from '../../src/database/database.js'
import { socketOption } from '../../src/database/driver/socket.js'
import { valueTypes } from '../../src/database/driver/values.js'
import type { EmbeddedServer } from '../../src/database/embedded/embedded-server.js'
import { migrate } from '../../src/database/migrate.js'
import { OperatorError } from '../../src/lib/operator-error.js'
import { migrationsFolders } from '../../src/lib/paths.js'
import { projectName } from '../../src/lib/project-name.js'

const inUse = 'A service uses the store. Stop it first.'

/**
 * Migrates both stores and replaces the tables of the second, in one transaction.
 * @param folder for the file of one table at a time; the user that both servers run as can write to it
 * @returns the amount that was copied, such as `3 rows of 4 tables`
 * @throws {OperatorError} if a service uses the first store, or not all rows were copied
 */
export async function copyStore(from: EmbeddedServer, to: EmbeddedServer, folder: string): Promise<string> {
  const [source, target] = [connectTo(from), connectTo(to)]
  try {
    const [row] = await source<{ users: number }[]>`
      select count(*)::int as users from pg_stat_activity where application_name = ${`${projectName}-user`}`
    if (row?.users !== 1) throw new OperatorError(inUse)
    for (const each of [source, target]) await migrate(each, migrationsFolders)
    const rows = await begin(target, (transaction) => copyTables(source, transaction, folder))
    await target`analyze`
    return rows
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}

/**
 * Checks that the server of a store has stopped.
 * @throws {OperatorError} if a service has started it again
 */
export function checkUnused(store: string): void {
  if (existsSync(path.join(store, 'data/postmaster.pid'))) throw new OperatorError(inUse)
}

function connectTo({ connection }: EmbeddedServer): RootSql {
  return postgres({
    ...connection,
    ...socketOption,
    max: 1,
    types: valueTypes,
    fetch_types: false,
    onnotice: () => {},
  })
}

async function copyTables(source: Sql, target: Sql, folder: string): Promise<string> {
  const tables = await source<{ name: string }[]>`
    select quote_ident(relname) as name from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname <> 'schema_migrations'`
  await target`set local session_replication_role = replica` // foreign keys allow any order of tables
  // The servers write and read a file themselves, because streams of postgres.js drop errors.
  const file = path.resolve(folder, 'table')
  const literal = `'${file.replaceAll("'", "''")}'`
  let rows = 0n
  for (const { name } of tables) {
    await target.unsafe(`truncate ${name} cascade`)
    await source.unsafe(`copy ${name} to ${literal}`)
    await target.unsafe(`copy ${name} from ${literal}`)
    await rm(file)
    const [there, here] = [await count(source, name), await count(target, name)]
    if (there !== here) throw new OperatorError(`${here} of ${there} rows of ${name} were copied.`)
    rows += here
  }
  const sequences = await source<{ name: string; last: bigint }[]>`
    select quote_ident(sequencename) as name, last_value as last from pg_sequences
    where schemaname = current_schema() and last_value is not null`
  for (const { name, last } of sequences) await target`select setval(${name}::regclass, ${last})`
  return `${rows.toLocaleString('en')} rows of ${tables.length} tables`
}

async function count(sql: Sql, name: string): Promise<bigint> {
  const [row] = await sql.unsafe<{ rows: bigint }[]>(`select count(*) as rows from ${name}`)
  return row?.rows ?? 0n
}
