// Builds a server of any contract without the other parts of the service, for tools that examine a contract.

import {
  contractFiles,
  documentation,
  type ErrorBodyOf,
  errorHandler,
  mount,
  notFoundHandler,
  type Operation,
  Security,
} from 'contract-engine'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { ServiceContract } from '../../src/auth/plans.js'
import { additionsTo } from '../../src/http/additions.js'
import { healthPathsOf } from '../../src/http/service-paths.js'
import { defaultList, type Listed, standIns } from './schemes.js'

/** The project's own parts. */
export interface Own {
  readonly errorBody?: ErrorBodyOf | undefined
  /** The checks of its security schemes. Default: those that fit the contract. */
  readonly listed?: Listed
}

/**
 * Mounts a contract with these handlers. The server does not listen, and every credential passes.
 * @param log default: none
 * @throws {ContractError} if startup of the service would fail
 */
export async function buildServer(
  contract: ServiceContract,
  handlerOf: (operation: Operation) => unknown,
  log?: FastifyBaseLogger,
  { errorBody, listed }: Own = {},
): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(log && { loggerInstance: log }),
    bodyLimit: contract.limits.body,
    routerOptions: { maxParamLength: contract.limits.url },
    frameworkErrors: errorHandler(contract, { errorBody }),
  })
  app.setErrorHandler(errorHandler(contract, { errorBody }))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  // The service's own paths.
  for (const path of Object.values(healthPathsOf(contract))) app.get(path, async () => {})
  contractFiles(app, contract)
  documentation(app, contract)
  const security = securityOf(contract, listed)
  const handlers = [...contract.operations.values()].map((each) => [each.name, handlerOf(each)])
  await mount(app, {
    contract,
    handlers: Object.fromEntries(handlers),
    security,
    context: ({ mediaType }) => ({ contentType: mediaType }),
    additions: additionsTo(contract, security),
    errorBody,
  })
  return app
}

/** Returns the security of a contract for a tool: every credential passes. */
export function securityOf(contract: ServiceContract, listed = defaultList(contract)): Security {
  return new Security(contract, standIns(contract, listed))
}
