// Connects to PostgreSQL: the server in DATABASE_URL, or the embedded one.

import type { Logger } from 'pino'
import postgres from 'postgres'
import type { Config } from '../config.js'
import { unlessAborted, untilAborted } from '../lib/abort.js'
import { boundedText, OperatorError } from '../lib/operator-error.js'
import { migrationsFolders } from '../lib/paths.js'
import type { Database, RootSql } from './database.js'
import { Connection, type MakeOne } from './driver/connection.js'
import type { Pool } from './driver/pool.js'
import { socketOption } from './driver/socket.js'
import { startEmbedded } from './embedded/embedded-server.js'
import { migrate } from './migrate.js'
import { migrationNames } from './migration.js'
import {
  closeTimeoutSeconds,
  connectionOptions,
  createPools,
  endPools,
  type Make,
  type Reads,
  timeoutSettings,
} from './pools.js'
import { checkTransactions } from './roles.js'
import { type DatabaseUrl, ReadServers, readDatabaseUrl, Servers } from './servers.js'
import { codeOf, isLoginRefused, isTemporary, isTlsRefused } from './unavailable.js'

const commandConnectionsMax = 4
const commandTimeoutMs = 5_000
// Short, because commands' connections are rarely used after startup.
const commandIdleSeconds = 1
const startRetryMs = 250
// How often to retry the standbys while reads go to the primary.
const standbyRetryMs = 5_000

/**
 * Connects to the database and migrates it. Waits up to `startTimeoutMs` for a server that is starting and
 * for locks of other sessions.
 * @param interruption aborts the startup, and leaves nothing running
 * @throws {Error} if the database cannot be used; the message says what the operator can do
 */
export async function connect(
  config: Config,
  log: Logger,
  interruption: AbortSignal = new AbortController().signal,
): Promise<Database> {
  const primary = await readUrl(config.databaseUrl, 'DATABASE_URL', log)
  const standbys = await readUrl(config.databaseReadUrl, 'DATABASE_READ_URL', log)
  const embedded = primary === undefined ? await startEmbedded(config.dataDir, log, interruption) : undefined
  const make: Make = (options) =>
    primary
      ? postgres(primary.url, { ...primary.login, ...options })
      : postgres({ ...embedded?.connection, ...options })
  const reads = primary && standbys && readsFrom(standbys, primary, await migrationNames(migrationsFolders))
  const opened: Close[] = []
  const close = async (atOnce = new AbortController().signal) => {
    await Promise.race([Promise.all(opened.map((closeOne) => closeOne())), untilAborted(atOnce)])
    await embedded?.stop()
  }
  try {
    const parts = { config, log, interruption, make, servers: primary?.servers ?? new Servers(), reads }
    const database = await unlessAborted(open(parts, opened), interruption)
    return { ...database, embedded: embedded !== undefined, close }
  } catch (error) {
    await close(interruption)
    throw error
  }
}

type Close = () => Promise<void>

interface OpenParts {
  readonly config: Config
  readonly log: Logger
  readonly interruption: AbortSignal
  readonly make: Make
  readonly servers: Servers
  readonly reads: Reads | undefined
}

// Adds a function to `opened` for each thing that it opens, so that the caller can close it after a failure.
async function open({ config, log, interruption, make, servers, reads }: OpenParts, opened: Close[]) {
  const deadline = performance.now() + config.startTimeoutMs
  await untilReachable(make, servers, deadline, log)
  const { isPooled } = servers
  const sql = make({ ...commandOptions(log, isPooled), ...servers.current })
  opened.push(() => sql.end({ timeout: closeTimeoutSeconds }))
  await checkEncoding(sql)
  if (isPooled) await checkTransactions(sql)
  const patience = { timeoutMs: deadline - performance.now(), log, interruption, isPooled }
  const migrations = await migrate(sql, migrationsFolders, patience).catch((error) => {
    throw codeOf(error) === '42501' ? mayNotMigrate(sql, error) : error // insufficient_privilege
  })
  if (migrations.length > 0) log.info({ migrations }, 'database migrated')
  if (isPooled) log.info('database is behind a connection pooler: prepared statements and pipelining are off')
  const pools = createPools(make, config.handlerTimeoutMs, log, config.databaseConnections, servers, reads)
  opened.push(() => endPools(pools))
  if (reads !== undefined) opened.push(followStandbys(reads, pools.reads, log))
  return { sql, pools, isPooled }
}

