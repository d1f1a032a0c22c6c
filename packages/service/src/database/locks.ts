// Waits for locks of other sessions, at startup and in commands. A statement that waits for a lock blocks all
// later ones in PostgreSQL's queue, even those that the holder would not block: a migration behind a pg_dump
// would stop all requests. So a transaction waits briefly, gives up all of its locks, and tries again later.

import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ReservedSql } from 'postgres'
import { OperatorError } from '../lib/operator-error.js'
import { begin, isLastOf } from './begin.js'
import type { RootSql, RootTransaction, Sql } from './database.js'
import { codeOf } from './unavailable.js'

/** How long to retry a transaction while other sessions hold the locks that it needs. */
export interface Patience {
  /** At least one attempt is made. */
  readonly timeoutMs?: number
  /** Gets a warning with the holders, and another whenever they change. */
  readonly log?: Logger | undefined
  readonly interruption?: AbortSignal
}

interface Holder {
  readonly pid: number
  readonly application: string
  /** Null, like `queryStart`, if the role may not see it. */
  readonly state: string | null
  readonly queryStart: string | null
  readonly mode: string
  /** The table, or for other locks their type. */
  readonly lock: string
}

// How long an attempt, and the requests behind it, wait: less than half of the default statement_timeout.
const lockTimeoutMs = 200
const pauseMs = 600
const watchMs = lockTimeoutMs / 4
// How soon PostgreSQL cancels a statement whose client has ended.
const clientCheckMs = 1_000
const neverAborted = new AbortController().signal

/**
 * Calls `run` in a transaction without a statement timeout, and again while other sessions hold locks that it
 * needs. A failed attempt changes nothing.
 * @throws {OperatorError} when the locks are not free in time, naming who holds them
 */
export function beginPatiently<Result>(
  sql: RootSql,
  patience: Patience,
  run: (transaction: RootTransaction) => Promise<Result>,
): Promise<Result> {
  return patiently(patience, (onblocked) => attempt(sql, run, onblocked))
}

/**
 * Calls `run` with a session that holds an advisory lock and has no statement timeout, for statements that
 * cannot run in a transaction. If the process ends meanwhile, the session keeps the lock until its statement
 * has ended. `run` may wait for other locks without limit: building an index concurrently blocks no request.
 * @throws {OperatorError} when the advisory lock is not free in time, naming who holds it
 */
export async function lockPatiently<Result>(
  sql: RootSql,
  patience: Patience,
  lockId: number,
  run: (session: Sql) => Promise<Result>,
): Promise<Result> {
  const session = await sql.reserve()
  const over = new AbortController()
  let isLost = false
  try {
    const pid = await limitToClient(session, false)
    await session.unsafe('set statement_timeout = 0')
    await patiently(patience, (onblocked) => lock(sql, session, pid, lockId, onblocked))
    void watch(sql, pid, over.signal, reporter(patience))
    return await run(session)
  } catch (error) {
    isLost = isLastOf(error)
    throw error
  } finally {
    over.abort()
    if (!isLost) await giveBack(session)
  }
}

// Only for a session that is not lost: nothing could catch the error, as in `begin`.
async function giveBack(session: ReservedSql): Promise<void> {
  await session.unsafe(`${resetSession}; select pg_advisory_unlock_all()`)
  session.release()
}

const resetSession = 'reset statement_timeout; reset lock_timeout; reset client_connection_check_interval'

async function lock(
  sql: RootSql,
  session: Sql,
  pid: number,
  lockId: number,
  onblocked: (holders: readonly Holder[]) => void,
): Promise<void> {
  const over = new AbortController()
  void watch(sql, pid, over.signal, onblocked)
  try {
    await session.unsafe(`set lock_timeout = ${lockTimeoutMs}`)
    await session`select pg_advisory_lock(${lockId})`
    await session.unsafe('set lock_timeout = 0')
  } finally {
    over.abort()
  }
}

