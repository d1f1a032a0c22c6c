// The typed client, for Node and browsers: `import { createClient } from 'animal-store-client'`. It knows the contract
// by what is generated from it, and nothing of the server.

import { type Calls, table } from '../../generated/client.js'
import type { components } from '../../generated/types.js'
import type { Answer, Arguments } from './call.js'
import { buildClient, type ClientOptions } from './client.js'
import { decode, decodeAny, encode } from './json.js'

export type { Calls } from '../../generated/client.js'
export type { ErrorBody, ErrorCode } from '../../generated/operations.js'
// The schemas, by their names.
export type * from '../../generated/types.js'
export type { Answer } from './call.js'
export type { CallOptions, ClientOptions } from './client.js'
export { ApiError, type ApiErrorCode, type ClientErrorCode } from './error.js'

export type OperationId = keyof Calls

/** What an operation takes: its parameters by where they stand, and its body. An int64 is a bigint. */
export type CallRequest<Id extends OperationId> = NonNullable<Parameters<Calls[Id]>[0]>

/** The body of an operation's good answer. */
export type CallData<Id extends OperationId> =
  ReturnType<Calls[Id]> extends Promise<Answer<infer Data>> ? Data : never

/** The operations that answer with lists. */
export type PagedId = {
  [Id in OperationId]: CallData<Id> extends readonly unknown[] ? Id : never
}[OperationId]

/** A function for each operation of the contract, and `pages` and `items` for lists. */
export interface Client extends Calls {
  /** The pages of a list, from the first to the last: each is read when it is asked for. */
  pages<Id extends PagedId>(
    operation: Id,
    ...args: Arguments<CallRequest<Id>>
  ): AsyncGenerator<CallData<Id>, void, undefined>
  /** What is on the pages of a list, one after the other. */
  items<Id extends PagedId>(
    operation: Id,
    ...args: Arguments<CallRequest<Id>>
  ): AsyncGenerator<CallData<Id> extends readonly (infer Item)[] ? Item : never, void, undefined>
}

/**
 * Makes a client. On 429 and 503 a call waits as long as `Retry-After` says, else with exponential backoff and jitter,
 * and is tried again; unless doing it twice might do it twice.
 * @throws {TypeError} when `baseUrl` is not an http or https address, or `key` is no key
 */
export function createClient(options: ClientOptions): Client {
  const { operations, pages, items } = buildClient(table, options)
  // The table and the types are generated from one contract.
  return { ...operations, pages, items } as unknown as Client
}

type Schemas = components['schemas']

/** The JSON of a value with a bigint anywhere in it, which `JSON.stringify` refuses: written digit by digit. */
export function stringify(value: unknown): string {
  return encode(value)
}

/**
 * The value of a JSON text, with no digit lost. With the name of a schema, each int64 in it is a bigint, as in an answer; without, an
 * integer is one where a number would round it.
 * @throws {SyntaxError} when the text is not JSON
 */
export function parse<Name extends string & keyof Schemas>(text: string, schema: Name): Schemas[Name]
export function parse(text: string): unknown
export function parse(text: string, schema?: string): unknown {
  return schema === undefined
    ? decodeAny(text)
    : decode(text, `#/components/schemas/${schema}`, table.schemas)
}
