// What a database must fulfil before this process serves from it.

import { checkPlans } from '../auth/client.js'
import type { Config } from '../config.js'
import type { Database } from '../database/database.js'
import { checkPooled } from '../database/roles.js'
import type { Contract } from '../openapi/index.js'

/** @throws {OperatorError} if the pooler's role lacks its settings, or the contract a plan that keys have */
export async function checkDatabase(
  database: Database,
  contract: Contract,
  { handlerTimeoutMs }: Config,
): Promise<void> {
  await checkPooled(database, handlerTimeoutMs)
  await checkPlans(database.sql, contract)
}