// Calls `attempt` until nobody blocks it.
async function patiently<Result>(
  { timeoutMs = 20_000, log, interruption = neverAborted }: Patience,
  attempt: (onblocked: (holders: readonly Holder[]) => void) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs
  let holders: readonly Holder[] = []
  const report = reporter({ log })
  for (;;) {
    try {
      return await attempt((found) => {
        holders = found
      })
    } catch (error) {
      if (!isBlocked(error)) throw error
      if (performance.now() > deadline)
        throw new OperatorError(`A lock was not released within START_TIMEOUT_MS: ${namesOf(holders)}`, {
          cause: error,
        })
      report(holders)
      // Random, so that instances that start together do not retry together.
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal: interruption })
    }
  }
}

async function attempt<Result>(
  sql: RootSql,
  run: (transaction: RootTransaction) => Promise<Result>,
  onblocked: (holders: readonly Holder[]) => void,
): Promise<Result> {
  const over = new AbortController()
  try {
    return await begin(sql, async (transaction) => {
      await transaction.unsafe(`set local statement_timeout = 0; set local lock_timeout = ${lockTimeoutMs}`)
      void watch(sql, await limitToClient(transaction, true), over.signal, onblocked)
      return run(transaction)
    })
  } finally {
    over.abort()
  }
}

// Warns of holders, and again when they change.
function reporter({ log }: Pick<Patience, 'log'>): (holders: readonly Holder[]) => void {
  let reported: string | undefined
  return (holders) => {
    if (namesOf(holders) !== reported) log?.warn({ holders }, 'waiting for a lock of another session')
    reported = namesOf(holders)
  }
}

// Makes PostgreSQL end a statement soon after its client has ended. Returns the pid of the backend.
async function limitToClient(sql: Sql, isLocal: boolean): Promise<number> {
  // PostgreSQL 14 rejects the setting on other systems.
  const [row] = await sql<{ pid: number }[]>`
    select pg_backend_pid() as pid, case when version() like '%linux%'
      then set_config('client_connection_check_interval', ${String(clientCheckMs)}, ${isLocal}) end`
  return row?.pid ?? 0
}

// Uses another connection, because PostgreSQL tells who blocks a statement only while the statement waits.
async function watch(
  sql: RootSql,
  pid: number,
  over: AbortSignal,
  onblocked: (holders: readonly Holder[]) => void,
): Promise<void> {
  const untilNext = () => delay(watchMs, true, { signal: over }).catch(() => false)
  while (await untilNext()) {
    const holders = await findHolders(sql, pid).catch(() => [])
    if (holders.length > 0) onblocked(holders)
  }
}

// Leaves out the text of the holders' statements, which may contain secrets.
function findHolders(sql: Sql, pid: number): Promise<Holder[]> {
  return sql<Holder[]>`
    select holder.pid,
      coalesce(nullif(application_name, ''), backend_type, 'a prepared transaction') as application,
      state, date_trunc('second', query_start)::text as "queryStart", held.mode,
      coalesce(held.relation::regclass::text, held.locktype) as lock
    from pg_locks as wanted
    cross join unnest(pg_blocking_pids(wanted.pid)) as holder (pid)
    join pg_locks as held on coalesce(held.pid, 0) = holder.pid and held.locktype = wanted.locktype
      and (held.database, held.relation, held.transactionid, held.virtualxid)
        is not distinct from (wanted.database, wanted.relation, wanted.transactionid, wanted.virtualxid)
      and (held.classid, held.objid, held.objsubid)
        is not distinct from (wanted.classid, wanted.objid, wanted.objsubid)
    left join pg_stat_activity as activity on activity.pid = holder.pid
    where wanted.pid = ${pid} and not wanted.granted
    order by holder.pid`
}

function namesOf(holders: readonly Holder[]): string {
  return holders.map(holderText).join('; ') || 'its holder is unknown'
}

function holderText({ pid, application, state, queryStart, mode, lock }: Holder): string {
  const activity = state === null ? '' : `, ${state}, last statement at ${queryStart}`
  return `process ${pid} (${application}${activity}) holds ${mode} on ${lock}`
}

// lock_not_available, or deadlock_detected if deadlock_timeout is shorter than lock_timeout.
function isBlocked(error: unknown): boolean {
  return ['55P03', '40P01'].includes(codeOf(error))
}
