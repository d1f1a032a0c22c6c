// The server that a start would build of a contract: whatever it throws then, generate says first.

import type { FastifyInstance } from 'fastify'
import { ContractError } from '../../src/contract/contract-error.js'
import { problemOf } from '../../src/contract/operations.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract, Operation } from '../../src/contract/types.js'
import { notWritten } from '../../src/handlers/handler.js'
import { buildServer } from '../lib/server.js'

/**
 * Builds the routes and validators of every operation, written or not. Nothing listens, and no database is asked.
 * @throws {ContractError} when a start would fail
 */
export async function checkServer(contract: Contract): Promise<void> {
  const app = await readyServer(contract, () => async () => {})
  await app.close()
}

/**
 * The server of a contract with these handlers, ready for requests; operations that no one can be let into are not written.
 * @throws {ContractError} when a start would fail
 */
export async function readyServer(
  contract: Contract,
  handlerOf: (operation: Operation) => unknown,
): Promise<FastifyInstance> {
  try {
    const app = await buildServer(contract, (operation) =>
      unmetSecurity(operation, contract) ? notWritten(operation.name as never) : handlerOf(operation),
    )
    await app.ready()
    return app
  } catch (error) {
    if (error instanceof ContractError) throw error
    throw fromFastify(error as Error, contract)
  }
}

// Fastify says of which route it could not compile a schema.
function fromFastify({ message }: Error, { operations, prefix }: Contract): ContractError {
  const [, method, url = '', reason] = /schema for (\w+): (\S+), due to error (.*)/s.exec(message) ?? []
  const operation = [...operations.values()].find(
    (each) => each.method === method && decodeURI(prefix) + each.route === url,
  )
  return new ContractError([operation ? problemOf(operation, String(reason)) : { text: message, at: [] }])
}
