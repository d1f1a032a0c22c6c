// The way to PostgreSQL: the server that DATABASE_URL names, or the embedded one. What becomes of a
// statement when the server does not answer is decided here.

import type { Logger } from 'pino'
import postgres from 'postgres'
import { unlessAborted, untilAborted } from '../lib/abort.js'
import { OperatorError } from '../operator-error.js'
import type { ConnectionHooks, Handle } from './driver/connection.js'
import { Pool } from './driver/pool.js'
import { socketOption } from './driver/socket.js'
import type { Sql } from './driver/sql.js'
import { startEmbedded } from './embedded/server.js'
import { migrate } from './migrate.js'

export type { Sql }

/** A pool of postgres.js's own: for commands, migrations and LISTEN. */
export type RootSql = Handle

export interface Database {
  /** For whatever is no request: it takes its time, and nobody waits for it. */
  readonly sql: RootSql
  readonly pools: Pools
  readonly embedded: boolean
  /** Ends the connections once their statements are done, or at once when told so, and the embedded server if no one else uses it. */
  close(atOnce?: AbortSignal): Promise<void>
}

/** For the statements of requests. Each pool has connections of its own, so that none waits for the others' work. */
export interface Pools {
  /** Who calls, and whether the database answers. */
  readonly keys: Pool
  /** Statements that only read. */
  readonly reads: Pool
  /** Statements that write, and transactions. */
  readonly writes: Pool
}

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined
  readonly dataDir: string | undefined
  readonly startTimeoutMs: number
  readonly handlerTimeoutMs: number
  readonly migrationsFolder: string
  readonly log: Logger
  /** Ends what `connect` waits for; nothing is left behind. */
  readonly interruption?: AbortSignal
}

// A connection answers as many reads as the server has time for, and a second covers the first's pauses. A write waits for the
// disk, so writes are not pipelined: none waits for another's commit, or for the lock that another waits for.
const sizes = {
  keys: { size: 1, depth: 32 },
  reads: { size: 2, depth: 32 },
  writes: { size: 8, depth: 1 },
} as const
const commandConnectionsMax = 4
const commandTimeoutMs = 5_000
// After the start they are not needed.
const commandIdleSeconds = 10
const connectTimeoutSeconds = 3
// Enough for any statement of a request on a machine that is not starved.
const ampleMs = 2_000
// Beyond the statement timeout, for the way there and back.
const silenceMarginMs = 1_000

/**
 * PostgreSQL's settings for the statements of requests. Each is planned once: to plan a page is as much work as to read it. A plan
 * has to stay right then, however the tables grow after it, so each statement names the order of the index that it is for, and to
 * sort is PostgreSQL's last resort.
 */
export const requestSettings = { plan_cache_mode: 'force_generic_plan', enable_sort: 'off' } as const
const startRetryMs = 250
const closeTimeoutSeconds = 5

/**
 * How long PostgreSQL works at one statement of a request: half of what an answer may take, a fifth where that is ample. A request's last statement is sent so long before its deadline, so
 * that what came of it is known by then: no answer says 503 of what is done afterwards.
 */
export function statementTimeoutMs(handlerTimeoutMs: number): number {
  return Math.floor(Math.max(Math.min(ampleMs, handlerTimeoutMs / 2), handlerTimeoutMs / 5))
}

/**
 * Connects, waiting a while for a server that is still starting, and migrates.
 * @throws {Error} saying what to do, when there is no database to be had
 */
export async function connect({
  databaseUrl,
  dataDir,
  startTimeoutMs,
  handlerTimeoutMs,
  migrationsFolder,
  log,
  interruption = new AbortController().signal,
}: DatabaseOptions): Promise<Database> {
  const server = databaseUrl === undefined ? await startEmbedded(dataDir, log, interruption) : undefined
  const make: Make = (options) =>
    server ? postgres({ ...server.connection, ...options }) : postgres(databaseUrl ?? '', options)
  const sql = make(commandOptions(log))
  const pools = createPools(make, handlerTimeoutMs, log)
  const close = async (atOnce = new AbortController().signal) => {
    const ends = Promise.all([sql.end({ timeout: closeTimeoutSeconds }), endPools(pools)])
    await Promise.race([ends, untilAborted(atOnce)])
    await server?.stop()
  }
  const prepare = async () => {
    await untilReachable(sql, startTimeoutMs, log)
    return migrate(sql, migrationsFolder).catch((error) => {
      throw notAllowed(error) ? mayNotMigrate(sql, error) : error
    })
  }
  try {
    const applied = await unlessAborted(prepare(), interruption)
    if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    return { sql, pools, embedded: server !== undefined, close }
  } catch (error) {
    await close(interruption)
    throw error
  }
}

