// The type of a handler: it receives a request of the contract and returns one of the declared responses. No Fastify, no SQL.

import type { OperationId, Operations } from '../../generated/operations.js'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/database.js'
import { ApiError } from '../openapi/errors.js'

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

/** The handler of one operation. It throws ApiError for expected failures. */
export type Handler<Id extends OperationId> = (
  request: Operations[Id]['request'],
  context: Context,
) => Promise<Operations[Id]['response']>

/** A handler for every operation of the contract. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }

const stubs = new WeakSet<object>()

/** A stub for an operation without a handler yet: it responds 501 (`not_implemented`). */
export function notImplemented<Id extends OperationId>(operation: Id): Handler<Id> {
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
