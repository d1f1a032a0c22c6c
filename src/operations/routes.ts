// Mounts the contract: fastify-openapi-glue makes a route of every operation, and here each gets, in the order
// a request meets them, its key check, the checks of its input, its handler and
// the check of its answer. A gap stops the start.

import type { ValidateFunction } from 'ajv'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  HTTPMethods,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import glue from 'fastify-openapi-glue'
import type { OperationId } from '../../generated/operations.js'
import { ContractError, type Problem } from '../contract/contract-error.js'
import { routeName } from '../contract/names.js'
import { problemOf } from '../contract/operations.js'
import { type SecurityKind, unmetSecurity, waysIn } from '../contract/security.js'
import type { Contract, Operation } from '../contract/types.js'
import { type Signal, whileAnyWaits } from '../database/driver/sql.js'
import type { SerializedResponse } from '../database/idempotency-keys.js'
import type { Pools, Sql } from '../database/types.js'
import { ApiError, errorBody } from '../errors.js'
import { type Context, type Handlers, isStub } from '../handlers/handler.js'
import type { LoadShedder } from '../http/load-shedding.js'
import { requestPath } from '../http/request-path.js'
import { createCoalesce } from '../lib/coalesce.js'
import { callBack } from '../lib/maybe-promise.js'
import type { AnySchema } from '../schemas/exact-numbers.js'
import { deprecationHeaders } from './deprecation.js'
import { idempotencyHeader, type Once } from './idempotency.js'
import { createParameterReader, type Validators } from './parameter-styles.js'
import { createResponseSchemas } from './response-schemas.js'
import { parametersSchema, requestSchemas } from './request-schemas.js'
import { checkMediaType, checkRequest, createValidatorCompiler, parseBody } from './request-validation.js'
import { createResponseChecks, type ResponseCheck } from './response-validation.js'
import { glueSpecification } from './glue-specification.js'
import { type Answer, checkBody, checkHead, checkHeaders, createSerializer } from './response-serialization.js'
import { serverProblems } from './server-responses.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    /** Sent with every answer of the operation. */
    headers?: Readonly<Record<string, string>>
    responseCheck?: ResponseCheck
    /** Its answers are written by a serializer that knows every number, if not the schema. */
    isExact?: boolean
  }
}

export interface RouteParts {
  readonly contract: Contract
  readonly handlers: Handlers
  readonly pools: Pools
  readonly loadShedder: LoadShedder
  /** For requests that carry a key of their own. */
  readonly once: Once
  /** What makes a request pass each kind of security scheme: it throws unless the caller may go on. */
  readonly securityChecks: Readonly<Record<SecurityKind, SecurityCheck>>
}

type SecurityCheck = (request: FastifyRequest) => void
type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Adds every operation of the contract to the server. */
export async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { contract } = parts
  const responseCheckOf = createResponseChecks(contract.specification)
  const plainAnswersOf = createResponseSchemas(contract.specification)
  const problems = new Map<string, Problem>()
  const note = (problem: Problem) => problems.set(problem.text, problem)
  app.setErrorHandler(app.errorHandler) // of errors in answering one, Fastify asks the next handler up
  const compile = createValidatorCompiler(contract.specification)
  app.decorateRequest('cookies', undefined)
  app.decorateRequest('parameterErrors', undefined)
  app.decorateRequest('bodyErrors', undefined)
  app.addHook('onRoute', (route) => {
    const operation = route.config?.operation
    if (operation === undefined) return
    const isServed = !isStub(handlerOf(operation, parts))
    const trying = <Result>(run: () => Result): Result | undefined => {
      try {
        return run()
      } catch (error) {
        const own = problemOf(operation, (error as Error).message)
        for (const problem of error instanceof ContractError ? error.problems : [own]) note(problem)
        return undefined
      }
    }
    if (isServed) for (const text of operation.unread) note({ ...problemOf(operation, text), text })
    const responseCheck = trying(() => responseCheckOf(operation, isServed))
    if (responseCheck === undefined) return
    const response = isServed ? trying(() => plainAnswersOf(operation)) : undefined
    for (const [problem, place] of serverProblems(operation, responseCheck, contract)) {
      if (!problems.has(problem)) problems.set(problem, problemOf(operation, problem, place))
    }
    route.config = { ...route.config, isExact: response === undefined, responseCheck }
    if (isServed) {
      const read = trying(() =>
        createParameterReader(operation, contract.prefix, validatorsOf(operation, compile)),
      )
      if (read) route.preValidation = [route.preValidation ?? [], sync(read)].flat()
    }
    // Fastify compiles when all routes are there, and would stop at the first that it cannot.
    route.validatorCompiler = (part) =>
      trying(() => compile({ ...part, schema: part.schema as AnySchema })) ?? (() => true)
    const request = isServed ? requestSchemas(operation, contract.specification) : {}
    route.schema = { ...request, ...(response && { response }) }
  })
  app.addHook('preSerialization', checkBody)
  app.addHook('onSend', checkHead)
  for (const operation of contract.operations.values()) checkIsFree(app, operation, contract)
  await app.register(glue, {
    specification: glueSpecification(contract),
    prefix: decodeURI(contract.prefix),
    operationResolver: (id: string) => routeOptions(operationOf(contract, id), parts),
  })
  app.addHook('onReady', async () => {
    if (problems.size > 0) throw new ContractError([...problems.values()])
  })
}

