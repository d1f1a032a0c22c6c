// Runs the handler of an operation: within the load limit, once for each Idempotency-Key, and once for identical GETs at the same
// time. Then serializes its response and validates it against the contract.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../contract/types.js'
import type { SerializedResponse } from '../database/idempotency-keys.js'
import type { Pools, Sql } from '../database/types.js'
import { ApiError, errorBody } from '../errors.js'
import type { Context } from '../handlers/handler.js'
import type { LoadShedder } from '../http/load-shedding.js'
import { requestPath } from '../http/request-path.js'
import { coalesced, type Respond } from './coalescing.js'
import { type Idempotent, idempotencyHeader } from './idempotency.js'
import { checkHeaders, createSerializer, type HandlerResponse } from './response-serialization.js'

export interface RouteHandlerParts {
  readonly contract: Contract
  readonly pools: Pools
  readonly loadShedder: LoadShedder
  /** Runs the handler once for each Idempotency-Key. */
  readonly idempotent: Idempotent
}

/** Any handler, its types erased. */
export type OperationHandler = (request?: unknown, context?: Context) => Promise<HandlerResponse>

/** Creates the Fastify handler of an operation. */
export function createRouteHandler(
  operation: Operation,
  handler: OperationHandler,
  { contract, pools, loadShedder, idempotent }: RouteHandlerParts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const pool = isSafe(operation.method) ? pools.reads : pools.writes
  const serialize = createSerializer(operation)

  const run = (request: FastifyRequest, sql: Sql) => {
    const { params, query, headers, cookies = {}, body, url, mediaType, client } = request
    const contentType = body === undefined ? undefined : mediaType
    const context = { sql, path: requestPath(url), contentType, client }
    return handler({ params, query, headers, cookies, body }, context)
  }

  const respond: Respond = async (request, reply, signal = request.lifetime) =>
    serialize(request, reply, await run(request, pool.sqlUntil(signal)))

  const respondOnce = idempotent(operation, async (request, reply, sql) => {
    const response = await run(request, sql).catch((error) => responseOfError(error, request, contract))
    const serialized = serialize(request, reply, response)
    checkHeaders(request, reply, serialized) // an invalid response must not be stored
    return serialized
  })

  const respondWithKey: Respond = async (request, reply) => {
    const { isReplay, ...response } = await respondOnce(request, reply)
    if (!isReplay) return response
    return { ...response, headers: { ...response.headers, 'Idempotent-Replayed': 'true' } }
  }

  const respondWithoutKey = isCoalesced(operation) ? coalesced(respond) : respond

  return async (request, reply) => {
    const hasKey = operation.isIdempotent && request.headers[idempotencyHeader] !== undefined
    const response = await loadShedder.run(() =>
      hasKey ? respondWithKey(request, reply) : respondWithoutKey(request, reply),
    )
    if (request.lifetime?.isOver) return undefined // timed out, or the client has disconnected
    checkHeaders(request, reply, response) // before they are set: a 500 must not carry them
    request.isUnchecked = true
    setHeaders(reply, response.headers)
    return reply.code(response.status).send(response.body)
  }
}

// RFC 9110, section 9.2.1: safe methods change nothing.
function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

// The response of such an operation depends on the URL and the client alone.
function isCoalesced({ method, parameters, body }: Operation): boolean {
  return (
    isSafe(method) && body === undefined && parameters.every((each) => ['path', 'query'].includes(each.in))
  )
}

// A declared 4xx that a handler throws is stored like a response that it returns.
function responseOfError(error: unknown, request: FastifyRequest, contract: Contract): HandlerResponse {
  if (!(error instanceof ApiError)) throw error
  const body = errorBody(error, contract)
  const isDeclared = request.matched?.config.responseCheck?.takes(body.status, body) === true
  if (body.status >= 500 || !isDeclared) throw error
  return { status: body.status, headers: error.headers, body }
}

function setHeaders(reply: FastifyReply, headers: SerializedResponse['headers']): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, merged(reply, name, value))
}

// A deprecated operation already has a Link; RFC 8288 allows several in one field.
function merged(reply: FastifyReply, name: string, value: string | string[]): string | string[] {
  const present = name === 'Link' ? reply.getHeader(name) : undefined
  return present === undefined ? value : `${present}, ${value}`
}
