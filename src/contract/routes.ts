// Mounts the contract: fastify-openapi-glue makes a route of every operation, and here each gets, in the order
// a request meets them, its key check, the checks of its input, its handler and
// the check of its answer. A gap stops the start.

import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preSerializationHookHandler,
  RouteOptions,
} from 'fastify'
import glue from 'fastify-openapi-glue'
import { stringify } from 'lossless-json'
import type { OperationId } from '../../generated/operations.js'
import type { Sql, StatementLanes } from '../database/connect.js'
import type { KeptAnswer } from '../database/idempotent-answers.js'
import { ApiError, errorBody } from '../errors.js'
import { type Context, type Handlers, isStub } from '../handlers/handler.js'
import { idempotencyHeader, type Once } from '../idempotency.js'
import { callBack } from '../proceed.js'
import { requestPath } from '../request-path.js'
import { deprecationHeaders } from './deprecation.js'
import { type Contract, ContractError, type Operation, type Schema } from './document.js'
import { essence, isJson } from './media-types.js'
import { createResponseChecks, isPlain, type ResponseCheck, type ResponseSchemas } from './responses.js'
import { type SecurityKind, unmetSecurity, waysIn } from './security.js'
import { checkMediaType, checkRequest, createValidatorCompiler, parseBody } from './validation.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    /** Sent with every answer of the operation. */
    headers?: Readonly<Record<string, string>>
    responseCheck?: ResponseCheck
    /** Its answers are written by a serializer that knows every number, if not the schema. */
    isExact?: boolean
  }
  interface FastifyRequest {
    /** The answer to this request is not held to the contract: it tells of one that broke it, or of what it leaves open. */
    isUnchecked: boolean
  }
}

export interface RouteParts {
  readonly contract: Contract
  readonly handlers: Handlers
  readonly lanes: StatementLanes
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
  const responseCheckOf = createResponseChecks()
  app.decorateRequest('isUnchecked', false)
  app.setValidatorCompiler(createValidatorCompiler())
  app.addHook('onRoute', (route) => {
    const operation = route.config?.operation
    if (operation === undefined) return
    const { body, response = {}, ...schema } = route.schema ?? {}
    const schemas = response as ResponseSchemas
    const isExact = !isPlain(schemas)
    route.config = { ...route.config, isExact, responseCheck: responseCheckOf(operation, schemas) }
    const json = jsonContent(body as BodySchema | undefined)
    route.schema = {
      // An operation that declares no query parameters takes none.
      querystring: { type: 'object' },
      ...schema,
      ...(json && { body: json }),
      ...(!isExact && { response }),
    }
  })
  app.addHook('preSerialization', checkBody)
  app.addHook('onSend', checkHead)
  await app.register(glue, {
    specification: withBareStubs(parts),
    prefix: contract.prefix,
    operationResolver: (id: string) => routeOptions(operationOf(contract, id), parts),
  })
}

// An operation that is not written is a route and no more: its schemas, which can be many, would check nothing.
function withBareStubs(parts: RouteParts): object {
  const { specification, operations } = parts.contract
  const paths: Record<string, object> = { ...(specification as { readonly paths?: object }).paths }
  for (const operation of operations.values()) {
    const { id, path, method } = operation
    const item = paths[path] as { readonly $ref?: string; readonly parameters?: unknown }
    if (item.$ref !== undefined || !isStub(handlerOf(operation, parts))) continue
    const bare = { operationId: id, responses: { default: { description: 'Not written yet.' } } }
    paths[path] = { ...item, [method.toLowerCase()]: bare }
  }
  return { ...specification, paths }
}

interface BodySchema {
  readonly content: Readonly<Record<string, { readonly schema?: Schema }>>
}

// Fastify finds a body's schema by its media type, to the letter. What is no JSON is bytes, of which no schema tells.
function jsonContent(body: BodySchema | undefined): BodySchema | undefined {
  const kinds = Object.entries(body?.content ?? {}).filter(([mediaType]) => isJson(mediaType))
  if (kinds.length === 0) return undefined
  return { content: Object.fromEntries(kinds.map(([mediaType, each]) => [essence(mediaType), each])) }
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
    onRequest: onRequestHooks(operation, parts),
    preValidation: sync((request) => parseBody(request)),
    preHandler: sync((request) => checkRequest(request, operation)),
    handler: routeHandler(operation, parts),
  }
  return options as RouteOptions
}

// What an operation is sent does not matter while nothing is there to take it.
function onRequestHooks(operation: Operation, parts: RouteParts): onRequestHookHandler[] {
  const stub = handlerOf(operation, parts)
  return [
    sync(securityCheck(operation, parts)),
    isStub(stub) ? async () => stub() : sync((request) => checkMediaType(request, operation)),
  ]
}