// Fastify's own refusal says of no operation.
function checkIsFree(app: FastifyInstance, operation: Operation, { prefix }: Contract): void {
  const url = decodeURI(prefix) + operation.route
  if (!app.hasRoute({ method: operation.method as HTTPMethods, url })) return
  throw new ContractError([problemOf(operation, `${operation.method} ${url} is a path of the service's own`)])
}

function validatorsOf(operation: Operation, compile: FastifySchemaCompiler<AnySchema>): Validators {
  const { method, route: url } = operation
  const compiled = (schema: AnySchema, httpPart: string) =>
    compile({ schema, method, url, httpPart }) as ValidateFunction
  const cookies = parametersSchema(operation, 'cookie')
  return {
    cookies: cookies && compiled(cookies, 'cookies'),
    json: ({ schema }) => compiled(schema, 'json'),
  }
}

function operationOf(contract: Contract, id: string): Operation {
  const operation = contract.operations.get(id)
  if (operation === undefined) throw new ContractError(`${id} is not an operation of the contract`)
  return operation
}

// glue adds method, url and schema.
function routeOptions(operation: Operation, parts: RouteParts): RouteOptions {
  const options: Partial<RouteOptions> = {
    config: { operation, headers: deprecationHeaders(operation, parts.contract) ?? {} },
    attachValidation: true,
    // Fastify answers HEAD where GET is, unless the contract declares it.
    exposeHeadRoute: !isDeclared('HEAD', operation.path, parts.contract),
    onRequest: onRequestHooks(operation, parts),
    preValidation: [...renaming(operation), sync((request) => parseBody(request, operation))],
    preHandler: sync((request) => checkRequest(request, operation)),
    handler: routeHandler(operation, parts),
  }
  return options as RouteOptions
}

function isDeclared(method: string, path: string, { operations }: Contract): boolean {
  return [...operations.values()].some((each) => each.method === method && each.path === path)
}

// What an operation is sent does not matter while nothing is there to take it.
function onRequestHooks(operation: Operation, parts: RouteParts): onRequestHookHandler[] {
  const stub = handlerOf(operation, parts)
  return [
    sync(securityCheck(operation, parts)),
    isStub(stub) ? async () => stub() : sync((request) => checkMediaType(request, operation)),
  ]
}

// The path parameters that the router knows by other names.
function renaming({ parameters }: Operation): onRequestHookHandler[] {
  const names = parameters
    .filter((each) => each.in === 'path')
    .map(({ name }) => [name, routeName(name)] as const)
  const others = names.filter(([name, inRoute]) => inRoute !== name)
  if (others.length === 0) return []
  const rename = ({ params }: FastifyRequest) => {
    const values = params as Record<string, unknown>
    for (const [name, inRoute] of others) {
      values[name] = values[inRoute]
      delete values[inRoute]
    }
  }
  return [sync(rename)]
}

// A hook that returns a promise costs several microtasks, and these checks have nothing to wait for.
function sync(check: (request: FastifyRequest) => void): onRequestHookHandler {
  return (request, _reply, done) => callBack(() => check(request), done)
}

// The compiler has seen that each handler takes what its operation declares; validation will have seen that the
// request is that.
function handlerOf({ id, name }: Operation, { handlers }: RouteParts): Run {
  const handler = handlers[name as OperationId] as unknown as Run | undefined
  if (handler === undefined) throw new ContractError(`${id} has no handler: run npm run generate`)
  return handler
}

