// The types of a handler: a function that receives a request of the contract and returns one of the declared responses. No Fastify, no
// SQL. Its return type is written out, `Promise<Response<'getPet'>>`: in a function whose return type is inferred or given by the context,
// TypeScript allows fields and headers that the contract does not declare.

import type { OperationId, Operations } from '../../generated/operations.js'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/types.js'
import { ApiError } from '../errors.js'

/** The second argument of a handler. */
export interface Context {
  readonly sql: Sql
  /** The path of the request, without its query: for links to the same path. */
  readonly path: string
  /** The media type of the body, such as `image/png` where the contract declares `image/*`. Undefined without a body. */
  readonly contentType: string | undefined
  /** The client of the API key. Undefined without one, which only an operation with optional or no security allows. */
  readonly client: Pick<Client, 'keyId' | 'plan'> | undefined
}

/** The request of an operation: its parameters by location, and its body. */
export type Request<Id extends OperationId> = Operations[Id]['request']

/** The declared responses of an operation. */
export type Response<Id extends OperationId> = Operations[Id]['response']

/** A handler for every operation of the contract. It throws ApiError for expected failures. */
export type Handlers = {
  readonly [Id in OperationId]: (request: Request<Id>, context: Context) => Promise<Response<Id>>
}

const stubs = new WeakSet<object>()

/** A stub for an operation without a handler yet: it responds 501 (`not_implemented`). */
export function notImplemented<Id extends OperationId>(operation: Id): Handlers[Id] {
  const stub = async () => {
    throw new ApiError('not_implemented', `${operation} is not implemented.`)
  }
  stubs.add(stub)
  return stub
}

/** Whether a handler is a stub. */
export function isStub(handler: object): boolean {
  return stubs.has(handler)
}
