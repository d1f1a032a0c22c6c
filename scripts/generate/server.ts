// The server that a start would build of a contract: whatever it throws then, generate says first.

import { ContractError } from '../../src/contract/contract-error.js'
import { problemOf } from '../../src/contract/operations.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract } from '../../src/contract/types.js'
import { notWritten } from '../../src/handlers/handler.js'
import { buildServer } from '../lib/server.js'

/**
 * Builds the routes and validators of every operation, written or not. Nothing listens, and no database is asked.
 * @throws {ContractError} when a start would fail
 */
export async function checkServer(contract: Contract): Promise<void> {
  try {
    const app = await buildServer(contract, (operation) =>
      unmetSecurity(operation, contract) ? notWritten(operation.name as never) : async () => {},
    )
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
  return new ContractError([operation ? problemOf(operation, String(reason)) : { text: message, at: [] }])
}
