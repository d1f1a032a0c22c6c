// A server of a contract that needs no handler. It serves the same page as the engine, with made responses,
// and with CORS, because a page of a development server has another origin.

import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { ReadContract } from '../compile/read.js'
import type { Operation } from '../document/contract.js'
import { ContractError, type Problem } from '../document/contract-error.js'
import { operationPlace } from '../document/methods.js'
import { RequestError } from '../document/request-error.js'
import {
  clientErrorHandler,
  contractFiles,
  documentation,
  errorHandler,
  mount,
  notFoundHandler,
  notImplemented,
} from '../index.js'
import type { Found } from '../mount/problems.js'
import type { ResponseCheck } from '../serve/response/response-validation.js'
import { type MakeResponse, wishesOf } from './made-response.js'
import { addedBy, type MockOptions, mockOf } from './mock-parts.js'

export interface MockServer {
  /** The server, ready to listen. */
  readonly app: FastifyInstance
  /**
   * Why some responses are a 501: the contract declares something that cannot be served, or no value was
   * found.
   */
  readonly left: readonly Problem[]
}

/**
 * Builds a server that responds as the contract says.
 * @throws {ContractError} if the contract cannot be served, or in production
 */
export async function buildMock(contract: ReadContract, options: MockOptions = {}): Promise<MockServer> {
  const left: Problem[] = []
  const stubs = new Map<string, unknown>()
  for (;;) {
    try {
      const { app, unmade } = await ready(contract, options, Object.fromEntries(stubs))
      return { app, left: [...left, ...unmade] }
    } catch (error) {
      if (!(error instanceof ContractError)) throw error
      const found = [...contract.operations.values()].flatMap((each) => {
        const problem = stubs.has(each.name) ? undefined : error.problems.find((one) => isOf(one, each))
        return problem === undefined ? [] : [{ operation: each, problem }]
      })
      if (found.length === 0) throw error
      for (const { operation, problem } of found) {
        stubs.set(operation.name, notImplemented(operation.id))
        left.push(problem)
      }
    }
  }
}

function isOf({ text, at, operations }: Found, operation: Operation): boolean {
  if (operations?.has(operation.id)) return true
  const place = operationPlace(operation)
  const isWithin = place.every((key, i) => at[i] === key)
  return isWithin || text.startsWith(`${operation.id} `) || text.startsWith(`${operation.id}: `)
}

async function ready(
  written: ReadContract,
  options: MockOptions,
  stubs: Readonly<Record<string, unknown>>,
): Promise<{ readonly app: FastifyInstance; readonly unmade: readonly Problem[] }> {
  const { parts, makers } = mockOf(written, options)
  const { contract, errorBody, additions = [] } = parts
  const respondToError = errorHandler(contract, { errorBody })
  const app = Fastify({
    logger: { level: 'warn' },
    frameworkErrors: respondToError,
    clientErrorHandler: clientErrorHandler(contract),
  })
  const checks = new Map<Operation, ResponseCheck>()
  app.addHook('onRoute', ({ config: { operation, responseCheck } = {} }) => {
    if (operation !== undefined && responseCheck !== undefined) checks.set(operation, responseCheck)
  })
  app.addHook('onRequest', allowOrigins)
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config
    if (operation !== undefined) reply.headers(addedBy(additions, operation, contract))
  })
  app.setErrorHandler(respondToError)
  app.setNotFoundHandler(notFoundHandler(app, contract))
  contractFiles(app, contract)
  documentation(app, contract)
  try {
    await mount(app, { ...parts, handlers: { ...parts.handlers, ...stubs } })
    await app.ready()
    const unmade = [...makers].flatMap(([operation, make]) => {
      const check = operation.name in stubs ? undefined : checks.get(operation)
      return check === undefined ? [] : unmadeBy(make, operation, check)
    })
    return { app, unmade }
  } catch (error) {
    await app.close()
    throw error
  }
}

// Makes each response once, to find those that cannot be made before a client asks for one.
function unmadeBy(make: MakeResponse, operation: Operation, check: ResponseCheck): Problem[] {
  const found = new Map<string, Problem>()
  for (const { wish, key } of wishesOf(operation)) {
    try {
      make(wish, check)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (found.has(error.message)) continue
      found.set(error.message, { text: error.message, at: [...operationPlace(operation), 'responses', key] })
    }
  }
  return [...found.values()]
}

// Any page may call the mock, with cookies, too: it has nothing to protect.
async function allowOrigins(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { origin } = request.headers
  if (origin === undefined) return undefined
  reply.headers({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': '*',
  })
  const method = request.headers['access-control-request-method']
  if (request.method !== 'OPTIONS' || method === undefined) return undefined
  reply.headers({
    'Access-Control-Allow-Methods': method,
    'Access-Control-Allow-Headers': request.headers['access-control-request-headers'] ?? '*',
  })
  return reply.code(204).send()
}
