// Mounts the contract: fastify-openapi-glue makes a route of every operation, with the options that createRouteOptions returns. Read
// them for the life of a request. Whatever the contract or the handlers lack is collected, and stops the startup.

import type {
  FastifyInstance,
  FastifyRequest,
  HTTPMethods,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import glue from 'fastify-openapi-glue'
import type { OperationId } from '../../generated/operations.js'
import { ContractError, type Problem } from '../contract/contract-error.js'
import type { AnySchema } from '../contract/keywords.js'
import { routeName } from '../contract/names.js'
import { problemOf } from '../contract/operations.js'
import { isPublic, unsupportedSecurity } from '../contract/security.js'
import type { Contract, Operation } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { type Handlers, isStub } from '../handlers/handler.js'
import { callbackify } from '../lib/maybe-promise.js'
import { deprecationHeaders } from './deprecation.js'
import { glueSpecification } from './glue-specification.js'
import { createParameterReader } from './parameter-styles.js'
import { requestSchemas } from './request-schemas.js'
import { checkMediaType, checkRequest, createValidatorCompiler, parseBody } from './request-validation.js'
import { createResponseSchemas } from './response-schemas.js'
import { validateErrorBody, validateHeaders } from './response-serialization.js'
import { createResponseChecks, type ResponseCheck } from './response-validation.js'
import { createRouteHandler, type OperationHandler, type RouteHandlerParts } from './route-handler.js'
import { serverProblems } from './server-responses.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    /** Sent with every response of the operation. */
    headers?: Readonly<Record<string, string>>
    responseCheck?: ResponseCheck | undefined
    /** Whether bodies are serialized by lossless-json, because Fastify's serializer cannot write all that the schemas allow. */
    isExact?: boolean
  }
}

export interface RouteParts extends RouteHandlerParts {
  readonly handlers: Handlers
  /** The check of bearer keys. It throws unless the client is authorized. */
  readonly requireClient: SecurityCheck
}

type SecurityCheck = (request: FastifyRequest) => void
/** By their text, so that a problem of several operations is reported once. */
type Problems = Map<string, Problem>

/**
 * Adds every operation of the contract to the server.
 * @throws {ContractError} here or when the server is ready: an operation has no handler, or what it declares cannot be served
 */
export async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { contract } = parts
  const problems: Problems = new Map()
  const routeOptions = createRouteOptions(parts, problems)
  app.decorateRequest('cookies', undefined)
  app.decorateRequest('readErrors', undefined)
  app.addHook('preSerialization', validateErrorBody)
  app.addHook('onSend', validateHeaders)
  app.setErrorHandler(app.errorHandler) // Fastify passes an error in sending an error response to the next handler up
  for (const operation of contract.operations.values()) checkIsFree(app, operation, contract)
  await app.register(glue, {
    specification: glueSpecification(contract),
    prefix: decodeURI(contract.prefix),
    // glue knows only the contract's operations, and adds method and url
    operationResolver: (id: string) => routeOptions(contract.operations.get(id) as Operation) as RouteOptions,
  })
  app.addHook('onReady', async () => {
    if (problems.size > 0) throw new ContractError([...problems.values()])
  })
}

// Fastify's own error does not name the operation.
function checkIsFree(app: FastifyInstance, operation: Operation, { prefix }: Contract): void {
  const url = decodeURI(prefix) + operation.route
  if (!app.hasRoute({ method: operation.method as HTTPMethods, url })) return
  const { id, method } = operation
  throw new ContractError([problemOf(operation, `${id}: ${method} ${url} is a path of the service's own`)])
}

