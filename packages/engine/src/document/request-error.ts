// The error of a request that its client is told: what handlers and the engine throw. The contract maps each
// code to its HTTP status.

import { ownErrorStatuses } from './defaults.js'

/** The codes of the errors that the engine itself sends. */
export type OwnErrorCode = keyof typeof ownErrorStatuses

/** What is wrong with a request: where, and what. */
export interface Violation {
  readonly in: 'path' | 'query' | 'header' | 'cookie' | 'body'
  /** Within that part (RFC 6901): `/limit` is a parameter, and an empty one the whole body. */
  readonly pointer: string
  /** `must be an integer` */
  readonly detail: string
}

export interface ErrorOptions {
  /**
   * Unless the contract's `ErrorCode` gives the code another one. By default 500, but for the engine's own.
   */
  readonly status?: number
  /** Headers of the error response. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the message says of a request, place by place. */
  readonly violations?: readonly Violation[]
  /** What of the body is refused, where it is an item of a body of items: the message then has its line. */
  readonly refused?: object
  /** For the log. */
  readonly cause?: unknown
}

/** An expected failure. The client receives the message, except with a status of 500 or above. */
export class RequestError<Code extends string = string> extends Error {
  override name = 'RequestError'

  constructor(
    readonly code: NoInfer<Code>,
    message: string,
    readonly options: ErrorOptions = {},
  ) {
    super(message, { cause: options.cause })
  }

  /** The status without a contract. Fastify's own error handler sends it, where no other is set. */
  get statusCode(): number {
    const own: Readonly<Record<string, number>> = ownErrorStatuses
    return this.options.status ?? own[this.code] ?? 500
  }

  /** Headers of the error response. */
  get headers(): Readonly<Record<string, string>> {
    return this.options.headers ?? {}
  }
}

/** An error of the engine's own. */
export function ownError(code: OwnErrorCode, message: string, options?: ErrorOptions): RequestError {
  return new RequestError(code, message, options)
}
