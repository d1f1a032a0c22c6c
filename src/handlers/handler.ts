// The type of a handler: it receives a request of the contract and returns one of the declared responses. No Fastify, no SQL.

import type { ErrorCode, OperationId, Operations } from '../../generated/operations.js'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/database.js'
import { RequestError } from '../openapi/index.js'

export { notImplemented } from '../openapi/index.js'

/** An expected failure: an error code of the contract, and a message for the client. */
export class ApiError extends RequestError<ErrorCode> {}

/** The second argument of a handler. */
export interface Context {
  readonly sql: Sql
  /**
   * The request's own path as a relative reference, `pets` for `/v1/pets`: the start of links, such as
   * `${self}/7`. Links must be relative, because a gateway may strip a prefix that the service does not know.
   */
  readonly self: string
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
