// The server that a start would build of a contract: whatever it throws then, generate says first.

import { pino } from 'pino'
import postgres from 'postgres'
import { buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { ContractError } from '../../src/contract/contract-error.js'
import { problemOf } from '../../src/contract/operations.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract } from '../../src/contract/types.js'
import { createPools } from '../../src/database/pools.js'
import { type Handlers, notWritten } from '../../src/handlers/handler.js'

/**
 * Builds the routes and validators of every operation, written or not. Nothing listens, and no database is asked.
 * @throws {ContractError} when a start would fail
 */
export async function buildServer(contract: Contract): Promise<void> {
  const log = pino({ enabled: false })
  const config = readConfig({})
  const pools = createPools((options) => postgres(options), config.handlerTimeoutMs, log)
  const handlers = [...contract.operations.values()].map((operation) => {
    const isPlanned = unmetSecurity(operation, contract) !== undefined
    return [operation.name, isPlanned ? notWritten(operation.name as never) : async () => {}]
  })
  const parts = { config, contract, pools, log, handlers: Object.fromEntries(handlers) as Handlers }
  try {
    const app = await buildApp(parts)
    await app.ready()
    await app.close()
  } catch (error) {
    throw error instanceof ContractError ? error : fromFastify(error as Error, contract)
  }
}

// Fastify says of which route it could not compile a schema.
function fromFastify({ message }: Error, { operations, prefix }: Contract): ContractError {
  const [, method, url = '', reason] = /schema for (\w+): (\S+), due to error (.*)/s.exec(message) ?? []
  const operation = [...operations.values()].find(
    (each) => each.method === method && decodeURI(prefix) + each.route === url,
  )
  if (operation === undefined) return new ContractError([{ text: message, at: [] }])
  return new ContractError([problemOf(operation, String(reason))])
}
