// Transactions on a held connection. postgres.js's own `begin` writes its ROLLBACK to the socket of a closed
// connection, an error that cannot be caught; here every statement goes through the connection.

import { isOutdatedPlan } from '../unavailable.js'
import { WorkSignal } from './connection.js'
import { type IndependentSql, independentStatements } from './independent-statements.js'
import type { ConnectionSource, HeldConnection, Signal, Sql } from './sql.js'

export type TransactionSql = Sql & {
  /** Returns a tag for code that does not know of the transaction: see `independentStatements`. */
  independent(): IndependentSql
  /** Begins a part of the transaction. The returned function rolls it back, failed statements included. */
  savepoint(): () => Promise<void>
  /** Pipelines COMMIT behind a statement; the transaction fails if the statement does. */
  commitAfter(statement: Promise<unknown>): void
}

/**
 * Calls `run` in a transaction: PostgreSQL commits all of its statements, or none. If `sql` already belongs
 * to a transaction, as in a request with an `Idempotency-Key`, they become a part of that one. After a
 * rollback, `run` may be called again, as in `transact`.
 */
export function inTransaction<Result>(sql: Sql, run: (sql: Sql) => Promise<Result>): Promise<Result> {
  const { pool, signal, part } = sql
  if (pool !== undefined) return transactionsOn(pool, signal)(run)
  return part === undefined ? run(sql) : part(run)
}

/** Returns a function that does as `transact`, on a connection of a pool. */
export function transactionsOn(pool: ConnectionSource, signal?: Signal) {
  return <Result>(run: (sql: TransactionSql) => Promise<Result>): Promise<Result> =>
    pool.hold(signal, (held) => transact(held, signal, run))
}

/**
 * Does as `transactionsOn`, but begins the transaction with the first statement: without one, `run` takes no
 * connection. The statements are independent (see `independentStatements`).
 * @param afterwards the signal for statements sent after `run` has resolved, as a stream does: each is sent by
 * itself. Without this signal they are not sent
 */
export function transactOnDemand<Result>(
  pool: ConnectionSource,
  signal: Signal | undefined,
  run: (sql: Sql) => Promise<Result>,
  afterwards?: Signal,
): Promise<Result> {
  return repeatIfOutdated(signal, async () => {
    let transaction: Begun<Result> | undefined
    let isAfter = false
    const begin = () => {
      transaction ??= beginAround(pool, signal, () => work)
      return transaction.statements
    }
    const sql = pool.sqlBy((statement) => {
      if (isAfter) pool.dispatch(statement, afterwards)
      else
        begin().then(
          ({ dispatch }) => dispatch(statement),
          (error) => statement.reject(error),
        )
    })
    const part: IndependentSql['part'] = async (run) =>
      isAfter ? transactionsOn(pool, afterwards)(run) : (await begin()).part(run)
    const work = run(Object.assign(sql, { part }))
    await work.catch(() => {}) // if a transaction has begun, its outcome has the error
    isAfter = afterwards !== undefined
    return transaction?.outcome ?? work
  })
}

interface Begun<Result> {
  readonly statements: Promise<IndependentSql>
  /** The result of the work, once it is committed or rolled back. */
  readonly outcome: Promise<Result>
}

function beginAround<Result>(
  pool: ConnectionSource,
  signal: Signal | undefined,
  work: () => Promise<Result>,
): Begun<Result> {
  let give: (statements: IndependentSql) => void
  const statements = new Promise<IndependentSql>((resolve) => {
    give = resolve
  })
  const outcome = pool.hold(signal, (held) =>
    transactOnce(held, signal, (sql) => {
      give(sql.independent())
      return work()
    }),
  )
  // Without a connection there are no statements.
  return { statements: Promise.race([statements, outcome as Promise<never>]), outcome }
}

// More than a transaction has statements: each attempt may meet one more statement whose plan is outdated.
const attemptsMax = 10

/**
 * Calls `run` in a transaction on a held connection, and commits if `run` resolves and `signal` is not
 * aborted by then. Rejects with the error of `run` or of PostgreSQL. If the connection closes during COMMIT,
 * the outcome is unknown. If a table has changed so that the plan of a statement is outdated, rolls back and
 * calls `run` again.
 */
export async function transact<Result>(
  held: HeldConnection,
  signal: Signal | undefined,
  run: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  return repeatIfOutdated(signal, () => transactOnce(held, signal, run))
}

async function repeatIfOutdated<Result>(
  signal: Signal | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (attempt === attemptsMax || signal?.aborted || !isOutdatedPlan(error)) throw error
    }
  }
}

async function transactOnce<Result>(
  held: HeldConnection,
  signal: Signal | undefined,
  run: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  const begin = beginFor(signal)
  const work = new WorkSignal(signal)
  const sql = held.sqlUntil(work)
  // BEGIN is pipelined with the first statement, which fails if BEGIN does.
  let last: Promise<unknown> = sql.unsafe(begin)
  last.catch(() => {}) // sends it
  const commitAfter = (statement: Promise<unknown>) => {
    statement.catch(() => {}) // awaited below, unless something else fails first
    last = statement
  }
  const savepoint = () => beginPart(sql, held)
  const independent = () => independentStatements(held, sql, work)
  try {
    const result = await run(Object.assign(sql, { independent, savepoint, commitAfter }))
    await Promise.all([last, commit(sql)])
    return result
  } catch (error) {
    // If ROLLBACK fails, the state of the connection is unknown.
    await sendAnyway(held, 'rollback').catch(() => held.destroy())
    throw error
  } finally {
    work.end()
  }
}

// Sets the timeouts for this transaction alone, which works behind a pooler, too.
function beginFor(signal: Signal | undefined): string {
  if (signal === undefined) return 'begin'
  const statement = withTime('statement_timeout', signal.statementTimeoutMs)
  const idle = withTime('idle_in_transaction_session_timeout', signal.idleTimeoutMs)
  return `begin${statement}${idle}`
}

function withTime(setting: string, ms: number | undefined): string {
  return ms === undefined ? '' : `; set local ${setting} = ${ms}`
}

// Sends a statement even if nobody waits any more.
function sendAnyway(held: HeldConnection, statement: string): Promise<unknown> {
  return held.sql.unsafe(statement)
}

// After a failed statement, PostgreSQL turns COMMIT into ROLLBACK and says so in the command tag.
async function commit(sql: Sql): Promise<void> {
  const { command } = await sql.unsafe('commit')
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: a statement failed and its error was ignored')
}

function beginPart(sql: Sql, held: HeldConnection): () => Promise<void> {
  // The savepoint is pipelined with the next statement. If it fails, so does COMMIT.
  sql.unsafe('savepoint whole').catch(() => {})
  return async () => {
    // If the savepoint does not exist, the whole transaction is rolled back.
    await sendAnyway(held, 'rollback to savepoint whole').catch(() => {})
  }
}
