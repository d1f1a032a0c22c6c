// The code that the typed client of a contract runs. Generated from the contract are the types of its
// operations, and the table of facts that the client needs at run time.

import { type AnyCallRequest, type AnyClient, buildClient } from './client.js'
import { ApiError } from './error.js'
import { isDeclaredError } from './error-response.js'
import { decode, decodeAny } from './json.js'
import { isStreamCall } from './stream-call.js'
import { type ClientTable, operationOf, placeOfSchema } from './table.js'

export type {
  Accepting,
  Arguments,
  Call,
  CallOptions,
  CallResult,
  FileBody,
  FileOptions,
  Given,
  RequestOf,
  StatusOf,
  StreamCall,
  WithFiles,
} from './call.js'
export { type AnyClient, buildClient } from './client.js'
export type { Clock } from './clock.js'
export type { CredentialOptions, GivenCredential, UsernamePassword } from './credentials.js'
export { ApiError, type ApiErrorCode, type ClientErrorCode } from './error.js'
export { encode as stringify } from './json.js'
export type { CommonOptions, Retry } from './options.js'
export type { RateLimit } from './rate-limit.js'
export type { ItemStream, Opened } from './stream.js'
export type {
  CalledOperation,
  ClientBody,
  ClientField,
  ClientForm,
  ClientOperation,
  ClientParameter,
  ClientScheme,
  ClientStream,
  ClientTable,
  ContentKind,
  Place,
  Places,
} from './table.js'

/**
 * Creates a client of a contract: a function for each operation, by its name, and `pages` and `items` for
 * lists.
 * @throws {TypeError} if an option is unknown or invalid
 */
export function clientOf(
  table: ClientTable,
  options: Parameters<typeof buildClient>[1],
): Record<string, unknown> & Pick<AnyClient, 'pages' | 'items'> {
  const { operations, stream, pages, items } = buildClient(table, options)
  const entries = Object.entries(operations).map(([id, call]) => {
    const isStream = (request?: AnyCallRequest) => isStreamCall(operationOf(table, id), request)
    return [id, (request?: AnyCallRequest) => (isStream(request) ? stream(id, request) : call(request))]
  })
  return { ...Object.fromEntries(entries), pages, items }
}

/**
 * True if an error is a response that the contract declares for an operation: it has a declared status and
 * media type, and its body has the fields that are always there.
 */
export function isErrorOfOperation(table: ClientTable, error: unknown, operation: string): error is ApiError {
  return (
    error instanceof ApiError &&
    error.operation === operation &&
    error.code !== 'unexpected_answer' &&
    error.cause === undefined &&
    isDeclaredError(operationOf(table, operation), error)
  )
}

/**
 * Like `JSON.parse`, but exact. With the name of a schema, each int64 is a bigint. An integer that no schema
 * describes is a bigint if a number would round it.
 * @throws {SyntaxError} if the text is not JSON
 */
export function parseAs(table: ClientTable, text: string, schema?: string): unknown {
  return schema === undefined ? decodeAny(text) : decode(text, placeOfSchema(schema), table.schemas)
}
