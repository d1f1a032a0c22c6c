// Statements for code that runs in a transaction without knowing, such as the handler of a request with an
// `Idempotency-Key`. It may catch the failure of a statement, such as a unique violation, and go on. In a
// plain transaction, PostgreSQL would refuse all later statements.

import { abandoned } from './connection.js'
import type { HeldConnection, Signal, Sql, Statement } from './sql.js'

/** A tag whose statements belong to a transaction that its user does not know of. */
export type IndependentSql = Sql & {
  /** Sends a statement that another tag has made. */
  dispatch(statement: Statement): void
  part<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>
}

/**
 * Returns a tag for statements in the transaction of `transaction` on `held`. Each statement waits for the
 * one before; a statement that fails is undone alone. `inTransaction` on the tag runs a part of the
 * transaction, whose statements are all kept, or none is. Nothing is sent once `signal` is aborted.
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
  // Within a part, send at once, whichever tag is used: in the queue, the statement would wait for its own
  // part.
  const dispatch = (statement: Statement) => {
    if (isInPart) send(statement)
    // If this rejects, the connection is lost, and the next statement fails.
    else inTurn(() => sendAlone(statement)).catch(() => {})
  }
  const part: IndependentSql['part'] = (run) => (isInPart ? run(transaction) : inTurn(() => runPart(run)))
  return Object.assign(held.sqlBy(dispatch), { dispatch, part })
}

// A part ends as a transaction does: PostgreSQL checks deferred constraints, and the part's caller can catch
// the error. The savepoint is rolled back, so that constraints are deferred in the next part, too.
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

// Does not wait: the next statement is pipelined behind the savepoint.
function beginSavepoint(sql: Sql, name: string) {
  const send = async (statement: string): Promise<void> => void (await sql.unsafe(statement).execute())
  send(`savepoint ${name}`).catch(() => {}) // if it fails, so does COMMIT
  return {
    release: (first = '') => send(`${first} release savepoint ${name}`),
    rollBack: () => send(`rollback to savepoint ${name}`),
  }
}
