// The connection pools for requests, and the PostgreSQL settings of their sessions. With one pool, commits
// that wait would hold up reads, and both would hold up look-ups of keys.

import type { Logger } from 'pino'
import type postgres from 'postgres'
import { projectName } from '../lib/project-name.js'
import type { Pools } from './database.js'
import { Pool } from './driver/pool.js'
import type { RootSql } from './driver/sql.js'
import { valueTypes } from './driver/values.js'
import { type ReadServers, Servers } from './servers.js'
import { isLoginRefused } from './unavailable.js'

// Statements in flight on a connection. Pipelined reads keep the server busy; a second connection fills the
// pauses of the first. Writes are not pipelined, so that none waits for another's commit or lock.
const depths = { keys: 32, reads: 32, writes: 1 } as const
const connectTimeoutSeconds = 3
// Enough for any statement of a request on a machine that is not starved.
const ampleMs = 2_000
// The share of the network, on top of the statement timeout.
const networkMarginMs = 1_000
const noAnswer = 'no answer'
// This statement changes nothing, but its commit waits for the disk and for synchronous standbys, as writes
// do.
const writeTrial = `select pg_logical_emit_message(true, '${projectName}', '')`

/**
 * PostgreSQL's settings for the statements of requests, whatever the server's defaults. PostgreSQL plans each
 * statement once per connection, because planning a page takes as long as reading it. The generic plan must
 * stay right while the tables grow:
 * - enable_*: find and order rows by the intended index, even if the table was small when the plan was made;
 *   find rows to delete by their place
 * - jit, max_parallel_workers_per_gather: a generic plan does not know how few rows a page has, so its
 *   estimated cost grows with the table. Beyond a threshold, each execution would compile code for longer than
 *   it reads
 */
export const requestSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_indexscan: 'on',
  enable_tidscan: 'on',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
} as const
/**
 * PostgreSQL's settings for every session, whatever the defaults of its server, database or role:
 * - DateStyle, IntervalStyle, TimeZone, bytea_output, extra_float_digits: the texts that columns read
 * - default_transaction_isolation: a second request with an Idempotency-Key must see the first's commit
 * - idle_session_timeout: if PostgreSQL closed an idle session, a statement just sent on it would fail
 * - lock_timeout: not needed, because statement_timeout limits the wait for a lock
 * - row_security: a policy on a table must be an error, not a silent filter of its rows
 */
export const sessionSettings = {
  DateStyle: 'ISO',
  IntervalStyle: 'iso_8601',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  idle_session_timeout: '0',
  lock_timeout: '0',
  row_security: 'off',
} as const
/**
 * As `sessionSettings`, for PostgreSQL 17 and newer, where this timeout closes the connection of a
 * transaction.
 */
export const newerSetting = { transaction_timeout: '0' } as const
/** How long statements in flight may take when the pools close. */
export const closeTimeoutSeconds = 5

/**
 * Returns the statement_timeout of requests: half of the time for a response, or a fifth if that is ample. A
 * request sends its last statement this long before its deadline, so no write commits after its 503.
 */
export function statementTimeoutMs(handlerTimeoutMs: number): number {
  return Math.floor(Math.max(Math.min(ampleMs, handlerTimeoutMs / 2), handlerTimeoutMs / 5))
}

/** Makes a postgres.js for the database with these options. */
export type Make = (options: postgres.Options<{ bigint: postgres.PostgresType<bigint> }>) => RootSql

/** The servers for reads, if reads do not go to the primary. */
export interface Reads {
  readonly make: Make
  readonly servers: ReadServers
}

/**
 * Creates the pools for requests. They connect on their first statements.
 * @param connections the number for all pools together, at least three
 */
export function createPools(
  make: Make,
  handlerTimeoutMs: number,
  log: Logger,
  connections = 11,
  servers = new Servers([{}], 'primary', false),
  reads?: Reads,
): Pools {
  const pool = poolMaker(log, statementTimeoutMs(handlerTimeoutMs), connections, () => poolsOf(pools))
  const primary = { make, servers }
  const pools: Pools = {
    keys: pool('keys', primary),
    reads: pool('reads', reads ?? primary),
    writes: pool('writes', primary),
  }
  servers.onchange = ({ server, reason = noAnswer }) => {
    log.warn({ server, reason }, 'database primary changed')
    retire(poolsOf(pools))
  }
  if (reads !== undefined) followReads(reads.servers, log, pools.reads)
  return pools
}

function poolMaker(log: Logger, timeoutMs: number, connections: number, pools: () => readonly Pool[]) {
  const readTimeoutMs = timeoutMs + networkMarginMs
  const sizes = sizesOf(connections)
  const shortage = new Shortage(pools, log)
  // If one connection is lost, the others likely are, too. Requests should not have to find out one by one.
  const retireAll = () => retire(pools())
  return (name: keyof Pools, { make, servers }: { make: Make; servers: Servers }) => {
    // PgBouncer before 1.21 may switch sessions between pipelined statements.
    const depth = servers.isPooled ? 1 : depths[name]
    const pool: Pool = new Pool({
      depth,
      limitMs: depth > 1 ? timeoutMs : undefined,
      size: sizes[name],
      readTimeoutMs,
      ...(name === 'writes' && { trial: writeTrial }),
      ...(name === 'reads' && { isReadOnly: true }),
      servers,
      make: (hooks) => make({ ...requestOptions(log, servers.isPooled, timeoutMs), ...hooks }),
      onstalled: (isStalled) => logStall(log, name, isStalled),
      onunresponsive: retireAll,
      onrefused: (error) => shortage.refused(pool, error),
      onopened: () => shortage.opened(),
    })
    return pool
  }
}