type Make = (options: postgres.Options<{ bigint: postgres.PostgresType<bigint> }>) => Handle

/** Makes the pools of requests, on the database that `make` reaches. They connect with their first statements. */
export function createPools(make: Make, handlerTimeoutMs: number, log: Logger): Pools {
  const timeoutMs = statementTimeoutMs(handlerTimeoutMs)
  const pool = (name: keyof Pools) =>
    new Pool({
      ...sizes[name],
      silenceMs: timeoutMs + silenceMarginMs,
      make: (hooks: ConnectionHooks) => make({ ...options(log, timeoutMs, requestSettings), ...hooks }),
    })
  return { keys: pool('keys'), reads: pool('reads'), writes: pool('writes') }
}

/** Ends the connections of the pools once their statements are done. */
export async function endPools(pools: Pools): Promise<void> {
  await Promise.all([pools.keys, pools.reads, pools.writes].map((pool) => pool.end(closeTimeoutSeconds)))
}

function commandOptions(log: Logger) {
  return {
    ...options(log, commandTimeoutMs, {}),
    max: commandConnectionsMax,
    idle_timeout: commandIdleSeconds,
    backoff: () => startRetryMs / 1000,
    ...socketOption,
  }
}

function options(log: Logger, timeoutMs: number, settings: object) {
  return {
    connect_timeout: connectTimeoutSeconds,
    max_lifetime: null, // a connection is used until it fails: to end one would fail what is just sent on it
    types: { bigint: postgres.BigInt },
    fetch_types: false, // only needed for arrays of types of one's own
    connection: {
      application_name: 'animal-store',
      statement_timeout: timeoutMs,
      // Of a service that froze in the midst of a transaction, which holds locks.
      idle_in_transaction_session_timeout: timeoutMs,
      ...settings,
    },
    onnotice: (notice: postgres.Notice) => log.debug({ notice }, 'database notice'),
  }
}

async function untilReachable(sql: RootSql, timeoutMs: number, log: Logger): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let attempt = 1; ; attempt++) {
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw unreachable(sql, error)
      if (attempt === 1) log.warn({ reason: (error as Error).message }, 'waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, startRetryMs))
    }
  }
}

// SQLSTATE 42501: the role may not do what a migration does.
function notAllowed(error: unknown): boolean {
  return (error as { code?: unknown }).code === '42501'
}

function mayNotMigrate(sql: RootSql, cause: unknown): Error {
  return new OperatorError(
    `The database lacks migrations, and the role "${sql.options.user}" may not apply them: ${(cause as Error).message}\nRun \`npm run migrate\` with the DATABASE_URL of its owner.`,
    { cause },
  )
}

// Host and database, but never the password.
function unreachable(sql: RootSql, cause: unknown): Error {
  const { host, port, database } = sql.options
  const place = `database "${database}" at ${host.map((each, i) => `${each}:${port[i]}`).join(', ')}`
  return new OperatorError(
    `Cannot use ${place}: ${(cause as Error).message || String((cause as { code?: string }).code)}\nStart it or correct DATABASE_URL; without DATABASE_URL the service runs a PostgreSQL of its own.`,
    { cause },
  )
}

const connectionErrors = new Set([
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // a unix socket whose server is away
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'STATEMENT_ABANDONED',
])

/**
 * Whether an error says that the database cannot answer for now, rather than that a statement is wrong:
 * a connection that fails, or SQLSTATE 08 (connection), 53 (resources), 57 (operator intervention, which
 * a statement past its time is, too), 25006 (read-only: a replica before its promotion), 25P03 (a transaction past its time).
 */
export function isUnavailable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return (
    typeof code === 'string' && (connectionErrors.has(code) || /^(08|53|57)...$|^25(006|P03)$/.test(code))
  )
}