function createRouteOptions(
  parts: RouteParts,
  problems: Problems,
): (operation: Operation) => Omit<RouteOptions, 'method' | 'url'> {
  const { contract } = parts
  const { specification } = contract
  const compile = createValidatorCompiler(specification)
  const responseCheckOf = createResponseChecks(specification)
  const responseSchemasOf = createResponseSchemas(specification)

  return (operation) => {
    const handler = handlerOf(operation, parts)
    const isImplemented = !isStub(handler)
    const attempt = <Result>(run: () => Result) => collect(problems, operation, run)

    if (isImplemented)
      for (const text of operation.unsupported) problems.set(text, problemOf(operation, text))
    const responseCheck = attempt(() => responseCheckOf(operation, isImplemented))
    if (responseCheck !== undefined) noteServerProblems(problems, operation, responseCheck, contract)
    const config = { operation, headers: deprecationHeaders(operation, contract) ?? {}, responseCheck }
    // Fastify adds HEAD to every GET, unless the contract declares a HEAD of its own.
    const exposeHeadRoute = !isDeclared('HEAD', operation.path, contract)
    const authorize = hook(securityCheck(operation, isImplemented, parts))
    const run = createRouteHandler(operation, handler, parts)
    // Respond 501 before the body is read: nothing checks it.
    if (!isImplemented) {
      const notImplemented = async () => void (await handler())
      return { config, exposeHeadRoute, schema: {}, onRequest: [authorize, notImplemented], handler: run }
    }

    const response = attempt(() => responseSchemasOf(operation))
    const readParameters = attempt(() => createParameterReader(operation, contract.prefix, compile))
    return {
      config: { ...config, isExact: response === undefined },
      exposeHeadRoute,
      schema: { ...requestSchemas(operation, specification), ...(response && { response }) },
      // Fastify compiles once all routes are added, and would stop at the first schema that fails.
      validatorCompiler: ({ schema, httpPart }) =>
        attempt(() => compile(schema as AnySchema, httpPart)) ?? (() => true),
      attachValidation: true, // checkRequest reports what it found

      onRequest: [authorize, hook((request) => checkMediaType(request, operation))],
      preValidation: [
        ...renamePathParameters(operation),
        hook((request) => parseBody(request, operation)),
        ...(readParameters ? [hook(readParameters)] : []),
      ],
      preHandler: hook((request) => checkRequest(request, operation)),
      handler: run,
    }
  }
}

// The result of a step, or undefined: its error becomes a problem of the operation.
function collect<Result>(problems: Problems, operation: Operation, run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    const found =
      error instanceof ContractError
        ? error.problems
        : [problemOf(operation, `${operation.id}: ${(error as Error).message}`)]
    for (const problem of found) problems.set(problem.text, problem)
    return undefined
  }
}

function noteServerProblems(
  problems: Problems,
  operation: Operation,
  check: ResponseCheck,
  contract: Contract,
): void {
  for (const [problem, place] of serverProblems(operation, check, contract)) {
    if (!problems.has(problem)) problems.set(problem, problemOf(operation, `${place}: ${problem}`))
  }
}

// A synchronous check as a hook. An async hook would cost several microtasks.
function hook(check: (request: FastifyRequest) => void): onRequestHookHandler {
  return (request, _reply, done) => callbackify(() => check(request), done)
}

function isDeclared(method: string, path: string, { operations }: Contract): boolean {
  return [...operations.values()].some((each) => each.method === method && each.path === path)
}

// The router cannot use every name of the contract: these path parameters get their own names back.
function renamePathParameters({ parameters }: Operation): onRequestHookHandler[] {
  const names = parameters
    .filter((each) => each.in === 'path')
    .map(({ name }) => [name, routeName(name)] as const)
    .filter(([name, inRoute]) => inRoute !== name)
  if (names.length === 0) return []
  const rename = ({ params }: FastifyRequest) => {
    const values = params as Record<string, unknown>
    for (const [name, inRoute] of names) {
      values[name] = values[inRoute]
      delete values[inRoute]
    }
  }
  return [hook(rename)]
}

// The compiler has checked that each handler takes what its operation declares; validation ensures that the request is that.
function handlerOf({ id, name }: Operation, { handlers }: RouteParts): OperationHandler {
  const handler = handlers[name as OperationId] as unknown as OperationHandler | undefined
  if (handler === undefined) throw new ContractError(`${id} has no handler: run npm run generate`)
  return handler
}

// An operation whose requirements the server cannot check responds 501; once it has a handler, the startup fails rather than leave it
// open.
function securityCheck(
  operation: Operation,
  isImplemented: boolean,
  { contract, requireClient }: RouteParts,
): SecurityCheck {
  const unmet = unsupportedSecurity(operation, contract)
  if (unmet === undefined) return isPublic(operation) ? () => {} : requireClient
  if (isImplemented) throw new ContractError([problemOf(operation, unmet)])
  return () => {
    throw new ApiError('not_implemented', unmet)
  }
}
