// The typed client of the contract: `import { createClient } from './index.js'`. It shares code generated from
// the contract with the server, and nothing else.

import {
  ApiError as AnyApiError,
  type CallOptions as AnyCallOptions,
  type Arguments,
  type CallResult,
  type ClientErrorCode,
  type CommonOptions,
  type CredentialOptions,
  clientOf,
  type ItemStream,
  isErrorOfOperation,
  parseAs,
} from 'contract-client'
import { type Calls, type Credentials, type Errors, table } from './client.js'
import type { ErrorCode } from './errors.js'
import type { components } from './types.js'

export {
  type CallResult,
  type ClientErrorCode,
  type Given,
  type GivenCredential,
  type ItemStream,
  type Opened,
  type RateLimit,
  type Retry,
  stringify,
  type UsernamePassword,
} from 'contract-client'
export type { Calls, Credentials } from './client.js'
export type { ErrorBody, ErrorCode } from './errors.js'
// The contract's schemas, by name.
export type * from './types.js'

/**
 * An error code of the contract or of the client. `string` leaves room for codes that the contract adds
 * later.
 */
export type ApiErrorCode = ErrorCode | ClientErrorCode | (string & {})

/**
 * Why a call failed. A call rejects with no other error, except for a request that cannot be written, such as
 * a header with a line break.
 */
export type ApiError = AnyApiError & { readonly code: ApiErrorCode }
export const ApiError: new (...args: ConstructorParameters<typeof AnyApiError>) => ApiError = AnyApiError

/** Options of a client. */
export type ClientOptions = CommonOptions & CredentialOptions<Credentials>

/** Options of a single call. */
export type CallOptions = AnyCallOptions<Credentials>

/** The names of the operations. */
export type OperationId = keyof Calls

/** The request of an operation: its parameters by location, and its body. An int64 is a bigint. */
export type CallRequest<Id extends OperationId> = NonNullable<Parameters<Calls[Id]>[0]>

/** The body of an operation's successful response. For an operation that returns a stream, see CallItem. */
export type CallData<Id extends OperationId> =
  ReturnType<Calls[Id]> extends Promise<CallResult<infer Data>> ? Data : never

/** An item of the stream that an operation returns. */
export type CallItem<Id extends OperationId> =
  ReturnType<Calls[Id]> extends ItemStream<infer Item> ? Item : never

/** The operations that return arrays. */
export type PagedId = {
  [Id in OperationId]: ReturnType<Calls[Id]> extends Promise<CallResult<infer Data>>
    ? Data extends readonly unknown[]
      ? Id
      : never
    : never
}[OperationId]

/**
 * The error responses that the contract declares for an operation, distinguished by `status`, each with its
 * `body`.
 */
export type ErrorOf<Id extends OperationId> = Errors[Id] extends infer Declared
  ? Declared extends { readonly status: infer Status; readonly body: infer Body }
    ? ApiError & { readonly status: Status; readonly body: Body }
    : never
  : never

/** A function for each operation of the contract, and `pages` and `items` for lists. */
export interface Client extends Calls {
  /**
   * Iterates over the pages of a list: the results of its calls. Each page is requested when the iteration
   * reaches it.
   */
  pages<Id extends PagedId>(
    operation: Id,
    ...args: Arguments<CallRequest<Id>>
  ): AsyncGenerator<CallResult<CallData<Id>>, void, undefined>
  /** Iterates over the items of a list, across its pages. */
  items<Id extends PagedId>(
    operation: Id,
    ...args: Arguments<CallRequest<Id>>
  ): AsyncGenerator<CallData<Id> extends readonly (infer Item)[] ? Item : never, void, undefined>
}

/**
 * Creates a client. Its calls retry after 408, 429, 500, 502, 503, 504, a timeout or a lost connection,
 * unless a repetition could take effect twice. They wait for `Retry-After`, or back off exponentially with
 * jitter.
 * @throws {TypeError} if an option is unknown or invalid: a `baseUrl` that is no http or https URL, a
 * credential that cannot be sent, a duration that is not a number
 */
export function createClient(options: ClientOptions): Client {
  // The table and the types are generated from one contract.
  return clientOf(table, options) as unknown as Client
}

/**
 * True if an error is a response that the contract declares for an operation: its status and media type are
 * declared, and its body has all required fields. TypeScript then narrows `body` by `status`.
 */
export function isErrorOf<Id extends OperationId>(error: unknown, operation: Id): error is ErrorOf<Id> {
  return isErrorOfOperation(table, error, operation)
}

type Schemas = components['schemas']

/**
 * Like `JSON.parse`, but exact. With the name of a schema, each int64 becomes a bigint, as in a response.
 * Other integers become a bigint only if a number would round them.
 * @throws {SyntaxError} if the text is not JSON
 */
export function parse<Name extends string & keyof Schemas>(text: string, schema: Name): Schemas[Name]
export function parse(text: string): unknown
export function parse(text: string, schema?: string): unknown {
  return parseAs(table, text, schema)
}
