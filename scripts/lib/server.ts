// A server of any contract, without the parts of the service: for tools that examine a contract.

import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { ServiceContract } from '../../src/auth/plans.js'
import { keyErrors, keySchemes } from '../../src/auth/unauthorized.js'
import { additionsTo } from '../../src/http/additions.js'
import { healthPathsOf } from '../../src/http/service-paths.js'
import {
  type Check,
  contractFiles,
  documentation,
  errorHandler,
  mount,
  notFoundHandler,
  type Operation,
} from '../../src/openapi/index.js'

/**
 * Mounts a contract with these handlers. The server does not listen, and any key may pass.
 * @param log none by default
 * @throws {ContractError} when startup of the service would fail
 */
export async function buildServer(
  contract: ServiceContract,
  handlerOf: (operation: Operation) => unknown,
  log?: FastifyBaseLogger,
): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(log && { loggerInstance: log }),
    bodyLimit: contract.limits.body,
    routerOptions: { maxParamLength: contract.limits.url },
    frameworkErrors: errorHandler(contract),
  })
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  // The service's own paths.
  for (const path of Object.values(healthPathsOf(contract))) app.get(path, async () => {})
  contractFiles(app, contract)
  documentation(app, contract)
  const handlers = [...contract.operations.values()].map((each) => [each.name, handlerOf(each)])
  await mount(app, {
    contract,
    handlers: Object.fromEntries(handlers),
    security: Object.fromEntries(keySchemes(contract).map((name) => [name, anyKey])),
    context: ({ mediaType }) => ({ contentType: mediaType }),
    additions: additionsTo(contract),
  })
  return app
}

const anyKey: Check = { caller: () => ({ scopes: new Set() }), errors: keyErrors }
