// Builds the server of a contract, so that generate reports what would fail at startup.

import { type Contract, ContractError, notImplemented, type Operation } from 'contract-engine'
import type { Judgements } from 'contract-engine/generate'
import { type Problem, problemOf, undeclaredErrors, unmetSecurity, unnamedCodes } from 'contract-engine/tools'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { ServiceContract } from '../../src/auth/plans.js'
import { additionsTo } from '../../src/http/additions.js'
import type { Listed } from '../lib/schemes.js'
import { buildServer, type Own, securityOf } from '../lib/server.js'
import { judgePatterns } from './patterns.js'

/**
 * Builds the routes and validators of every operation, implemented or not. Does not listen or use a database.
 * @param own the project's error body, and the judgements of its patterns
 * @returns warnings, and the problems that stubs would cause once they are implemented
 * @throws {ContractError} if startup would fail, or a request could stop the server
 */
export async function checkServer(
  contract: ServiceContract,
  isWritten: (operation: Operation) => boolean,
  own: Own & { readonly listed: Listed; readonly judgements: Judgements },
): Promise<{ readonly noted: readonly Problem[]; readonly planned: readonly Problem[] }> {
  const { listed, judgements } = own
  const planned = await checkBuild(contract, isWritten, own)
  const patterns = judgePatterns(contract, isWritten, judgements)
  if (patterns.refused.length > 0) throw new ContractError(patterns.refused)
  const unmet = [...contract.operations.values()].flatMap((each) => unmetIn(each, contract, listed))
  return {
    noted: [...undeclaredIn(contract, listed), ...patterns.noted],
    planned: [...unmet, ...planned, ...patterns.planned],
  }
}

/** Returns a problem for each security scheme of an operation without a check. */
export function unmetIn(operation: Operation, contract: ServiceContract, listed: Listed): Problem[] {
  return unmetSecurity(operation, contract, (name) => listed.has(name))
}

function undeclaredIn(contract: ServiceContract, listed: Listed): Problem[] {
  const security = securityOf(contract, listed)
  const additions = additionsTo(contract, security)
  const undeclared = [...contract.operations.values()].flatMap((each) =>
    undeclaredErrors(each, contract, additions),
  )
  return [...unnamedCodes(contract, security), ...undeclared]
}

async function checkBuild(
  contract: ServiceContract,
  isWritten: (operation: Operation) => boolean,
  own: Own & { readonly listed: Listed },
): Promise<readonly Problem[]> {
  const build = async (isTried: (operation: Operation) => boolean) => {
    const handlerOf = (operation: Operation) =>
      isTried(operation) ? async () => {} : notImplemented(operation.name)
    const app = await readyServer(contract, handlerOf, undefined, own)
    await app.close()
  }
  try {
    await build((operation) => isWritten(operation) || unmetIn(operation, contract, own.listed).length === 0)
    return []
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    await build(isWritten)
    return error.problems
  }
}

/**
 * Returns the server of a contract with the given handlers, ready for requests.
 * @throws {ContractError} if startup would fail
 */
export async function readyServer(
  contract: ServiceContract,
  handlerOf: (operation: Operation) => unknown,
  log?: FastifyBaseLogger,
  own?: Own,
): Promise<FastifyInstance> {
  try {
    const app = await buildServer(contract, handlerOf, log, own)
    await app.ready()
    return app
  } catch (error) {
    if (error instanceof ContractError) throw error
    throw fromFastify(error as Error, contract)
  }
}

// Fastify's error names the route whose schema it could not compile; this finds its operation.
function fromFastify({ message }: Error, { operations }: Contract): ContractError {
  const [, method, url = '', reason] = /schema for (\w+): (\S+), due to error (.*)/s.exec(message) ?? []
  const operation = [...operations.values()].find(
    (each) => each.method === method && decodeURI(each.prefix) + each.route === url,
  )
  return new ContractError([
    operation ? problemOf(operation, `${operation.id}: ${reason}`) : { text: message, at: [] },
  ])
}
