// Transactions on the connections of postgres.js itself, for startup and commands.

import type { RootSql, RootTransaction } from './database.js'
import { codeOf, isConnectionLost } from './unavailable.js'

/**
 * Calls `run` in a transaction. A lost connection is the error of its statement: postgres.js 3.4.9 alone
 * would then write ROLLBACK to the socket that it no longer has, which nothing can catch. So it is not told
 * of the error, and the connection's end is that of the transaction.
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
 * Whether the connection is lost with this error of a statement, and its session with it: an error of Node or
 * of postgres.js, or one of PostgreSQL that is worse than ERROR.
 */
export function isLastOf(error: unknown): boolean {
  const { severity, query } = Object(error) as { severity?: unknown; query?: unknown }
  if (severity !== undefined) return severity !== 'ERROR'
  return query !== undefined && codeOf(error) !== '' && isConnectionLost(error)
}
