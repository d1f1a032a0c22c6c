// The way to PostgreSQL: the server that DATABASE_URL names, or the embedded one.

import type { Logger } from 'pino'
import postgres from 'postgres'
import { unlessAborted, untilAborted } from '../lib/abort.js'
import { OperatorError } from '../operator-error.js'
import { Connection, type MakeHandle } from './driver/connection.js'
import type { Pool } from './driver/pool.js'
import { socketOption } from './driver/socket.js'
import { startEmbedded } from './embedded/server.js'
import { migrate, migrationNames } from './migrate.js'
import {
  boundsOf,
  closeTimeoutSeconds,
  connectionOptions,
  createPools,
  endPools,
  type Make,
  type Reads,
} from './pools.js'
import { type Place, ReadServers, readPlace, Servers } from './servers.js'
import type { Database, Pools, RootSql } from './types.js'
import { isLoginRefused, isTlsRefused, isUnavailable } from './unavailable.js'

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined
  /** Of standbys that requests read from. */
  readonly databaseReadUrl?: string | undefined
  readonly dataDir: string | undefined
  readonly startTimeoutMs: number
  readonly handlerTimeoutMs: number
  /** Of requests, of all processes of the instance. */
  readonly databaseConnections: number
  /** Processes that share the connections of an instance. */
  readonly workers: number
  readonly migrationsFolder: string
  readonly log: Logger
  /** Ends what `connect` waits for; nothing is left behind. */
  readonly interruption?: AbortSignal
}

const commandConnectionsMax = 4
const commandTimeoutMs = 5_000
// After the start they are not needed.
const commandIdleSeconds = 1
const startRetryMs = 250
// How often a standby is tried while the primary stands in for it.
const returnMs = 5_000

/**
 * Connects, waiting a while for a server that is still starting, and migrates.
 * @throws {Error} saying what to do, when there is no database to be had
 */
export async function connect({
  databaseUrl,
  databaseReadUrl,
  dataDir,
  startTimeoutMs,
  handlerTimeoutMs,
  databaseConnections,
  workers,
  migrationsFolder,
  log,
  interruption = new AbortController().signal,
}: DatabaseOptions): Promise<Database> {
  const place = databaseUrl === undefined ? undefined : readPlace(databaseUrl)
  const server = place === undefined ? await startEmbedded(dataDir, log, interruption) : undefined
  const make: Make = (options) =>
    place
      ? postgres(place.url, { ...place.login, ...options })
      : postgres({ ...server?.connection, ...options })
  const servers = place?.servers ?? new Servers()
  const standbys = databaseReadUrl === undefined ? undefined : readPlace(databaseReadUrl)
  let returning: NodeJS.Timeout | undefined
  const connections = Math.floor(databaseConnections / workers)
  let pools: Pools | undefined
  let commands: RootSql | undefined
  const close = async (atOnce = new AbortController().signal) => {
    clearInterval(returning)
    const ends = Promise.all([commands?.end({ timeout: closeTimeoutSeconds }), pools && endPools(pools)])
    await Promise.race([ends, untilAborted(atOnce)])
    await server?.stop()
  }
  const prepare = async () => {
    await untilReachable(make, servers, startTimeoutMs, log)
    const { isPooled } = servers
    const sql = make({ ...commandOptions(log, isPooled), ...servers.current })
    commands = sql
    await checkEncoding(sql)
    const applied = await migrate(sql, migrationsFolder).catch((error) => {
      throw notAllowed(error) ? mayNotMigrate(sql, error) : error
    })
    const reads = place && standbys && readsAt(standbys, place, await migrationNames(migrationsFolder))
    pools = createPools(make, handlerTimeoutMs, log, connections, servers, reads)
    if (reads !== undefined) {
      returning = setInterval(returnToStandby, returnMs, reads, pools.reads, log).unref()
      void pools.reads.sql`select 1`.catch(() => {}) // connects: where no standby can serve, the log says so now
    }
    return { sql, pools, isPooled, applied }
  }
  try {
    const { applied, ...database } = await unlessAborted(prepare(), interruption)
    if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    if (database.isPooled) log.info('the database is behind a pooler: no statement is prepared or pipelined')
    return { ...database, embedded: server !== undefined, close }
  } catch (error) {
    await close(interruption)
    throw error
  }
}

