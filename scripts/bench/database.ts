// Creates the database of a benchmark, on an embedded server in a temporary directory or on the server of
// --database-url. It is migrated and filled, and has API keys with unlimited quotas.

import { randomBytes } from 'node:crypto'
import { createApiKey, hashApiKey } from 'contract-service/internal/auth/api-key'
import { customPlan, readServiceContract } from 'contract-service/internal/auth/plans'
import { insertApiKey } from 'contract-service/internal/database/api-keys'
import type { RootSql } from 'contract-service/internal/database/database'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import { migrate } from 'contract-service/internal/database/migrate'
import { unlessAborted } from 'contract-service/internal/lib/abort'
import { contractFile, migrationsFolders } from 'contract-service/internal/lib/paths'
import { makeTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { pino } from 'pino'
import postgres from 'postgres'
import { nameOf, parentOf } from '../faults/processes.js'
import type { Target } from './loads.js'

export interface BenchDatabase extends Target {
  /**
   * Connection settings for the subjects: DATABASE_URL, and libpq variables for settings that it cannot
   * express.
   */
  readonly env: Readonly<Record<string, string>>
  /** The version of PostgreSQL, and if it has JIT. */
  readonly version: string
  /** The server's main process, if it runs on this machine. */
  readonly serverPid: number | undefined
  readonly sql: RootSql
  close(): Promise<void>
}

const quotaMax = 2 ** 31 - 1
const keyCount = 16

/**
 * Creates a database with so many animals: a quarter for each status, and a quarter without status.
 * @param interruption cancels the creation, and removes the database
 */
export async function startDatabase(
  url: string | undefined,
  rows: number,
  interruption: AbortSignal,
): Promise<BenchDatabase> {
  const server = url === undefined ? await embeddedServer(interruption) : externalServer(url)
  const name = `animal_store_bench_${randomBytes(4).toString('hex')}`
  const admin = server.connect(undefined)
  const sql = server.connect(name)
  const close = async () => {
    try {
      await sql.end({ timeout: 0 })
      await admin`drop database if exists ${admin(name)} with (force)`
    } finally {
      await admin.end()
      await server.stop()
    }
  }
  try {
    const prepared = await unlessAborted(prepare(admin, sql, name, rows), interruption)
    return { ...prepared, env: server.envOf(name), rows, sql, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function prepare(admin: RootSql, sql: RootSql, name: string, rows: number) {
  await admin`create database ${admin(name)}`
  await migrate(sql, migrationsFolders)
  const key = await addKey(sql)
  const keys = [key]
  while (keys.length < keyCount) keys.push(await addKey(sql))
  await fill(sql, rows)
  const [row] = await sql<{ version: string; pid: number }[]>`
    select pg_backend_pid() as pid, current_setting('server_version') ||
      case when pg_jit_available() then ' with JIT' else ' without JIT' end as version`
  return { key, keys, version: row?.version ?? '', serverPid: serverOf(row?.pid) }
}

interface DatabaseServer {
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

async function embeddedServer(interruption: AbortSignal): Promise<DatabaseServer> {
  const { directory, remove } = await makeTemporaryDirectory()
  const log = pino({ level: 'silent' })
  const server = await startEmbedded(directory, log, interruption).catch(async (error) => {
    await remove()
    throw error
  })
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

function externalServer(url: string): DatabaseServer {
  const urlOf = (database: string | undefined) => {
    const target = new URL(url)
    if (database !== undefined) target.pathname = `/${database}`
    return target.href
  }
  return {
    connect: (database) => postgres(urlOf(database), options),
    envOf: (database) => ({ DATABASE_URL: urlOf(database) }),
    stop: async () => {},
  }
}

/** Creates and returns an API key whose quotas are never used up. */
export async function addKey(sql: RootSql): Promise<string> {
  const key = createApiKey()
  const plan = customPlan(await readServiceContract(contractFile)) ?? ''
  const terms = { plan, perMinute: quotaMax, perDay: quotaMax, expiresAt: null, createdBy: null }
  await insertApiKey(sql, { name: 'bench', scopes: [], ...terms, hash: hashApiKey(key) })
  return key
}

async function fill(sql: RootSql, rows: number): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select 'pet ' || i, i % 100, (array['available', 'pending', 'sold', null])[1 + i % 4]
    from generate_series(1, ${rows}::int) i`
  await sql`vacuum analyze pets`
  await sql`checkpoint`
}

// Returns the pid of the server's main process, the parent of its backends. Checks the process's name,
// because on a remote server the pid means nothing here.
function serverOf(backend: number | undefined): number | undefined {
  const parent = backend === undefined ? undefined : parentOf(backend)
  return parent !== undefined && nameOf(parent).startsWith('postgres') ? parent : undefined
}
