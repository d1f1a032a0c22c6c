// Transactions on the connections of postgres.js itself, for startup and commands.

import type { RootSql, RootTransaction } from './database.js'
import { codeOf, isConnectionLost } from './unavailable.js'

/**
 * Calls `run` in a transaction. If the connection is lost, rejects with the error of the statement in flight.
 * postgres.js 3.4.9 would then write ROLLBACK to a socket that it no longer has, and nothing could catch that
 * error. So this function hides the error from it, and the end of the connection ends the transaction.
 */
export async function begin<Result>(
  sql: RootSql,
  run: (transaction: RootTransaction) => Promise<Result>,
): Promise<Result> {
  let lost: Error | undefined
  const runUnlessLost = (transaction: RootTransaction) =>
    run(transaction).catch((error) => {
      if (!isLastOf(error)) throw error
      lost = error
      return new Promise<never>(() => {})
    })
  const result = await sql.begin('isolation level read committed', runUnlessLost).catch((error) => {
    throw lost ?? error
  })
  return result as Result // postgres.js types it as an array of queries
}

/**
 * True if this error of a statement means that its connection, and so its session, is lost: an error of Node
 * or of postgres.js, or one of PostgreSQL more severe than ERROR.
 */
export function isLastOf(error: unknown): boolean {
  const { severity, query } = Object(error) as { severity?: unknown; query?: unknown }
  if (severity !== undefined) return severity !== 'ERROR'
  return query !== undefined && codeOf(error) !== '' && isConnectionLost(error)
}
