// The typed client, for Node and browsers: `import { createClient } from 'animal-store-service/client'`. It knows the
// contract by what is generated from it, and nothing of the server.

import type { FetchResponse, RequestBodyOption } from 'openapi-fetch'
import { table } from '../../generated/client.js'
import type { operations } from '../../generated/types.js'
import { buildClient, type CallOptions, type ClientOptions } from './client.js'

export type { components } from '../../generated/types.js'
export type { CallOptions, ClientOptions } from './client.js'
export { ApiError, type ApiErrorCode } from './error.js'

export type OperationId = keyof operations

/** What an operation takes: its parameters by where they stand, and its body. An int64 is a bigint. */
export type CallRequest<Id extends OperationId> = operations[Id]['parameters'] &
  RequestBodyOption<operations[Id]> &
  CallOptions

/** The body of an operation's good answer. */
export type CallData<Id extends OperationId> = Extract<
  FetchResponse<operations[Id], unknown, 'application/json'>,
  { readonly error?: never }
>['data']

// Optional, where nothing in it is required.
type Arguments<Request> = object extends Request ? [request?: Request] : [request: Request]

/** Calls one operation. Rejects with an ApiError, and with nothing else. */
export type Call<Id extends OperationId> = (
  ...args: Arguments<CallRequest<Id>>
) => Promise<{ readonly data: CallData<Id>; readonly response: Response }>

type PagedId = { [Id in OperationId]: CallData<Id> extends readonly unknown[] ? Id : never }[OperationId]

/** A function for each operation of the contract, and `pages`. */
export type Client = { readonly [Id in OperationId]: Call<Id> } & {
  /** The pages of a list, from the first to the last: each is read when it is asked for. */
  pages<Id extends PagedId>(
    operation: Id,
    ...args: Arguments<CallRequest<Id>>
  ): AsyncGenerator<CallData<Id>, void, undefined>
}

/**
 * Makes a client. On 429 and 503 a call waits as long as `Retry-After` says, else with exponential backoff and jitter,
 * and is tried again; unless doing it twice might do it twice.
 */
export function createClient(options: ClientOptions): Client {
  const { operations, pages } = buildClient(table, options)
  // The table and the types are generated from one contract.
  return { ...operations, pages } as unknown as Client
}