// A standby's own URL, and the primary's servers, as theirs says, for when none of the standbys answers.
function readsAt({ url, login, servers }: Place, primary: Place, migrations: readonly string[]): Reads {
  const { ssl } = postgres(primary.url).options
  const others = primary.servers.all.map((server) => ({ ssl, ...server, ...primary.login }))
  const isPooled = servers.isPooled || primary.servers.isPooled
  return {
    make: (options) => postgres(url, { ...login, ...options }),
    servers: new ReadServers(servers.all, others, isPooled, migrations),
  }
}

async function returnToStandby({ make, servers }: Reads, pool: Pool, log: Logger): Promise<void> {
  if (!servers.isStandIn) return
  const makeOne: MakeHandle = (hooks) => make({ ...commandOptions(log, true), ...hooks })
  try {
    const connection = await Connection.open(makeOne, servers.standbys, commandTimeoutMs, () => {})
    await connection.end(0)
    servers.startWith(servers.standbys.current)
    pool.giveUp() // for others, which begin with that one
  } catch (error) {
    log.debug({ reason: (error as Error).message }, 'still no standby can serve')
  }
}

function commandOptions(log: Logger, isPooled: boolean) {
  return {
    ...connectionOptions(log, isPooled, boundsOf(commandTimeoutMs)),
    max: commandConnectionsMax,
    idle_timeout: commandIdleSeconds,
    backoff: () => startRetryMs / 1000,
    ...socketOption,
  }
}

// Not by the handle for commands: postgres.js would try a server that hangs up, as a balancer without a primary does, without end.
async function untilReachable(make: Make, servers: Servers, timeoutMs: number, log: Logger): Promise<void> {
  const deadline = performance.now() + timeoutMs
  // As behind a pooler, which refuses settings; whether there is one, it is to tell.
  const makeOne: MakeHandle = (hooks) => make({ ...commandOptions(log, true), ...hooks })
  for (let attempt = 1; ; attempt++) {
    try {
      const connection = await Connection.open(makeOne, servers, commandTimeoutMs, () => {})
      return await connection.end(0)
    } catch (error) {
      const isFinal = !isUnavailable(error) || isLoginRefused(error) || isTlsRefused(error)
      if (isFinal || performance.now() > deadline) throw unreachable(make, servers, error)
      if (attempt === 1) log.warn({ reason: (error as Error).message }, 'waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, startRetryMs))
    }
  }
}

// Where it is another, PostgreSQL has no place for some characters.
async function checkEncoding(sql: RootSql): Promise<void> {
  const [row] = await sql<{ encoding: string }[]>`select current_setting('server_encoding') as encoding`
  if (row?.encoding === 'UTF8') return
  throw new OperatorError(
    `The database "${sql.options.database}" is in ${row?.encoding}, and has to be in UTF8.\nMake one: create database NAME template template0 encoding 'UTF8'`,
  )
}

// SQLSTATE 42501: the role may not do what a migration does.
function notAllowed(error: unknown): boolean {
  return (error as { code?: unknown }).code === '42501'
}

function mayNotMigrate(sql: RootSql, cause: unknown): Error {
  return new OperatorError(
    `The database lacks migrations, or the role "${sql.options.user}" lacks its rights, and may not mend it: ${(cause as Error).message}\nRun \`npm run migrate\` with the DATABASE_URL of its owner, and this one as SERVICE_DATABASE_URL.`,
    { cause },
  )
}

function adviceOn(cause: unknown): string {
  if (isLoginRefused(cause))
    return 'Correct the user or the password in DATABASE_URL, or change those of the database.'
  if (isTlsRefused(cause)) return 'Have it take TLS, or say sslmode=disable in DATABASE_URL.'
  return 'Start it or correct DATABASE_URL; without DATABASE_URL the service runs a PostgreSQL of its own.'
}

// Hosts and database, but never the password.
function unreachable(make: Make, servers: Servers, cause: unknown): Error {
  const options = servers.all.map((server) => make({ ...server }).options)
  const hosts = options.map(({ host, port }) => `${host[0]}:${port[0]}`)
  const advice = adviceOn(cause)
  return new OperatorError(
    `Cannot use database "${options[0]?.database}" at ${hosts.join(', ')}: ${(cause as Error).message || String((cause as { code?: string }).code)}\n${advice}`,
    { cause },
  )
}
