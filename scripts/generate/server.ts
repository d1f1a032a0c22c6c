// The server that a start would build of a contract: whatever it throws then, generate says first.

import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { ContractError, type Problem } from '../../src/contract/contract-error.js'
import { problemOf } from '../../src/contract/operations.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract, Operation } from '../../src/contract/types.js'
import { notWritten } from '../../src/handlers/handler.js'
import { routable } from '../../src/operations/routable.js'
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
      isTried(operation) ? async () => {} : notWritten(operation.name as never),
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
  const { log } = console
  try {
    console.log = () => {} // glue prints what its validator finds: said below, with its place
    const app = await buildServer(contract, handlerOf)
    await app.ready()
    return app
  } catch (error) {
    if (error instanceof ContractError) throw error
    console.log = log
    const problems = await documentProblems(contract)
    throw problems.length > 0 ? new ContractError(problems) : fromFastify(error as Error, contract)
  } finally {
    console.log = log
  }
}

// What glue's validator finds in the document: by JSON Schemas, of which those that only choose another say nothing.
async function documentProblems(contract: Contract): Promise<Problem[]> {
  const { errors = [] } = await new Validator().validate({ ...routable(contract, () => true) })
  const found = (Array.isArray(errors) ? errors : []).filter(({ keyword }) => keyword !== 'if')
  return found.map(({ instancePath, message, params }) => {
    const at = instancePath
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    const { allowedValue } = params as { allowedValue?: unknown }
    const wanted = allowedValue === undefined ? '' : ` ${JSON.stringify(allowedValue)}`
    return { text: `${at.join(' ')} ${message}${wanted}`, at }
  })
}

// Fastify says of which route it could not compile a schema.
function fromFastify({ message }: Error, { operations, prefix }: Contract): ContractError {
  const [, method, url = '', reason] = /schema for (\w+): (\S+), due to error (.*)/s.exec(message) ?? []
  const operation = [...operations.values()].find(
    (each) => each.method === method && decodeURI(prefix) + each.route === url,
  )
  return new ContractError([operation ? problemOf(operation, String(reason)) : { text: message, at: [] }])
}
