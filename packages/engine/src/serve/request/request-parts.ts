// What the engine keeps on a request. Its keys are symbols: a plugin may have put something else under a
// name, as @fastify/cookie does under `cookies`.

import type { ServerResponse } from 'node:http'
import type { ErrorObject } from 'ajv'
import type { FastifyInstance } from 'fastify'
import type { Content, Operation } from '../../document/contract.js'
import type { RequestPart } from '../../document/part-names.js'

/** The cookies that the operation declares. */
export const readCookies: unique symbol = Symbol('openapi.cookies')
/** Errors in parts that could not be read, so that their schemas cannot find them. */
export const readErrors: unique symbol = Symbol('openapi.readErrors')
/** The gate that it was judged at, and the verdict: who sent it (security/, which has their types). */
export const judgedBy: unique symbol = Symbol('openapi.judgedBy')
export const judgedAs: unique symbol = Symbol('openapi.judgedAs')
/** The operation that receives its body. */
export const receivedBy: unique symbol = Symbol('openapi.receivedBy')
/** How the contract declares its body, once its type is accepted. */
export const declaredAs: unique symbol = Symbol('openapi.declaredAs')
/** Where it is responded to, for a body that is released with its response. */
export const responseTo: unique symbol = Symbol('openapi.responseTo')
/** Its body, if that holds memory to give back and no handler has it yet. */
export const bodyInHand: unique symbol = Symbol('openapi.bodyInHand')
/** Its body, if that streams. */
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

/** A body in memory, or one that streams, until its handler has settled. */
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
  /** The media type that the client prefers, where successes declare several. */
  readonly accept?: string
}

/** Gives all requests of an instance the same shape, which is fast. */
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
