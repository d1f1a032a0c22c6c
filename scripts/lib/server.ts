// The application for any contract, without a database: for tools that examine validation only.

import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import postgres from 'postgres'
import { buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { createPools } from '../../src/database/pools.js'
import type { Handlers } from '../../src/handlers/handler.js'
import type { Contract, Operation } from '../../src/openapi/contract/contract.js'

/**
 * Builds the application with these handlers. It does not listen.
 * @throws {ContractError} when startup would fail
 */
export async function buildServer(
  contract: Contract,
  handlerOf: (operation: Operation) => unknown,
): Promise<FastifyInstance> {
  const log = pino({ enabled: false })
  const config = readConfig({})
  const pools = createPools((options) => postgres(options), config.handlerTimeoutMs, log)
  const handlers = [...contract.operations.values()].map((operation) => [
    operation.name,
    handlerOf(operation),
  ])
  return buildApp({ config, contract, pools, log, handlers: Object.fromEntries(handlers) as Handlers })
}
