// Errors as clients see them: turns any error into a RequestError, and gathers the facts for its body.

import { STATUS_CODES } from 'node:http'
import type { Contract } from '../../document/contract.js'
import { type OwnErrorCode, ownError, RequestError, type Violation } from '../../document/request-error.js'
import { tryAgain } from '../../lib/texts.js'

// Maps error codes of Fastify and Node to the engine's.
const frameworkCodes: Readonly<Record<string, OwnErrorCode>> = {
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'unsupported_media_type',
  FST_ERR_VALIDATION: 'invalid_request',
  ECONNRESET: 'malformed_request',
}

// Errors that only the application can cause: by its own routes, or by the option `handlerTimeout`.
const ownCodes: Readonly<Record<string, { code: string; message: string; status: number }>> = {
  FST_ERR_MAX_PARAM_LENGTH: {
    code: 'uri_too_long',
    message: 'A parameter of the path is too long.',
    status: 414,
  },
  FST_ERR_HANDLER_TIMEOUT: { code: 'handler_timeout', message: 'The handler took too long.', status: 503 },
}

/**
 * Converts any error. A RequestError is returned as it is. A known error of Fastify or Node becomes a 4xx. An
 * error with a 4xx of its own, as plugins throw, keeps its status. All others become `internal_error`.
 */
export function toRequestError(error: unknown, contract: Contract): RequestError {
  if (error instanceof RequestError) return error
  const {
    code,
    message,
    statusCode = 500,
  } = error as { code?: unknown; message?: string; statusCode?: number }
  const own = typeof code === 'string' ? ownCodes[code] : undefined
  if (own !== undefined) return new RequestError(own.code, own.message, { status: own.status, cause: error })
  const known = typeof code === 'string' ? frameworkCodes[code] : undefined
  if (known !== undefined) return requestFault(known, String(message), contract, error)
  if (statusCode >= 400 && statusCode < 500)
    return new RequestError(errorCodeOf(code, statusCode), String(message), {
      status: statusCode,
      cause: error,
    })
  return ownError('internal_error', String(message), { cause: error })
}

// Returns the error's own code or, for errors of `http-errors`, the name of its status: `too_many_requests`.
function errorCodeOf(code: unknown, status: number): string {
  if (typeof code === 'string') return code
  return (STATUS_CODES[status] ?? 'invalid_request').toLowerCase().replace(/\W+/g, '_')
}

function requestFault(
  code: OwnErrorCode,
  message: string,
  { limits }: Contract,
  cause: unknown,
): RequestError {
  const messages: Partial<Record<OwnErrorCode, string>> = {
    body_too_large: tooLong(limits.body), // thrown by a parser of the application's own
    unsupported_media_type: 'The body is not of a type that the operation takes.',
    malformed_request: malformedRequest,
  }
  return ownError(code, messages[code] ?? message, { cause })
}

export const malformedRequest = 'The request is not valid HTTP, or its path is not a valid URL.'

/** Returns the error of a body that is longer than the limit of its operation. */
export function bodyTooLarge(max: number): RequestError {
  return ownError('body_too_large', tooLong(max))
}

function tooLong(max: number): string {
  return `The body is longer than ${max} bytes.`
}

/** The facts about an error, from which its body is made. */
export interface ErrorFacts {
  readonly code: string
  /** For a 5xx, only the status text. */
  readonly message: string
  readonly status: number
  /** Empty unless the error is an `invalid_request`. */
  readonly violations: readonly Violation[]
  /** The same as in the header `X-Request-Id`, and in the log. */
  readonly requestId: string
  /** The operationId; undefined if the path or request belongs to no operation of the contract. */
  readonly operation: string | undefined
}

/** Returns the facts about an error that a client may know. */
export function factsOf(
  error: RequestError,
  contract: Contract,
  { requestId, operation }: Pick<ErrorFacts, 'requestId' | 'operation'>,
): ErrorFacts {
  const { code, options } = error
  const status = statusOf(error, contract)
  const message = status >= 500 ? faultMessage(status, error) : error.message
  return { code, message, status, violations: options.violations ?? [], requestId, operation }
}

function faultMessage(status: number, { headers }: RequestError): string {
  const { 'Retry-After': seconds } = headers
  return seconds === undefined
    ? String(STATUS_CODES[status])
    : `${STATUS_CODES[status]}. ${tryAgain(seconds)}`
}

/** Returns the status that the contract gives to the error's code, or else the error's own status. */
export function statusOf(
  { code, statusCode }: RequestError,
  { errorStatuses }: Pick<Contract, 'errorStatuses'>,
): number {
  return errorStatuses.get(code) ?? statusCode
}
