// The headers and errors that the parts of a server add to an operation's responses.

import type { Contract, Operation } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { ownErrorStatuses } from '../../document/defaults.js'
import { problemOf } from '../../document/methods.js'
import { type OwnErrorCode, ownError, type RequestError } from '../../document/request-error.js'
import { dependsOnAccept, refusesUnacceptable } from '../../document/responses.js'
import { statusOf } from '../request/errors.js'
import { deprecationHeaders } from './deprecation.js'
import { entityHeaderNames, hasEntityTags, revalidated } from './entity-tags.js'
import { mayStream } from './response-stream.js'
import { byStatus, type ProvedHeaders } from './response-validation.js'

/** Header values by their names. */
export type AddedHeaders = Readonly<Record<string, string>>

/** What one part of a server adds to the responses of operations. */
export interface Addition {
  /** The names of all headers that it ever sets, in lower case. */
  readonly headers: readonly string[]
  /**
   * Returns the headers of every response of an operation, with one entry for each variant; by default, none.
   * They are set before the handler begins, and are judged only at startup.
   */
  readonly always?: (operation: Operation, contract: Contract) => readonly AddedHeaders[]
  /** Returns the errors that it may send in response to a request of an operation; by default, none. */
  readonly errors?: (operation: Operation, contract: Contract) => readonly RequestError[]
}

/** The headers and errors that the engine itself adds. */
export const ownAddition: Addition = {
  headers: ['deprecation', 'sunset', 'link', 'accept-encoding', 'etag', 'cache-control', 'vary'],
  always: (operation, contract) => [
    {
      ...deprecationHeaders(operation, contract, anyAddress)?.(contract),
      ...(hasEntityTags(operation) && { ETag: '"any"', 'Cache-Control': revalidated }),
      ...(dependsOnAccept(operation) && { Vary: 'Accept' }),
    },
  ],
  errors: (operation) => [
    ...(operation.deprecation?.afterSunset === 'gone' ? [anyOwn('operation_gone')] : []),
    ...ofAny.map(anyOwn),
    ...(operation.body === undefined ? [] : ofBody.map(anyOwn)),
    ...(refusesUnacceptable(operation) ? [anyOwn('not_acceptable')] : []),
  ],
}

const anyAddress = { operationsFor: ({ prefix }: Contract) => `http://localhost${prefix}` }

const ofAny = [
  'invalid_request',
  'malformed_request',
  'uri_too_long',
  'internal_error',
  'not_implemented',
] as const
const ofBody = ['invalid_json', 'body_too_large', 'request_too_complex', 'unsupported_media_type'] as const

function anyOwn(code: OwnErrorCode): RequestError {
  const violations = [{ in: 'body', pointer: '/name', detail: 'is required' }] as const
  return ownError(code, 'Any message.', code === 'invalid_request' ? { violations } : {})
}

/** Returns the statuses of the errors that a server sends by itself, by their codes. */
export function serverErrors(
  contract: Contract,
  additions: readonly Addition[],
): ReadonlyMap<string, number> {
  const errors = [...contract.operations.values()].flatMap((each) => errorsOf(each, contract, additions))
  return new Map([
    ...Object.entries(ownErrorStatuses),
    ...errors.map(({ code, statusCode }) => [code, statusCode] as const),
  ])
}

/** Returns the errors that additions may send in response to a request of an operation. */
export function errorsOf(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly RequestError[] {
  return additions.flatMap(({ errors }) => errors?.(operation, contract) ?? [])
}

/**
 * Returns a warning if an operation does not declare some of the server's errors that it can get once it has
 * a handler.
 * @param additions those of parts other than the engine
 */
export function undeclaredErrors(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly Problem[] {
  const declared = byStatus(operation.responses)
  const all = errorsOf(operation, contract, [ownAddition, ...additions])
  const sent = all.filter(({ code }) => code !== 'not_implemented').map((each) => statusOf(each, contract))
  const undeclared = [...new Set(sent)].filter((status) => (declared(status)?.contents ?? []).length === 0)
  if (undeclared.length === 0) return []
  const statuses = undeclared.sort((a, b) => a - b).join(', ')
  return [
    problemOf(operation, `${operation.id} declares no body for these errors of the server: ${statuses}`),
  ]
}

/**
 * Returns the names of an operation's headers that the additions prove, if `additionFaults` (mount/) finds no
 * fault in them. Of the engine's own headers, every 200 but a stream has those of entity tags.
 * @param additions those of parts other than the engine
 */
export function provedHeaders(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): ProvedHeaders {
  const variants = variantsOf(operation, contract, additions)
  const names = variants.flatMap((each) => Object.keys(each))
  const own = variantsOf(operation, contract, [ownAddition]).flatMap((each) => Object.keys(each))
  const isAlways = (name: string) => variants.every((each) => each[name] !== undefined)
  const always = names.filter(isAlways)
  const read = hasEntityTags(operation) && !mayStream(operation) ? entityHeaderNames : []
  return {
    alwaysIn: (status) => (status === '200' ? [...always, ...read] : always),
    sometimes: new Set([...own, ...names.filter((name) => !isAlways(name))]),
  }
}

/** Returns the headers that additions set in every response of an operation, one entry for each variant. */
export function variantsOf(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly AddedHeaders[] {
  return combined(additions.map(({ always }) => (always?.(operation, contract) ?? [{}]).map(lowerCase)))
}

// Returns every combination of one variant from each list.
function combined(variants: readonly (readonly AddedHeaders[])[]): AddedHeaders[] {
  return variants.reduce<AddedHeaders[]>(
    (all, some) => all.flatMap((one) => some.map((other) => ({ ...one, ...other }))),
    [{}],
  )
}

/** Returns the headers with their names in lower case. */
export function lowerCase(headers: AddedHeaders): AddedHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