async function readUrl(text: string | undefined, variable: string, log: Logger) {
  if (text === undefined) return undefined
  const url = await readDatabaseUrl(text, variable)
  if (url.ignored.length > 0)
    log.warn({ parameters: url.ignored }, `${variable} has parameters that have no effect`)
  return url
}

// Reads use the standbys, and fall back to the primary's servers, with the primary's login and TLS.
function readsFrom(
  { url, login, servers }: DatabaseUrl,
  primary: DatabaseUrl,
  migrations: readonly string[],
): Reads {
  const { ssl } = postgres(primary.url).options
  const primaries = primary.servers.all.map((server) => ({ ssl, ...primary.login, ...server }))
  const isPooled = servers.isPooled || primary.servers.isPooled
  return {
    make: (options) => postgres(url, { ...login, ...options }),
    servers: new ReadServers(servers.all, primaries, isPooled, migrations),
  }
}

// While reads go to the primary, moves the pool back once a standby connects. Returns a function that stops
// this.
function followStandbys(reads: Reads, pool: Pool, log: Logger): Close {
  const timer = setInterval(retryStandbys, standbyRetryMs, reads, pool, log).unref()
  void pool.sql`select 1`.catch(() => {}) // connect now, so that an unavailable standby is logged at startup
  return async () => clearInterval(timer)
}

async function retryStandbys({ make, servers }: Reads, pool: Pool, log: Logger): Promise<void> {
  if (!servers.isFallback) return
  try {
    await tryConnecting(make, servers.standbys, log)
    servers.prefer(servers.standbys.current)
    pool.retireAll()
  } catch (error) {
    log.debug({ reason: (error as Error).message }, 'no standby available yet')
  }
}

function commandOptions(log: Logger, isPooled: boolean) {
  return {
    ...connectionOptions(log, isPooled, timeoutSettings(commandTimeoutMs)),
    max: commandConnectionsMax,
    idle_timeout: commandIdleSeconds,
    backoff: () => startRetryMs / 1000,
    ...socketOption,
  }
}

async function untilReachable(make: Make, servers: Servers, deadline: number, log: Logger): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryConnecting(make, servers, log)
    } catch (error) {
      if (!isTemporary(error) || performance.now() > deadline) throw unreachable(make, servers, error)
      if (attempt === 1) log.warn({ reason: (error as Error).message }, 'waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, startRetryMs))
    }
  }
}

// Uses a `Connection`, because postgres.js would retry for ever a server that hangs up, as a load balancer
// without a primary does. Sends no session settings, which a pooler rejects: this connection finds out
// whether there is one.
async function tryConnecting(make: Make, servers: Servers, log: Logger): Promise<void> {
  const makeOne: MakeOne = (hooks) => make({ ...commandOptions(log, true), ...hooks })
  const connection = await Connection.open(makeOne, servers, commandTimeoutMs, () => {})
  await connection.end(0)
}

// Other encodings cannot store every character.
async function checkEncoding(sql: RootSql): Promise<void> {
  const [row] = await sql<{ encoding: string }[]>`select current_setting('server_encoding') as encoding`
  if (row?.encoding === 'UTF8') return
  throw new OperatorError(
    `The database "${sql.options.database}" has the encoding ${row?.encoding}, but must have UTF8.
Create one with: create database NAME template template0 encoding 'UTF8'`,
  )
}

function mayNotMigrate(sql: RootSql, cause: unknown): Error {
  const { message } = cause as Error
  return new OperatorError(
    `The database lacks migrations, or the role "${sql.options.user}" lacks privileges: ${message}
Run \`migrate\` with the owner's URL as DATABASE_URL, and this one as SERVICE_DATABASE_URL.`,
    { cause },
  )
}

function adviceOn(cause: unknown): string {
  if (isLoginRefused(cause))
    return 'Correct the user or the password in DATABASE_URL, or change them in PostgreSQL.'
  if (isTlsRefused(cause)) return 'Enable TLS on the server, or set sslmode=disable in DATABASE_URL.'
  return 'Start the server or correct DATABASE_URL. Without it the service runs an embedded PostgreSQL.'
}

// The message names hosts and database, but never the password.
function unreachable(make: Make, servers: Servers, cause: unknown): Error {
  const options = servers.all.map((server) => make({ ...server }).options)
  const hosts = [...new Set(options.map(({ host, port }) => `${host[0]}:${port[0]}`))].join(', ')
  const reason = boundedText((cause as Error).message) || codeOf(cause)
  return new OperatorError(
    `Cannot use database "${options[0]?.database}" at ${hosts}: ${reason}\n${adviceOn(cause)}`,
    { cause },
  )
}
