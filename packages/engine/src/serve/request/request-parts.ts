// What the engine keeps on a request. Its keys are symbols, because a plugin may use the same name, as
// @fastify/cookie uses `cookies`.

import type { ServerResponse } from 'node:http'
import type { ErrorObject } from 'ajv'
import type { FastifyInstance } from 'fastify'
import type { Content, Operation } from '../../document/contract.js'
import type { RequestPart } from '../../document/part-names.js'

/** The cookies that the operation declares. */
export const readCookies: unique symbol = Symbol('openapi.cookies')
/** Errors in parts that could not be read; the schema finds nothing in such a part. */
export const readErrors: unique symbol = Symbol('openapi.readErrors')
/**
 * The gate that judged the request, and the verdict, which says who sent it (their types are in security/).
 */
export const judgedBy: unique symbol = Symbol('openapi.judgedBy')
export const judgedAs: unique symbol = Symbol('openapi.judgedAs')
/** The operation that receives the request's body. */
export const receivedBy: unique symbol = Symbol('openapi.receivedBy')
/** The content that the contract declares for the body's media type, once that type is accepted. */
export const declaredAs: unique symbol = Symbol('openapi.declaredAs')
/** The response to the request: a body is released when it closes. */
export const responseTo: unique symbol = Symbol('openapi.responseTo')
/** The request's body, if it holds memory to give back and no handler has it yet. */
export const bodyInHand: unique symbol = Symbol('openapi.bodyInHand')
/** The request's body, if it streams. */
export const upload: unique symbol = Symbol('openapi.upload')

declare module 'fastify' {
  interface FastifyRequest {
    [receivedBy]: Operation | undefined
    [declaredAs]: Content | undefined
    [responseTo]: ServerResponse | undefined
    [bodyInHand]: BodyInHand | undefined
    [readCookies]: object | undefined
    [readErrors]: Partial<Record<RequestPart, readonly ErrorObject[]>> | undefined
  }
}

/** A body that holds memory, in one piece or as a stream, until its handler has settled. */
export interface BodyInHand {
  release(): void
}

/** The parts of a request, as the contract describes them. */
export interface RequestParts {
  readonly params: unknown
  readonly query: unknown
  /** Names in lower case. */
  readonly headers: unknown
  readonly cookies: unknown
  readonly body: unknown
  /** The media type that the client prefers, if successes declare several. */
  readonly accept?: string
}

/** Gives all requests of an instance the same shape, which makes access to these keys fast. */
export function decorateRequests(app: FastifyInstance): void {
  const keys = [
    readCookies,
    readErrors,
    judgedBy,
    judgedAs,
    receivedBy,
    declaredAs,
    responseTo,
    bodyInHand,
    upload,
  ]
  for (const key of keys) app.decorateRequest(key, undefined)
}
