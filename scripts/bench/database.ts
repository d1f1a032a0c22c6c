// The database of a run: a server of its own in a temporary directory, or the one that is named; in it a database of its
// own, migrated as the service does it, filled, with a key that nobody runs out of.

import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import postgres from 'postgres'
import { createApiKey, hashApiKey } from '../../src/access/api-key.js'
import { insertApiKey } from '../../src/database/api-keys.js'
import type { RootSql } from '../../src/database/connect.js'
import { startEmbedded } from '../../src/database/embedded.js'
import { migrate } from '../../src/database/migrate.js'
import { migrationsFolder } from '../../src/project.js'
import { makeTemporaryDirectory } from '../stack/directory.js'
import { nameOf, parentOf } from '../stack/processes.js'

export interface BenchDatabase {
  /** How every subject reaches it: DATABASE_URL, and libpq's variables for what a URL cannot say. */
  readonly env: Readonly<Record<string, string>>
  readonly key: string
  readonly version: string
  /** The server's first process, where it runs on this machine. */
  readonly serverPid: number | undefined
  readonly sql: RootSql
  close(): Promise<void>
}

const quotaMax = 2 ** 31 - 1

/** Makes the database with so many animals, a quarter of them of each status and of none. */
export async function startDatabase(url: string | undefined, rows: number): Promise<BenchDatabase> {
  const server = url === undefined ? await ownServer() : namedServer(url)
  const name = `animal_store_bench_${randomBytes(4).toString('hex')}`
  const admin = server.connect(undefined)
  await admin`create database ${admin(name)}`
  const sql = server.connect(name)
  const key = createApiKey()
  await migrate(sql, migrationsFolder)
  const terms = { name: 'bench', plan: 'enterprise', perMinute: quotaMax, perDay: quotaMax, expiresAt: null }
  await insertApiKey(sql, { ...terms, hash: hashApiKey(key) })
  await fill(sql, rows)
  const [row] = await sql<{ version: string; pid: number }[]>`
    select current_setting('server_version') as version, pg_backend_pid() as pid`
  return {
    env: server.envOf(name),
    key,
    version: row?.version ?? '',
    serverPid: serverOf(row?.pid),
    sql,
    close: async () => {
      await sql.end({ timeout: 1 })
      await admin`drop database ${admin(name)} with (force)`
      await admin.end()
      await server.stop()
    },
  }
}

interface Server {
  connect(database: string | undefined): RootSql
  envOf(database: string): Record<string, string>
  stop(): Promise<void>
}

const options = {
  max: 1,
  types: { bigint: postgres.BigInt },
  fetch_types: false,
  onnotice: () => {},
}

async function ownServer(): Promise<Server> {
  const { directory, remove } = await makeTemporaryDirectory()
  const server = await startEmbedded(directory, pino({ level: 'silent' }))
  const { host, port, username } = server.connection
  return {
    connect: (database) => postgres({ ...server.connection, database: database ?? 'postgres', ...options }),
    envOf: (database) => ({
      DATABASE_URL: `postgres:///${database}`,
      PGHOST: host,
      PGPORT: String(port),
      PGUSER: username,
      PGDATABASE: database,
    }),
    stop: async () => {
      await server.stop()
      await remove()
    },
  }
}

function namedServer(url: string): Server {
  const of = (database: string | undefined) => {
    const target = new URL(url)
    if (database !== undefined) target.pathname = `/${database}`
    return target.href
  }
  return {
    connect: (database) => postgres(of(database), options),
    envOf: (database) => ({ DATABASE_URL: of(database) }),
    stop: async () => {},
  }
}

async function fill(sql: RootSql, rows: number): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select 'pet ' || i, i % 100, (array['available', 'pending', 'sold', null])[1 + i % 4]
    from generate_series(1, ${rows}::int) i`
  await sql`vacuum analyze pets`
  await sql`checkpoint`
}

// Each connection has a process, and all of them one parent; a server elsewhere may have the same number for it.
function serverOf(backend: number | undefined): number | undefined {
  const parent = backend === undefined ? undefined : parentOf(backend)
  return parent !== undefined && nameOf(parent).startsWith('postgres') ? parent : undefined
}
