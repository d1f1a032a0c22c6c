// The types of a handler: a function from a request of the contract to one of the declared responses. No
// Fastify, no SQL. Its return type is written out, `Promise<Response<'getPet'>>`: where it is inferred or
// given by the context, TypeScript allows fields and headers that the contract does not declare.

import { RequestError } from 'contract-engine'
import type { BaseLogger } from 'pino'
import type { ErrorCode, OperationId, Operations } from '../../generated/operations.js'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/database.js'
import { violationOf } from '../database/unavailable.js'
import type { Services } from '../services.js'

export { notImplemented } from 'contract-engine'

/** An expected failure: an error code of the contract, and a message for the client. */
export class ApiError extends RequestError<ErrorCode> {}

/** By the name of a constraint, the code of its violation, or the code and the message for the client. */
export type ConstraintCodes = Readonly<
  Record<string, ErrorCode | readonly [code: ErrorCode, message: string]>
>

/**
 * Returns a function for `catch` behind a statement or a transaction, which throws an ApiError for a row that
 * one of these constraints refused. Other errors are thrown on: an unknown violation is a fault, a 500 whose
 * log line names the constraint.
 */
export function onConstraint(codes: ConstraintCodes): (error: unknown) => never {
  return (cause) => {
    const { code: sqlState = '', constraint = '' } = violationOf(cause) ?? {}
    const known = Object.hasOwn(codes, constraint) ? codes[constraint] : undefined
    if (known === undefined) throw cause
    const [code, message] = typeof known === 'string' ? [known, messageOf(sqlState)] : known
    throw new ApiError(code, message, { cause })
  }
}

// By SQLSTATE. They name no column: what a client calls it is the contract's to say.
const violations: Readonly<Record<string, string>> = {
  '23503': 'This refers to something that does not exist, or is still referred to.',
  '23505': 'There is one with this value already.',
  '23514': 'A value is not allowed here.',
}

function messageOf(sqlState: string): string {
  return violations[sqlState] ?? 'This conflicts with what is stored.'
}

/**
 * The second argument of a handler: `Context<'getPet'>`, or `Context` for what is true of every operation.
 */
export type Context<Id extends OperationId = OperationId> = ContextWith<
  true extends Operations[Id]['isPublic'] ? Client | undefined : Client,
  Operations[Id]['security']
>

// By these types, because TypeScript compares contexts by name: those of two operations would never fit.
interface ContextWith<Caller, Schemes extends string> {
  readonly sql: Sql
  /**
   * The request's own path as a relative reference, `pets` for `/v1/pets`: the start of links, such as
   * `${self}/7`. Write links relative to that path; they are sent as absolute URLs. Like `link` and `signal`,
   * it is made when it is read, so a copy of the context by spread is without it.
   */
  readonly self: string
  /**
   * A `Link` to the request's own path and query with other values of some parameters, such as where the next
   * page begins.
   */
  link(rel: string, query: Readonly<Record<string, string | number | bigint>>): string
  /**
   * The media type of the body, such as `image/png` where the contract declares `image/*`. Undefined without
   * a body.
   */
  readonly contentType: string | undefined
  /** The request's log: each line has its id. Nothing that a line says of a caller may be a credential. */
  readonly log: Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>
  /**
   * Aborted once the request is over: it timed out, its client has gone, or its response is sent. For what
   * the handler waits for besides `sql`, which ends by itself: `fetch(url, { signal })`.
   */
  readonly signal: AbortSignal
  /** Who sent the request. Undefined only without a credential, where the operation requires none. */
  readonly client: Caller
  /** By their names, the callers of the schemes that the request meets: where it has to meet several, all. */
  readonly callers: { readonly [Name in Schemes]?: Client }
  /** The team's own, of `src/services.ts`. */
  readonly services: Omit<Services, 'close'>
}

/** The request of an operation: its parameters by location, and its body. */
export type Request<Id extends OperationId> = Operations[Id]['request']

/** The declared responses of an operation. */
export type Response<Id extends OperationId> = Operations[Id]['response']

/** A handler for every operation of the contract. It throws ApiError for expected failures. */
export type Handlers = {
  readonly [Id in OperationId]: Marks &
    ((request: Request<Id>, context: Context<Id>) => Promise<Response<Id>>)
}

interface Marks {
  /**
   * True for one that does nothing but one batched statement, with no effect outside of the database.
   * Requests with an `Idempotency-Key` that arrive together share a transaction then, and if one of them
   * fails, the handlers of the others run again. A second statement of such a handler fails.
   */
  readonly sharesTransaction?: boolean
}
