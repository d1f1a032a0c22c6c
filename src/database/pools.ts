// The pools that requests' statements go through, and PostgreSQL's settings for them.

import type { Logger } from 'pino'
import type postgres from 'postgres'
import type { ConnectionHooks, Handle } from './driver/connection.js'
import { Pool } from './driver/pool.js'
import { valueTypes } from './driver/values.js'
import { type ReadServers, Servers } from './servers.js'
import type { Pools } from './types.js'
import { isLoginRefused } from './unavailable.js'

// A connection answers as many reads as the server has time for, and a second covers the first's pauses. A write waits for the
// disk, so writes are not pipelined: none waits for another's commit, or for the lock that another waits for.
const depths = { keys: 32, reads: 32, writes: 1 } as const
const connectTimeoutSeconds = 3
// Enough for any statement of a request on a machine that is not starved.
const ampleMs = 2_000
// Shorter than the pause after which more are asked for.
const atOnceMs = 500
// Beyond the statement timeout, for the way there and back.
const silenceMarginMs = 1_000
const noAnswer = 'no answer'

/**
 * PostgreSQL's settings for the statements of requests. Each is planned once: to plan a page is as much work as to read it. A plan
 * has to stay right then, however the tables grow after it, so each statement names the order of the index that it is for, and to
 * sort is PostgreSQL's last resort.
 */
export const requestSettings = { plan_cache_mode: 'force_generic_plan', enable_sort: 'off' } as const
/**
 * PostgreSQL's settings that the code relies on in every session, whatever its server, database or role have: postgres.js reads dates and
 * bytes in these forms alone, of two requests with one Idempotency-Key the second has to see what the first has committed, and a session that
 * PostgreSQL ends for its rest would fail what is just sent.
 */
export const sessionSettings = {
  DateStyle: 'ISO',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
  idle_session_timeout: '0',
} as const
/** For the statements under way when a pool or its database is closed. */
export const closeTimeoutSeconds = 5

/**
 * How long PostgreSQL works at one statement of a request: half of what an answer may take, a fifth where that is ample. A request's last statement is sent so long before its deadline, so
 * that what came of it is known by then: no answer says 503 of what is done afterwards.
 */
export function statementTimeoutMs(handlerTimeoutMs: number): number {
  return Math.floor(Math.max(Math.min(ampleMs, handlerTimeoutMs / 2), handlerTimeoutMs / 5))
}

/** A postgres.js handle on the database, with these options. */
export type Make = (options: postgres.Options<{ bigint: postgres.PostgresType<bigint> }>) => Handle

/** Where requests read, if not where they write. */
export interface Reads {
  readonly make: Make
  readonly servers: ReadServers
}

/**
 * Makes the pools of requests, on the database that `make` reaches. They connect with their first statements.
 * @param connections of all of them together, three at least
 */
