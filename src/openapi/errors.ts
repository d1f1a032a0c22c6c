// Errors reported to clients, and the one error body. The contract maps each code to its HTTP status.

import { STATUS_CODES } from 'node:http'
import type { Contract } from './contract/contract.js'
import type { defaultErrorStatuses } from './contract/defaults.js'

/** The codes of the errors that the server itself sends. A contract may define more, for its handlers. */
export type ServerErrorCode = keyof typeof defaultErrorStatuses

/** The body of every error. */
export interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly status: number
}

/** An expected failure. The client receives the message, except with a status of 500 or above. */
export class RequestError<Code extends string = ServerErrorCode> extends Error {
  override name = 'RequestError'

  constructor(
    readonly code: NoInfer<Code>,
    message: string,
    readonly options: { readonly headers?: Readonly<Record<string, string>>; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
  }

  /** Headers of the error response. */
  get headers(): Readonly<Record<string, string>> {
    return this.options.headers ?? {}
  }
}

// The `Retry-After` of a 503, in seconds.
const retryAfterSeconds = 1

/** The service is temporarily unavailable: 503 with `Retry-After` (RFC 9110, section 10.2.3). */
export function unavailable(cause: unknown): RequestError {
  return new RequestError('unavailable', 'unavailable', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  })
}

// Error codes of Fastify and Node, and the contract's code for each.
const frameworkCodes: Readonly<Record<string, ServerErrorCode>> = {
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
  ECONNRESET: 'malformed_request',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/**
 * Converts any error: a RequestError is returned as is, a known error of Fastify or Node becomes a 4xx, the
 * rest `internal_error`.
 */
export function toRequestError(error: unknown, contract: Contract): RequestError<string> {
  if (error instanceof RequestError) return error
  const { code, message } = error as { code?: unknown; message?: string }
  const known = typeof code === 'string' ? frameworkCodes[code] : undefined
  if (known === undefined) return new RequestError('internal_error', String(message), { cause: error })
  return requestFault(known, contract, error)
}

/** An error in the request itself, found before it reaches an operation. */
export function requestFault(code: ServerErrorCode, contract: Contract, cause?: unknown): RequestError {
  return new RequestError(code, faultMessage(code, contract), { cause })
}

function faultMessage(code: ServerErrorCode, { limits }: Contract): string {
  if (code === 'body_too_large') return `The body is longer than ${limits.body} bytes.`
  if (code === 'uri_too_long') return `The path and query are longer than ${limits.url} bytes.`
  if (code === 'headers_too_large') return `The header section is longer than ${limits.header} bytes.`
  if (code === 'unsupported_media_type') return 'The body is not of a type that the operation takes.'
  if (code === 'request_timeout') return 'The request did not arrive in time.'
  return 'The request is not valid HTTP, or its path is not a valid URL.'
}

/** The error body. The message of a 5xx is the status text alone. */
export function errorBody(error: RequestError<string>, contract: Contract): ErrorBody {
  const status = contract.errorStatuses.get(error.code) ?? 500
  const message = status >= 500 ? String(STATUS_CODES[status]) : error.message
  return { code: error.code, message, status }
}
