// The error of the client's calls.

import { type RateLimit, readRateLimit, readRetryAfter } from './rate-limit.js'

/** The codes of errors that the client itself detects. */
export type ClientErrorCode =
  /** The signal of the caller was aborted; `cause` is its reason. */
  | 'aborted'
  /**
   * The response, or its whole body, did not arrive within `timeoutMs`. If its status and headers have
   * arrived, `response` has them.
   */
  | 'timeout'
  /** The connection failed, or broke before a response; or a browser refused the request because of CORS. */
  | 'unreachable'
  /** The connection broke within the body of a response; `response` has its status and headers. */
  | 'incomplete_answer'
  /** 304: in response to a conditional request (`If-None-Match`), the representation has not changed. */
  | 'not_modified'
  /**
   * Another 3xx response that `fetch` did not follow: it has no `Location`, or there were too many redirects.
   */
  | 'redirect'
  /** An error response without a code in its body: see `status` and `body`. */
  | 'http_error'
  /** A response that the contract does not declare, for example from a proxy. */
  | 'unexpected_answer'

/** A code of the client or of the contract, or a code that was added to the contract later. */
export type ApiErrorCode = ClientErrorCode | (string & {})

interface Details {
  readonly operation: string
  readonly response?: Response
  readonly body?: unknown
  readonly cause?: unknown
}

/**
 * The reason why a call failed. A call rejects with no other error, unless the request cannot be written, for
 * example because of a header with a line break.
 */
export class ApiError extends Error {
  override name = 'ApiError'
  /** The name of the operation. */
  readonly operation: string
  /** The response, if there was one; its body has been read. */
  readonly response: Response | undefined
  /** The decoded body of an error response; undefined if it has none, or one that is not declared. */
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

  /** The quota that is closest to its end, if the response tells it. */
  get rateLimit(): RateLimit | undefined {
    return this.response && readRateLimit(this.response.headers)
  }

  /** How long the response asks to wait (`Retry-After`), in milliseconds from now. */
  get retryAfterMs(): number | undefined {
    return readRetryAfter(this.response?.headers.get('Retry-After'), Date.now())
  }

  /** Returns the fields for logs. It omits the response and the cause, which may contain personal data. */
  toJSON(): object {
    const { name, code, message, operation, status, requestId } = this
    return { name, code, message, operation, status, requestId }
  }
}

/** True if a response refuses the credential: a 401, or a 429 that asks for another credential. */
export function isOfCredential({ response }: ApiError): boolean {
  const { status, headers } = response ?? {}
  return status === 401 || (status === 429 && headers?.has('WWW-Authenticate') === true)
}