// The first way in that lets the caller pass, or else the first one's refusal. An operation that no one can be let
// into may be planned; one that is written must not be open to all instead.
function securityCheck(operation: Operation, parts: RouteParts): SecurityCheck {
  const { contract, securityChecks } = parts
  const unmet = unmetSecurity(operation, contract)
  if (unmet !== undefined && !isStub(handlerOf(operation, parts)))
    throw new ContractError([{ ...problemOf(operation, unmet), text: unmet }])
  if (unmet !== undefined) {
    return () => {
      throw new ApiError('not_implemented', unmet)
    }
  }
  const ways = waysIn(operation, contract).map((kinds) => kinds.map((kind) => securityChecks[kind]))
  return (request) => {
    const refusals: unknown[] = []
    for (const checks of ways) {
      try {
        for (const check of checks) check(request)
        return
      } catch (refusal) {
        refusals.push(refusal)
      }
    }
    throw refusals[0]
  }
}

function routeHandler(operation: Operation, parts: RouteParts): RouteHandler {
  const handler = handlerOf(operation, parts)
  const pool = isSafe(operation.method) ? parts.pools.reads : parts.pools.writes
  const write = createSerializer(operation)
  const run = (request: FastifyRequest, sql: Sql) => {
    const { params, query, headers, cookies = {}, body, url, mediaType, client } = request
    const contentType = body === undefined ? undefined : mediaType
    const context = { sql, path: requestPath(url), contentType, client }
    return handler({ params, query, headers, cookies, body }, context)
  }
  const answer: AnswerRequest = async (request, reply, signal = request.lifetime) =>
    write(request, reply, await run(request, pool.sqlUntil(signal)))
  const plainly = isCoalesced(operation) ? coalesced(answer) : answer
  const answerOnce = parts.once(async (request, reply, by) => {
    const ran = await run(request, by).catch((error) => refusalOf(error, request, parts.contract))
    const written = write(request, reply, ran)
    checkHeaders(request, reply, written) // before anything is kept of it
    return written
  })
  const once: AnswerRequest = async (request, reply) => {
    const { isReplay, ...kept } = await answerOnce(request, reply)
    return isReplay ? { ...kept, headers: { ...kept.headers, 'Idempotent-Replayed': 'true' } } : kept
  }
  return async (request, reply) => {
    const isKeyed = operation.isIdempotent && request.headers[idempotencyHeader] !== undefined
    const answered = await parts.loadShedder.run(() => (isKeyed ? once : plainly)(request, reply))
    const { status, headers, body } = answered
    if (request.lifetime?.isOver) return undefined
    checkHeaders(request, reply, answered) // before the answer has them, which would be an error with them otherwise
    request.isUnchecked = true
    addHeaders(reply, headers)
    return reply.code(status).send(body)
  }
}

type AnswerRequest = (request: FastifyRequest, reply: FastifyReply, signal?: Signal) => Promise<SerializedResponse>

// Where all that can be known of a request is its URL and whose it is, two that are alike in both have the same answer.
function isCoalesced({ method, parameters, body }: Operation): boolean {
  return (
    isSafe(method) && body === undefined && parameters.every((each) => ['path', 'query'].includes(each.in))
  )
}

function coalesced(answer: AnswerRequest): AnswerRequest {
  const coalesce = createCoalesce<FastifyRequest, SerializedResponse>()
  return (request, reply) =>
    coalesce(`${request.client?.keyId} ${request.url}`, request, (requests) =>
      answer(request, reply, whileAnyWaits(requests.map(({ lifetime }) => lifetime))),
    )
}

// RFC 9110, section 9.2.1: a safe method changes nothing.
function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

// What a handler throws to refuse the request is an answer, too.
function refusalOf(error: unknown, request: FastifyRequest, contract: Contract): Answer {
  if (!(error instanceof ApiError)) throw error
  const body = errorBody(error, contract)
  const isDeclared = request.matched?.config.responseCheck?.takes(body.status, body) === true
  if (body.status >= 500 || !isDeclared) throw error
  return { status: body.status, headers: error.headers, body }
}

// Any handler, once its types have done their work.
type Run = (request?: unknown, context?: Context) => Promise<Answer>

function addHeaders(reply: FastifyReply, headers: SerializedResponse['headers']): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, merged(reply, name, value))
}

// A deprecated operation has a Link of its own already; RFC 8288 lets one field hold several.
function merged(reply: FastifyReply, name: string, value: string | string[]): string | string[] {
  const present = name === 'Link' ? reply.getHeader(name) : undefined
  return present === undefined ? value : `${present}, ${value}`
}
