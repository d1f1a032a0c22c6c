// The error of the client.

import { type RateLimit, readRateLimit, readRetryAfter } from './rate-limit.js'

/** Errors that the client detects. */
export type ClientErrorCode =
  /** The caller's signal was aborted; `cause` is its reason. */
  | 'aborted'
  /** No response within `timeoutMs`, or not all of its body: then `response` has its status and headers. */
  | 'timeout'
  /** The connection failed, or broke before a response; or a browser refused the request because of CORS. */
  | 'unreachable'
  /** The connection broke within the body of a response, of which `response` has the status and headers. */
  | 'incomplete_answer'
  /** 304: the representation has not changed, in response to a conditional request (`If-None-Match`). */
  | 'not_modified'
  /** Another 3xx response, which `fetch` did not follow: without a `Location`, or one of too many. */
  | 'redirect'
  /** An error response with a body of its own, without a code: `status` and `body` tell. */
  | 'http_error'
  /** A response that the contract does not declare, for example from a proxy. */
  | 'unexpected_answer'

/** A code of the contract or of the client, or one added to the contract later. */
export type ApiErrorCode = ClientErrorCode | (string & {})

interface Details {
  readonly operation: string
  readonly response?: Response
  readonly body?: unknown
  readonly cause?: unknown
}

/**
 * Why a call failed. A call rejects with no other error, unless the request cannot be written (a header with
 * a line break).
 */
export class ApiError extends Error {
  override name = 'ApiError'
  /** The name of the operation. */
  readonly operation: string
  /** The response, if there was one; its body has been read. */
  readonly response: Response | undefined
  /** The decoded body of an error response; undefined if it has none, or not the declared one. */
  readonly body: unknown

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    { operation, response, body, cause }: Details,
  ) {
    super(message, { cause })
    this.operation = operation
    this.response = response
    this.body = body
  }

  /** The HTTP status, if there was a response. */
  get status(): number | undefined {
    return this.response?.status
  }

  /** Identifies the request in the service's log. */
  get requestId(): string | undefined {
    return this.response?.headers.get('X-Request-Id') ?? undefined
  }

  /** The quota that is closest to its end, if the response tells. */
  get rateLimit(): RateLimit | undefined {
    return this.response && readRateLimit(this.response.headers)
  }

  /** The wait that the response asks for (`Retry-After`), in milliseconds from now. */
  get retryAfterMs(): number | undefined {
    return readRetryAfter(this.response?.headers.get('Retry-After'), Date.now())
  }

  /** For logs: without the response and the cause, which may contain personal data. */
  toJSON(): object {
    const { name, code, message, operation, status, requestId } = this
    return { name, code, message, operation, status, requestId }
  }
}

/** Whether a response refuses the credential: a 401, or a 429 that asks for another one. */
export function isOfCredential({ response }: ApiError): boolean {
  const { status, headers } = response ?? {}
  return status === 401 || (status === 429 && headers?.has('WWW-Authenticate') === true)
}
