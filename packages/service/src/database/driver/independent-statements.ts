// Statements of a transaction for code that does not know of it, such as the handler of a request with an
// `Idempotency-Key`: it may catch the failure of a statement, such as a unique violation, and go on, as
// without a transaction. PostgreSQL would refuse all that follows.

import { abandoned } from './connection.js'
import type { HeldConnection, Signal, Sql, Statement } from './sql.js'

/** A tag for statements of a transaction that its user does not know of. */
export type IndependentSql = Sql & {
  /** Sends a statement that another tag has made. */
  dispatch(statement: Statement): void
  part<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>
}

/**
 * Returns a tag for statements in the transaction of `transaction` on `held`. Each waits for the one before,
 * and one that fails is undone alone. `inTransaction` on the tag is a part of the transaction: all of its
 * statements are kept, or none is. Nothing is sent once `signal` is aborted.
 */
export function independentStatements(
  held: HeldConnection,
  transaction: Sql,
  signal: Signal,
): IndependentSql {
  const inTurn = createQueue()
  let isInPart = false
  const send = (statement: Statement) => {
    if (signal.aborted) statement.reject(abandoned())
    else held.send(statement)
  }
  const sendAlone = async (statement: Statement) => {
    const { release, rollBack } = beginSavepoint(transaction, 'statement')
    send(statement)
    await statement.then(() => release(), rollBack)
  }
  const runPart = async <Result>(run: (sql: Sql) => Promise<Result>): Promise<Result> => {
    const { release, rollBack } = beginSavepoint(transaction, 'part')
    isInPart = true
    try {
      const result = await run(transaction)
      await release(checkDeferred)
      return result
    } catch (error) {
      await rollBack()
      throw error
    } finally {
      isInPart = false
    }
  }
  // What is sent in a part belongs to it, by whichever tag: it would wait for itself.
  const dispatch = (statement: Statement) => {
    if (isInPart) send(statement)
    // The connection is lost, as the next statement tells.
    else inTurn(() => sendAlone(statement)).catch(() => {})
  }
  const part: IndependentSql['part'] = (run) => (isInPart ? run(transaction) : inTurn(() => runPart(run)))
  return Object.assign(held.sqlBy(dispatch), { dispatch, part })
}

// A part ends as a transaction does: its deferred constraints are checked where its caller catches the error.
// In a savepoint that is rolled back, so that they are deferred in the next part, too.
const checkDeferred = 'savepoint checked; set constraints all immediate; rollback to savepoint checked;'

// Runs one function after the other.
function createQueue(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const result = last.then(run)
    last = result.catch(() => {})
    return result
  }
}

// The next statement is pipelined behind it.
function beginSavepoint(sql: Sql, name: string) {
  const send = async (statement: string): Promise<void> => void (await sql.unsafe(statement).execute())
  send(`savepoint ${name}`).catch(() => {}) // if it fails, so does COMMIT
  return {
    release: (first = '') => send(`${first} release savepoint ${name}`),
    rollBack: () => send(`rollback to savepoint ${name}`),
  }
}
