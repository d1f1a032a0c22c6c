// The one error of the client.

import type { ErrorBody, ErrorCode } from '../../generated/operations.js'

/** What the client itself finds wrong. */
export type ClientErrorCode =
  /** The caller's signal was aborted; `cause` is its reason. */
  | 'aborted'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** No connection, or one that broke. */
  | 'unreachable'
  /** An answer that the contract knows nothing of: a proxy's, perhaps. */
  | 'unexpected_answer'

/** A code of the contract, of the client, or one that the contract gained since. */
export type ApiErrorCode = ErrorCode | ClientErrorCode | (string & {})

/** Why a call failed. It is all that a call rejects with, unless it cannot be written: a header with a line break, for one. */
export class ApiError extends Error {
  override name = 'ApiError'

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    /** The answer, where there was one; its body has been read. */
    readonly response?: Response,
    cause?: unknown,
  ) {
    super(message, { cause })
  }

  /** The HTTP status, where there was an answer. */
  get status(): number | undefined {
    return this.response?.status
  }

  /** Names the request in the service's log. */
  get requestId(): string | undefined {
    return this.response?.headers.get('X-Request-Id') ?? undefined
  }
}

/** The error that an answer tells of. */
export function errorOf(response: Response, text: string): ApiError {
  const body = parseError(text)
  if (body !== undefined) return new ApiError(body.code, body.message, response)
  return new ApiError('unexpected_answer', `HTTP status ${response.status}, without an error body.`, response)
}

function parseError(text: string): ErrorBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    const { code, message } = (body ?? {}) as Partial<ErrorBody>
    return typeof code === 'string' && typeof message === 'string' ? (body as ErrorBody) : undefined
  } catch {
    return undefined
  }
}
