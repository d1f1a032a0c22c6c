// The way to PostgreSQL: the server that DATABASE_URL names, or the embedded one. What becomes of a
// statement when the server does not answer is decided here.

import type { Logger } from 'pino'
import postgres from 'postgres'
import { OperatorError } from '../operator-error.js'
import { startEmbedded } from './embedded.js'
import { createLanes } from './lanes.js'
import { migrate } from './migrate.js'
import { type Renewal, renewable, type Transact } from './renewable.js'

/** postgres.js with int8 as bigint. Inside a transaction it is the transaction's. */
export type Sql = postgres.ISql<{ bigint: bigint }>

/** The same, outside of any transaction. */
export type RootSql = postgres.Sql<{ bigint: bigint }>

export interface Database {
  /** For LISTEN, and what may take its time. */
  readonly sql: RootSql
  /** For the transactions of requests. */
  readonly transact: Transact
  /** For the statements of handlers. */
  readonly lanes: StatementLanes
  readonly embedded: boolean
  /** Ends the connections once their statements are done, and the embedded server if no one else uses it. */
  close(): Promise<void>
}

/** Short statements, those that only read apart from those that write. */
export interface StatementLanes {
  readonly reads: Sql
  readonly writes: Sql
}

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined
  readonly dataDir: string | undefined
  readonly startTimeoutMs: number
  readonly migrationsFolder: string
  readonly log: Logger
}

const poolMax = 4
// One connection is left for whoever has to be known first.
const transactionsMax = 3
// A connection answers as many reads as the server has time for, and a second covers the first's pauses.
// A write waits for the disk, and so do those behind it.
const readLanes = 2
const writeLanes = 8
const connectTimeoutSeconds = 3
const statementTimeoutMs = 5_000
// Others wait behind it.
const laneStatementTimeoutMs = 2_000

/**
 * PostgreSQL's settings for the statements of lanes. Each is planned once: to plan a page is as much work as to read it. A plan
 * has to stay right then, however the tables grow after it, so each statement names the order of the index that it is for, and to
 * sort is PostgreSQL's last resort.
 */
export const laneSettings = { plan_cache_mode: 'force_generic_plan', enable_sort: 'off' } as const
const startRetryMs = 250
const closeTimeoutSeconds = 5

/**
 * Connects, waiting a while for a server that is still starting, and migrates.
 * @throws {Error} saying what to do, when there is no database to be had
 */
export async function connect({
  databaseUrl,
  dataDir,
  startTimeoutMs,
  migrationsFolder,
  log,
}: DatabaseOptions): Promise<Database> {
  const server = databaseUrl === undefined ? await startEmbedded(dataDir, log) : undefined
  const handle = (max: number, timeoutMs: number, settings = {}) =>
    renewable((renewal) => {
      const all = options(log, max, timeoutMs, settings, renewal)
      return server ? postgres({ ...server.connection, ...all }) : postgres(databaseUrl ?? '', all)
    })
  const lane = () => handle(1, laneStatementTimeoutMs, laneSettings).sql
  const { sql, transact } = handle(poolMax, statementTimeoutMs)
  const [reads, writes] = [createLanes(readLanes, lane), createLanes(writeLanes, lane)]
  const close = async () => {
    await Promise.all([sql, reads, writes].map((each) => each.end({ timeout: closeTimeoutSeconds })))
    await server?.stop()
  }
  try {
    await untilReachable(sql, startTimeoutMs, log)
    const applied = await migrate(sql, migrationsFolder).catch((error) => {
      throw notAllowed(error) ? mayNotMigrate(sql, error) : error
    })
    if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    return {
      sql,
      transact: atOnce(transactionsMax, transact),
      lanes: { reads: reads.sql, writes: writes.sql },
      embedded: server !== undefined,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

// The others wait in the order they came.
function atOnce(max: number, transact: Transact): Transact {
  const waiting: (() => void)[] = []
  let free = max
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await transact(work)
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

function options(log: Logger, max: number, timeoutMs: number, settings: object, renewal: Renewal) {
  return {
    max,
    connect_timeout: connectTimeoutSeconds,
    types: { bigint: postgres.BigInt },
    ...renewal,
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
  const deadline = Date.now() + timeoutMs
  for (let attempt = 1; ; attempt++) {
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > deadline) throw unreachable(sql, error)
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
