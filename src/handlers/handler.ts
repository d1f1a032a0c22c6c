// What a handler is: a request of the contract in, one of the declared answers out. It knows neither HTTP
// server nor SQL.

import type { OperationId, Operations } from '../../generated/operations.js'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/types.js'
import { ApiError } from '../errors.js'

/** What a handler works with beside its request. */
export interface Context {
  readonly sql: Sql
  /** The path that was requested, without its query: for links that lead back here. */
  readonly path: string
  /** The media type of the body, such as the `image/png` of an `image/*`; undefined without one. */
  readonly contentType: string | undefined
  /** Whose key came with it; undefined where none did, as only an operation lets pass that can do without. */
  readonly client: Pick<Client, 'keyId' | 'plan'> | undefined
}

/** The handler of one operation. Expected failures are thrown as ApiError. */
export type Handler<Id extends OperationId> = (
  request: Operations[Id]['request'],
  context: Context,
) => Promise<Operations[Id]['response']>

/** A handler for every operation of the contract. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }

const stubs = new WeakSet<object>()

/** What stands in for a handler until it is written: it answers 501 (`not_implemented`). */
export function notImplemented<Id extends OperationId>(operation: Id): Handler<Id> {
  const stub = async () => {
    throw new ApiError('not_implemented', `${operation} is not written yet.`)
  }
  stubs.add(stub)
  return stub
}

/** Whether a handler only stands in for one. */
export function isStub(handler: object): boolean {
  return stubs.has(handler)
}