// A hook that returns a promise costs several turns of the loop's microtasks, and these have nothing to wait for.
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
  if (unmet !== undefined && !isStub(handlerOf(operation, parts))) throw new ContractError(unmet)
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
  // RFC 9110, section 9.2.1: a safe method changes nothing.
  const sql = ['GET', 'HEAD'].includes(operation.method) ? parts.lanes.reads : parts.lanes.writes
  const types = answerTypes(operation)
  const run = ({ params, query, headers, body, url }: FastifyRequest, by: Sql) =>
    handler({ params, query, headers, body }, { sql: by, path: requestPath(url) })
  const plainly: RouteHandler = async (request, reply) => {
    const answer = await run(request, sql)
    if (reply.sent) return undefined // its time was up, and the caller has been told
    addHeaders(reply, answer.headers)
    return send(request, reply.code(answer.status), answer.body, types.get(String(answer.status)))
  }
  if (!operation.isIdempotent) return plainly
  const once: RouteHandler = async (request, reply) => {
    const answer = await parts.once(request, (by) =>
      keepable(request, reply, parts.contract, types, () => run(request, by)),
    )
    if (reply.sent) return undefined
    if (answer.isReplay) reply.header('Idempotent-Replayed', 'true')
    addHeaders(reply, answer.headers)
    return reply.code(answer.status).send(answer.body && Buffer.from(answer.body))
  }
  return (request, reply) =>
    request.headers[idempotencyHeader] === undefined ? plainly(request, reply) : once(request, reply)
}

// By status.
type AnswerTypes = ReadonlyMap<string, AnswerType>

interface AnswerType {
  readonly mediaType: string
  readonly isJson: boolean
  /** Its `Content-Type`. */
  readonly header: string
}

// The handler's answer as bytes, held to the contract before anything is kept of it. What it throws to refuse the request is
// an answer, too.
async function keepable(
  request: FastifyRequest,
  reply: FastifyReply,
  contract: Contract,
  types: AnswerTypes,
  run: () => Promise<Answer>,
): Promise<KeptAnswer> {
  const answer = await run().catch((error) => refusalOf(error, request, contract))
  const { status, body } = answer
  const type = types.get(String(status)) ?? (status >= 400 ? jsonAnswer : undefined)
  const headers = {
    ...present(answer.headers),
    ...(body !== undefined && type && { 'Content-Type': type.header }),
  }
  checked(request, (check) => {
    check.body(status, body)
    const own = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    check.head(status, (name) => own.get(name) ?? reply.getHeader(name))
  })
  return { status, headers, body: toBytes(request, reply, answer, type) }
}

function refusalOf(error: unknown, request: FastifyRequest, contract: Contract): Answer {
  if (!(error instanceof ApiError)) throw error
  const body = errorBody(error, contract)
  const isDeclared = request.matched?.config.responseCheck?.declares(body.status) === true
  if (body.status >= 500 || !isDeclared) throw error
  return { status: body.status, headers: error.headers, body }
}

function present(headers: Answer['headers'] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function toBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, body }: Answer,
  type: AnswerType | undefined,
): Uint8Array | undefined {
  if (body === undefined) return undefined
  if (!type?.isJson) return Buffer.from(body as string) // or bytes, as its check has seen
  const isExact = request.matched?.config.isExact || typeof body !== 'object'
  const write = isExact ? undefined : reply.getSerializationFunction(String(status), type.mediaType)
  return Buffer.from(write?.(body as Record<string, unknown>) ?? toJson(body))
}

// Of several types the first of JSON counts, else the first.
function answerTypes({ responses }: Operation): AnswerTypes {
  const types = new Map<string, AnswerType>()
  for (const { status, mediaTypes } of responses.values()) {
    const declared = mediaTypes.find(isJson) ?? mediaTypes[0]
    if (declared !== undefined) types.set(status, answerType(declared))
  }
  return types
}

function answerType(declared: string): AnswerType {
  const mediaType = essence(declared)
  if (!isJson(declared)) return { mediaType, isJson: false, header: declared }
  return { mediaType, isJson: true, header: `${mediaType}; charset=utf-8` }
}

const jsonAnswer = answerType('application/json')

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  type: AnswerType | undefined,
): FastifyReply {
  if (type?.isJson) reply.type(type.header)
  if (typeof body === 'object' && body !== null && !(body instanceof Uint8Array)) {
    if (request.matched?.config.isExact) reply.serializer(toJson)
    return reply.send(body)
  }
  // Fastify shows text, bytes and nothing at all to no hook that could check them.
  checked(request, (check) => check.body(reply.statusCode, body))
  if (body === undefined) return reply.send()
  if (!type?.isJson) return reply.type(type?.header ?? '').send(body)
  return reply.serializer(String).send(toJson(body))
}

function toJson(value: unknown): string {
  return stringify(value) ?? ''
}

// Any handler, once its types have done their work.
type Run = (request?: unknown, context?: Context) => Promise<Answer>

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

function addHeaders(reply: FastifyReply, headers: Answer['headers'] = {}): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, merged(reply, name, value))
}

// A deprecated operation has a Link of its own already; RFC 8288 lets one field hold several.
function merged(reply: FastifyReply, name: string, value: string | undefined): string | undefined {
  const present = name === 'Link' ? reply.getHeader(name) : undefined
  return present === undefined ? value : `${present}, ${value}`
}

const checkBody = checking((check, reply, body) => check.body(reply.statusCode, body))
const checkHead = checking((check, reply) => check.head(reply.statusCode, (name) => reply.getHeader(name)))

function checking(run: (check: ResponseCheck, reply: FastifyReply, payload: unknown) => void) {
  const hook: preSerializationHookHandler & onSendHookHandler = (request, reply, payload, done) => {
    try {
      checked(request, (check) => run(check, reply, payload))
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, payload)
  }
  return hook
}

function checked(request: FastifyRequest, run: (check: ResponseCheck) => void): void {
  const responseCheck = request.matched?.config.responseCheck
  if (responseCheck === undefined || request.isUnchecked) return
  try {
    run(responseCheck)
  } catch (error) {
    request.isUnchecked = true
    throw error
  }
}
