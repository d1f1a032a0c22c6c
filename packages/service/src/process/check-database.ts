// The checks of a database before this process serves from it.

import { checkPlans } from '../auth/client.js'
import type { ServiceContract } from '../auth/plans.js'
import type { Config } from '../config.js'
import type { Database } from '../database/database.js'
import { beginPatiently, type Patience } from '../database/locks.js'
import { checkPooled } from '../database/roles.js'
import { checkSequences } from '../database/sequences.js'

/**
 * Checks the database. Waits for locks of other sessions as long as startup may.
 * @throws {OperatorError} if the role lacks its settings behind a pooler, if the contract lacks a plan that
 * keys have, or if a sequence is behind its rows
 */
export async function checkDatabase(
  database: Database,
  contract: ServiceContract,
  { handlerTimeoutMs, startTimeoutMs: timeoutMs }: Config,
  parts: Pick<Patience, 'log' | 'interruption'>,
): Promise<void> {
  await checkPooled(database, handlerTimeoutMs)
  await beginPatiently(database.sql, { ...parts, timeoutMs }, async (sql) => {
    await checkPlans(sql, contract)
    await checkSequences(sql)
  })
}