function requestOptions(log: Logger, isPooled: boolean, timeoutMs: number) {
  return connectionOptions(log, isPooled, timeoutSettings(timeoutMs), requestSettings)
}

function logStall(log: Logger, pool: keyof Pools, isStalled: boolean): void {
  if (isStalled) log.warn({ pool }, 'database does not complete statements')
  else log.info({ pool }, 'database completes statements again')
}

// While PostgreSQL refuses connections (max_connections, a role's connection limit), each pool keeps those
// that it has; a pool without any gets one from the largest pool. The log says once that connections are
// refused, and once that the pools have more than at any refusal.
class Shortage {
  #fewest = Number.POSITIVE_INFINITY

  constructor(
    readonly pools: () => readonly Pool[],
    readonly log: Logger,
  ) {}

  /** Returns true if the pool should retry at once: it has no connection, and one may become free. */
  refused(pool: Pool, error: unknown): boolean {
    const connections = this.#open()
    if (this.#fewest === Number.POSITIVE_INFINITY)
      this.log.warn({ connections, reason: (error as Error).message }, 'database refuses connections')
    const others = sum(this.pools().map(({ counts }) => counts.opening + counts.ceded))
    this.#fewest = Math.min(this.#fewest, connections + others)
    return pool.counts.active === 0 && !isLoginRefused(error) && makeRoom(pool, this.pools())
  }

  opened(): void {
    const connections = this.#open()
    if (connections <= this.#fewest) return
    this.#fewest = Number.POSITIVE_INFINITY
    this.log.info({ connections }, 'database accepts connections again')
  }

  #open(): number {
    return sum(this.pools().map(({ counts }) => counts.active + counts.retiring + counts.givenUp))
  }
}

// Makes the largest pool close a connection. If no pool has more than one, a pool after `pool` in the order
// keys, reads, writes closes its last: without keys the service serves nothing, and reads matter more than
// writes. Returns true if a connection closes, or may close soon.
function makeRoom(pool: Pool, pools: readonly Pool[]): boolean {
  const [largest] = [...pools].sort((a, b) => b.counts.active - a.counts.active)
  if (largest?.retireOne()) return true
  if (pools.some(({ counts }) => counts.retiring > 0 || counts.active + counts.opening > 1)) return true
  const [last] = pools
    .slice(pools.indexOf(pool) + 1)
    .filter(({ counts }) => counts.active > 0)
    .reverse()
  return last?.retireOne(0) === true
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

function followReads(servers: ReadServers, log: Logger, reads: Pool): void {
  servers.onchange = (change) => {
    const { reason = noAnswer } = change
    if (servers.isFallback) log.warn({ reason }, 'no standby available, reading from the primary')
    else log.info(change, 'reading from a standby')
    reads.retireAll()
  }
}

function retire(pools: readonly Pool[]): void {
  for (const each of pools) each.retireAll()
}

function poolsOf({ keys, reads, writes }: Pools): Pool[] {
  return [keys, reads, writes]
}

function sizesOf(connections: number): Record<keyof Pools, number> {
  const reads = Math.max(1, Math.floor((connections - 1) / 5))
  return { keys: 1, reads, writes: connections - 1 - reads }
}

/** Closes the connections of the pools when their statements have finished. */
export async function endPools(pools: Pools): Promise<void> {
  await Promise.all(poolsOf(pools).map((pool) => pool.end(closeTimeoutSeconds)))
}

/** The timeouts that PostgreSQL enforces. */
export function timeoutSettings(timeoutMs: number) {
  return {
    statement_timeout: timeoutMs,
    // Ends the transaction, and so the locks, of a service that freezes.
    idle_in_transaction_session_timeout: timeoutMs,
  }
}

/**
 * Returns the postgres.js options of every connection. A pooler would lose session settings and prepared
 * statements between transactions, so behind one the role has the settings (`roles.ts`), and no statement is
 * prepared.
 */
export function connectionOptions(log: Logger, isPooled: boolean, ...settings: readonly object[]) {
  return {
    connect_timeout: connectTimeoutSeconds,
    // Never close a connection for its age or idleness: a statement that was just sent on it would fail.
    max_lifetime: null,
    idle_timeout: 0,
    // The defaults, written out because postgres.js reads them from the environment: PGDEBUG puts values into
    // errors.
    debug: false,
    max_pipeline: 100,
    prepare: !isPooled,
    types: valueTypes,
    fetch_types: false, // the query would find custom array types; `valueTypes` has the built-in ones
    connection: Object.assign(
      { application_name: projectName },
      ...(isPooled ? [] : [sessionSettings, ...settings]),
    ),
    onnotice: (notice: postgres.Notice) => log.debug({ notice }, 'database notice'),
  }
}