export function createPools(
  make: Make,
  handlerTimeoutMs: number,
  log: Logger,
  connections = 11,
  servers = new Servers(),
  reads?: Reads,
): Pools {
  const timeoutMs = statementTimeoutMs(handlerTimeoutMs)
  // What lost the packets of one connection lost those of the others: none is to be found out by a request of its own.
  const giveUp = () => {
    for (const each of Object.values<Pool>({ ...pools })) each.giveUp()
  }
  servers.onmoved = ({ server, reason = noAnswer }) => {
    log.warn({ server, reason }, 'another server of the database takes the writes')
    giveUp()
  }
  if (reads !== undefined) {
    const { servers } = reads
    servers.onmoved = (move) => {
      const { reason = noAnswer } = move
      if (servers.isStandIn) log.warn({ reason }, 'no standby can serve: requests read from the primary')
      else log.info(move, 'requests read from a standby')
      pools.reads.giveUp()
    }
  }
  const sizes = sizesOf(connections)
  const others = (pool: Pool) => Object.values<Pool>({ ...pools }).filter((each) => each !== pool)
  const shortage = watchShortage(log, () => sum(Object.values<Pool>({ ...pools }).map((pool) => pool.count)))
  const empty = new Map<Pool, { readonly since: number; readonly isGiven: boolean }>()
  const pool = (name: keyof Pools, { make, servers }: { make: Make; servers: Servers }) =>
    new Pool({
      // PgBouncer before 1.21 gives a session away after a statement, though the description of the next is asked for there.
      depth: servers.isPooled ? 1 : depths[name],
      size: sizes[name],
      silenceMs: timeoutMs + silenceMarginMs,
      onsilence: giveUp,
      servers,
      onrefused: (pool, error) => {
        shortage.refused(error)
        if (pool.count > 0 || isLoginRefused(error)) return false
        // The one with the most can do without one, once: its statements have to end first, and PostgreSQL to see it gone. While all are
        // opening theirs, it is not known yet which that is.
        const now = performance.now()
        const [richest] = others(pool).sort((a, b) => b.count - a.count)
        const before = empty.get(pool) ?? { since: now, isGiven: false }
        const wait = !before.isGiven && richest?.giveOneUp() ? { since: now, isGiven: true } : before
        const isOver = now - wait.since > timeoutMs + silenceMarginMs
        if (isOver) empty.delete(pool)
        else empty.set(pool, wait)
        return !isOver
      },
      onopened: (pool) => {
        empty.delete(pool)
        shortage.opened()
      },
      make: (hooks: ConnectionHooks) =>
        make({ ...connectionOptions(log, servers.isPooled, boundsOf(timeoutMs), requestSettings), ...hooks }),
    })
  const main = { make, servers }
  const pools: Pools = {
    keys: pool('keys', main),
    reads: pool('reads', reads ?? main),
    writes: pool('writes', main),
  }
  return pools
}

function sizesOf(connections: number): Record<keyof Pools, number> {
  const reads = Math.max(1, Math.floor((connections - 1) / 5))
  return { keys: 1, reads, writes: connections - 1 - reads }
}

// Says once that there are fewer connections than wanted, and once that there are more again.
function watchShortage(log: Logger, count: () => number) {
  let had: number | undefined
  let refusedAt = 0
  return {
    refused: (error: unknown) => {
      refusedAt = performance.now()
      if (had !== undefined) return
      had = count()
      log.warn({ connections: had, reason: (error as Error).message }, 'the database refuses connections')
    },
    opened: () => {
      const has = count()
      // Of those that are asked for at once, some are given and some are not.
      if (had === undefined || has <= had || performance.now() - refusedAt < atOnceMs) return
      had = undefined
      log.info({ connections: has }, 'the database takes connections again')
    },
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** Ends the connections of the pools once their statements are done. */
export async function endPools(pools: Pools): Promise<void> {
  await Promise.all([pools.keys, pools.reads, pools.writes].map((pool) => pool.end(closeTimeoutSeconds)))
}

/** PostgreSQL's settings for what it ends by itself. */
export function boundsOf(timeoutMs: number) {
  return {
    statement_timeout: timeoutMs,
    // Of a service that froze in the midst of a transaction, which holds locks.
    idle_in_transaction_session_timeout: timeoutMs,
  }
}

/**
 * What all connections have in common: no age, values as `valueTypes` has them, and settings of the session. Behind a pooler there is no session to set: the
 * role has its settings (`roles.ts`), and no statement a name.
 */
export function connectionOptions(log: Logger, isPooled: boolean, ...settings: readonly object[]) {
  return {
    connect_timeout: connectTimeoutSeconds,
    // A connection is used until it fails: to end one, for its age or its rest, would fail what is just sent on it.
    max_lifetime: null,
    idle_timeout: 0,
    types: valueTypes,
    fetch_types: false, // only needed for lists of types of one's own
    ...(isPooled && { prepare: false }),
    connection: Object.assign(
      { application_name: 'animal-store' },
      ...(isPooled ? [] : [sessionSettings, ...settings]),
    ),
    onnotice: (notice: postgres.Notice) => log.debug({ notice }, 'database notice'),
  }
}
