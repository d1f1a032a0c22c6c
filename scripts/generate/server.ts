// The server that a start would build of a contract: whatever it throws then, generate says first.

import type { FastifyInstance } from 'fastify'
import { ContractError, type Problem } from '../../src/contract/contract-error.js'
import { problemOf } from '../../src/contract/operations.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract, Operation } from '../../src/contract/types.js'
import { notImplemented } from '../../src/handlers/handler.js'
import { buildServer } from '../lib/server.js'

/**
 * Builds the routes and validators of every operation, written or not. Nothing listens, and no database is asked.
 * @returns what would stop a start if more operations were written than are
 * @throws {ContractError} when a start would fail
 */
export async function checkServer(
  contract: Contract,
  isWritten: (operation: Operation) => boolean,
): Promise<readonly Problem[]> {
  const build = async (isTried: (operation: Operation) => boolean) => {
    const app = await readyServer(contract, (operation) =>
      isTried(operation) ? async () => {} : notImplemented(operation.name as never),
    )
    await app.close()
  }
  try {
    await build((operation) => isWritten(operation) || unmetSecurity(operation, contract) === undefined)
    return []
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    await build(isWritten)
    return error.problems
  }
}

/**
 * The server of a contract with these handlers, ready for requests.
 * @throws {ContractError} when a start would fail
 */
export async function readyServer(
  contract: Contract,
  handlerOf: (operation: Operation) => unknown,
): Promise<FastifyInstance> {
  try {
    const app = await buildServer(contract, handlerOf)
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
