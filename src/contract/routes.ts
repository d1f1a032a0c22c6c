// Mounts the contract: fastify-openapi-glue makes a route of every operation, and here each gets, in the order
// a request meets them, its key check, the checks of its input, its handler and
// the check of its answer. A gap stops the start.

import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from 'fastify'
import glue from 'fastify-openapi-glue'
import type { OperationId } from '../../generated/operations.js'
import type { Sql } from '../database/connect.js'
import type { Context, Handlers } from '../handlers/handler.js'
import { requestPath } from '../request-path.js'
import { deprecationHeaders } from './deprecation.js'
import { type Contract, ContractError, type Operation } from './document.js'
import { createResponseChecks, type ResponseCheck, type ResponseSchemas } from './responses.js'
import { checkMediaType, checkRequest, createValidatorCompiler, parseBody } from './validation.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    /** Sent with every answer of the operation. */
    headers?: Readonly<Record<string, string>>
    responseCheck?: ResponseCheck
  }
  interface FastifyRequest {
    /** An answer to this request broke the contract already: what tells of it is not checked again. */
    contractBroken: boolean
  }
}

export interface RouteParts {
  readonly contract: Contract
  readonly handlers: Handlers
  readonly sql: Sql
  /** What makes a request pass each kind of security scheme: it throws unless the caller may go on. */
  readonly securityChecks: Readonly<Record<string, onRequestAsyncHookHandler>>
}

/** Adds every operation of the contract to the server. */
export async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { contract } = parts
  const responseCheckOf = createResponseChecks()
  app.decorateRequest('contractBroken', false)
  app.setValidatorCompiler(createValidatorCompiler())
  app.addHook('onRoute', (route) => {
    const operation = route.config?.operation
    if (operation === undefined) return
    const schemas = (route.schema?.response ?? {}) as ResponseSchemas
    route.config = { ...route.config, responseCheck: responseCheckOf(operation, schemas) }
    // An operation that declares no query parameters takes none.
    route.schema = { querystring: { type: 'object' }, ...route.schema }
  })
  app.addHook('preSerialization', checkBody)
  app.addHook('onSend', checkHead)
  await app.register(glue, {
    specification: contract.document,
    prefix: contract.prefix,
    operationResolver: (id: string) => routeOptions(operationOf(contract, id), parts),
  })
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
    preValidation: async (request) => parseBody(request),
    preHandler: async (request) => checkRequest(request, operation),
    handler: routeHandler(operation, parts),
  }
  return options as RouteOptions
}

function onRequestHooks(
  operation: Operation,
  { contract, securityChecks }: RouteParts,
): onRequestAsyncHookHandler[] {
  return [
    ...securityHooks(operation, contract, securityChecks),
    async (request) => checkMediaType(request, operation),
  ]
}

// One alternative of one scheme, or none at all: what the service's own contract needs. More than that would
// be a decision to take, so it stops the start rather than being half enforced.
function securityHooks(
  { id, security }: Operation,
  { securitySchemes }: Contract,
  checks: RouteParts['securityChecks'],
): onRequestAsyncHookHandler[] {
  const [schemes = []] = security
  if (security.length > 1 || schemes.length > 1) {
    throw new ContractError(`${id} combines security schemes, which the server does not support`)
  }
  return schemes.map((name) => {
    const scheme = securitySchemes.get(name)
    const check = checks[`${scheme?.type} ${scheme?.scheme ?? ''}`.trim().toLowerCase()]
    if (check === undefined) throw new ContractError(`${id}: nothing checks the security scheme ${name}`)
    return check
  })
}

function routeHandler(operation: Operation, { handlers, sql }: RouteParts): RouteOptions['handler'] {
  // The compiler has seen that each handler takes what its operation declares; validation has seen that
  // this request is that.
  const handler = handlers[operation.id as OperationId] as unknown as Run | undefined
  if (handler === undefined) throw new ContractError(`${operation.id} has no handler: run npm run generate`)
  return async (request, reply) => {
    const { params, query, headers, body } = request
    const path = requestPath(request.url)
    const answer: Answer = await handler({ params, query, headers, body }, { sql, path })
    if (reply.sent) return undefined // its time was up, and the caller has been told
    for (const [name, value] of Object.entries(answer.headers ?? {}))
      reply.header(name, merged(reply, name, value))
    // Fastify shows text, bytes and nothing at all to no hook that could check them.
    const isUnseen = typeof answer.body !== 'object' || answer.body === null || Buffer.isBuffer(answer.body)
    if (isUnseen) checked(request, (check) => check.body(answer.status, answer.body))
    return reply.code(answer.status).send(answer.body)
  }
}

// Any handler, once its types have done their work.
type Run = (request: unknown, context: Context) => Promise<Answer>

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

// A deprecated operation has a Link of its own already; RFC 8288 lets one field hold several.
function merged(reply: FastifyReply, name: string, value: string | undefined): string | undefined {
  const present = name === 'Link' ? reply.getHeader(name) : undefined
  return present === undefined ? value : `${present}, ${value}`
}

async function checkBody(request: FastifyRequest, reply: FastifyReply, body: unknown): Promise<unknown> {
  checked(request, (check) => check.body(reply.statusCode, body))
  return body
}

async function checkHead(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  checked(request, (check) => check.head(reply.statusCode, reply.getHeaders()))
  return payload
}

function checked(request: FastifyRequest, run: (check: ResponseCheck) => void): void {
  const { responseCheck } = request.routeOptions.config
  if (responseCheck === undefined || request.contractBroken) return
  try {
    run(responseCheck)
  } catch (error) {
    request.contractBroken = true
    throw error
  }
}
