// The error of the client.

import type { ErrorBody, ErrorCode } from '../../generated/operations.js'

/** Errors that the client detects. */
export type ClientErrorCode =
  /** The caller's signal was aborted; `cause` is its reason. */
  | 'aborted'
  /** No response within `timeoutMs`. */
  | 'timeout'
  /** The connection failed or broke. */
  | 'unreachable'
  /** 304: the representation has not changed, in response to a conditional request (`If-None-Match`). */
  | 'not_modified'
  /** Another 3xx response, which `fetch` did not follow, for example because it has no `Location`. */
  | 'redirect'
  /** A response that the contract does not declare, for example from a proxy. */
  | 'unexpected_answer'

/** A code of the contract or of the client, or one added to the contract later. */
export type ApiErrorCode = ErrorCode | ClientErrorCode | (string & {})

/** Why a call failed. A call rejects with no other error, unless the request cannot be written (a header with a line break). */
export class ApiError extends Error {
  override name = 'ApiError'

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    /** The response, if there was one; its body has been read. */
    readonly response?: Response,
    cause?: unknown,
  ) {
    super(message, { cause })
  }

  /** The HTTP status, if there was a response. */
  get status(): number | undefined {
    return this.response?.status
  }

  /** Identifies the request in the service's log. */
  get requestId(): string | undefined {
    return this.response?.headers.get('X-Request-Id') ?? undefined
  }
}

/** Converts an error response. */
export function errorOf(response: Response, text: string): ApiError {
  const body = parseError(text)
  if (body !== undefined) return new ApiError(body.code, body.message, response)
  if (response.status === 304) return new ApiError('not_modified', 'Not modified.', response)
  if (response.status >= 300 && response.status < 400)
    return new ApiError(
      'redirect',
      `HTTP status ${response.status}: a redirect that was not followed.`,
      response,
    )
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
