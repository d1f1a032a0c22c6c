// The way to PostgreSQL: the server that DATABASE_URL names, or the embedded one.

import type { Logger } from 'pino'
import postgres from 'postgres'
import { unlessAborted, untilAborted } from '../lib/abort.js'
import { OperatorError } from '../operator-error.js'
import { socketOption } from './driver/socket.js'
import { startEmbedded } from './embedded/server.js'
import { migrate } from './migrate.js'
import { closeTimeoutSeconds, connectionOptions, createPools, endPools, type Make } from './pools.js'
import { readPlace, type Server, type ServerState, Servers, stateStatement } from './servers.js'
import type { Database, RootSql } from './types.js'
import { isLoginRefused, isUnavailable } from './unavailable.js'

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined
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

/**
 * Connects, waiting a while for a server that is still starting, and migrates.
 * @throws {Error} saying what to do, when there is no database to be had
 */
export async function connect({
  databaseUrl,
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
  const candidates = servers.all.map((server) => ({
    server,
    sql: make({ ...commandOptions(log), ...server }),
  }))
  const connections = Math.floor(databaseConnections / workers)
  const pools = createPools(make, handlerTimeoutMs, log, connections, servers)
  const close = async (atOnce = new AbortController().signal) => {
    const ended = candidates.map(({ sql }) => sql.end({ timeout: closeTimeoutSeconds }))
    const ends = Promise.all([...ended, endPools(pools)])
    await Promise.race([ends, untilAborted(atOnce)])
    await server?.stop()
  }
  const prepare = async () => {
    const sql = await untilReachable(candidates, servers, startTimeoutMs, log)
    const applied = await migrate(sql, migrationsFolder).catch((error) => {
      throw notAllowed(error) ? mayNotMigrate(sql, error) : error
    })
    return { sql, applied }
  }
  try {
    const { sql, applied } = await unlessAborted(prepare(), interruption)
    if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    return { sql, pools, embedded: server !== undefined, close }
  } catch (error) {
    await close(interruption)
    throw error
  }
}

function commandOptions(log: Logger) {
  return {
    ...connectionOptions(log, commandTimeoutMs, {}),
    max: commandConnectionsMax,
    idle_timeout: commandIdleSeconds,
    backoff: () => startRetryMs / 1000,
    ...socketOption,
  }
}

/** A server, and the connections to it that are for no request. */
interface Candidate {
  readonly server: Server
  readonly sql: RootSql
}

async function untilReachable(
  candidates: readonly Candidate[],
  servers: Servers,
  timeoutMs: number,
  log: Logger,
): Promise<RootSql> {
  const deadline = performance.now() + timeoutMs
  for (let attempt = 1; ; attempt++) {
    const failures: Error[] = []
    for (const { server, sql } of candidates) {
      try {
        const [state] = await sql.unsafe<ServerState[]>(stateStatement)
        servers.accept(server, state, sql.options)
        return sql
      } catch (error) {
        failures.push(error as Error)
      }
    }
    const mayPass = failures.every((error) => isUnavailable(error) && !isLoginRefused(error))
    if (!mayPass || performance.now() > deadline) throw unreachable(candidates, failures)
    if (attempt === 1) log.warn({ reason: inWords(failures) }, 'waiting for the database')
    await new Promise((resolve) => setTimeout(resolve, startRetryMs))
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

// Hosts and database, but never the password.
function unreachable(candidates: readonly Candidate[], failures: readonly Error[]): Error {
  const hosts = candidates.map(({ sql: { options } }) => `${options.host[0]}:${options.port[0]}`)
  const place = `database "${candidates[0]?.sql.options.database}" at ${hosts.join(', ')}`
  return new OperatorError(
    `Cannot use ${place}: ${inWords(failures)}\nStart it or correct DATABASE_URL; without DATABASE_URL the service runs a PostgreSQL of its own.`,
    { cause: failures[0] },
  )
}

function inWords(failures: readonly (Error & { readonly code?: string })[]): string {
  return failures.map(({ message, code }) => message || String(code)).join('; ')
}
