// The error that handlers and the engine throw to tell a client what is wrong with its request. The contract
// maps each code to its HTTP status.

import { ownErrorStatuses } from './defaults.js'

/** The codes of the errors that the engine itself sends. */
export type OwnErrorCode = keyof typeof ownErrorStatuses

/** What is wrong with a request: where, and what. */
export interface Violation {
  readonly in: 'path' | 'query' | 'header' | 'cookie' | 'body'
  /** The place within that part (RFC 6901): `/limit` is a parameter; an empty pointer is the whole body. */
  readonly pointer: string
  /** `must be an integer` */
  readonly detail: string
}

export interface ErrorOptions {
  /**
   * The status, unless the contract's `ErrorCode` gives the code another one. By default, the engine's own
   * status of the code, or else 500.
   */
  readonly status?: number
  /** Headers of the error response. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the message says about the request, place by place. */
  readonly violations?: readonly Violation[]
  /** The refused part of the body, if it is an item of a stream: the message then gets the item's line. */
  readonly refused?: object
  /** For the log. */
  readonly cause?: unknown
}

/** An expected failure. The client receives the message, unless the status is 500 or above. */
export class RequestError<Code extends string = string> extends Error {
  override name = 'RequestError'

  constructor(
    readonly code: NoInfer<Code>,
    message: string,
    readonly options: ErrorOptions = {},
  ) {
    super(message, { cause: options.cause })
  }

  /** The status without a contract. Fastify's own error handler sends it if no other is set. */
  get statusCode(): number {
    const own: Readonly<Record<string, number>> = ownErrorStatuses
    return this.options.status ?? own[this.code] ?? 500
  }

  /** Headers of the error response. */
  get headers(): Readonly<Record<string, string>> {
    return this.options.headers ?? {}
  }
}

/** Returns an error with a code of the engine. */
export function ownError(code: OwnErrorCode, message: string, options?: ErrorOptions): RequestError {
  return new RequestError(code, message, options)
}
