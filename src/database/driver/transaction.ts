// Transactions, on a connection that is held for them alone. postgres.js's own `begin` writes its rollback to the socket of a lost
// connection, which nobody can catch; here every statement is one of the connection's.

import type { HeldConnection, Signal, Sql } from './sql.js'

export type TransactionSql = Sql & {
  /** Runs a part of the transaction that is undone where it fails. */
  savepoint<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Has the commit follow a statement without waiting for its answer; where the statement fails, so does the transaction. */
  commitAfter(statement: Promise<unknown>): void
}

/**
 * Calls `run` in a transaction: all of its statements are done, or none is. Where `sql` is of a transaction already, as that of a request
 * with an `Idempotency-Key`, they are part of it.
 */
export function inTransaction<Result>(sql: Sql, run: (sql: Sql) => Promise<Result>): Promise<Result> {
  if (sql.of === undefined) return run(sql)
  const { pool, signal } = sql.of
  return pool.hold(signal, (held) => transact(held, signal, run))
}

/**
 * Calls `run` in a transaction on a held connection, and commits if that resolves and `signal` is not aborted by then.
 * Rejects with what `run` or the database says; where the connection is lost during the commit, nobody knows whether it was done.
 */
export async function transact<Result>(
  held: HeldConnection,
  signal: Signal | undefined,
  run: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  const scope = { isOver: false }
  const control = held.sqlUntil(undefined)
  const sql = held.sqlUntil({
    get aborted() {
      return scope.isOver || signal?.aborted === true
    },
  })
  // Sent with the first statement; where it fails, so does that.
  const begun = control.unsafe('begin').execute()
  begun.catch(() => {})
  let last: Promise<unknown> = begun
  const commitAfter = (statement: Promise<unknown>) => {
    statement.catch(() => {}) // awaited below, unless something else fails first
    last = statement
  }
  try {
    const result = await run(Object.assign(sql, { savepoint: savepointOf(sql, control), commitAfter }))
    await Promise.all([last, commit(sql)])
    return result
  } catch (error) {
    // Of a connection that cannot even do that nobody knows the state.
    await control.unsafe('rollback').catch(() => held.drop())
    throw error
  } finally {
    scope.isOver = true
  }
}

// Of a transaction in which a statement has failed, PostgreSQL makes a rollback and says so.
async function commit(sql: Sql): Promise<void> {
  const { command } = await sql.unsafe('commit')
  if (command !== 'COMMIT') throw new Error('a statement of the transaction failed, and nobody minded')
}

function savepointOf(sql: Sql, control: Sql): TransactionSql['savepoint'] {
  return async (run) => {
    const made = sql.unsafe('savepoint part').execute()
    made.catch(() => {})
    try {
      const result = await run(sql)
      await made
      return result
    } catch (error) {
      // Where it was never made, all of the transaction is rolled back.
      await control.unsafe('rollback to savepoint part').catch(() => {})
      throw error
    }
  }
}
