// Reads error responses: decodes their body as the contract declares it, and finds its code and message.

import { ApiError } from './error.js'
import { declaredFor, mediaTypeOf } from './media-type.js'
import { readResponseBody } from './response-body.js'
import { type CalledOperation, ofStatus } from './table.js'

/** Converts an error response to an ApiError. */
export function readError(operation: CalledOperation, response: Response, bytes: ArrayBuffer): ApiError {
  const { status } = response
  const { body, cause } = errorBodyOf(operation, response, bytes)
  const isDeclared =
    cause === undefined && declaresError(operation, status) && hasItsBody(operation, status, body)
  const { code, message } = tellingOf(body)
  const details = { operation: operation.id, response, cause }
  if (code !== undefined && (isDeclared || message !== undefined))
    return new ApiError(code, message ?? `HTTP status ${status}.`, { ...details, body })
  if (status === 304) return new ApiError('not_modified', 'Not modified.', details)
  if (status < 400) return new ApiError('redirect', redirectMessage(response), details)
  if (!isDeclared)
    return new ApiError('unexpected_answer', `HTTP status ${status}, without an error body.`, details)
  const end = message === undefined ? '.' : `: ${message}`
  return new ApiError('http_error', `HTTP status ${status}${end}`, { ...details, body })
}

// Browsers hide the status and the target of a redirect.
function redirectMessage({ status, headers }: Response): string {
  const target = headers.get('Location')
  return `HTTP status ${status}: a redirect${target === null ? '' : ` to ${target}`} that was not followed.`
}

/** True if the contract declares an error response with this status. */
function declaresError({ errors }: Pick<CalledOperation, 'errors'>, status: number): boolean {
  return status >= 400 && ofStatus(errors, status) !== undefined
}

/** True if an error response has a declared status and media type, and its body has the declared fields. */
export function isDeclaredError(
  { errors }: Pick<CalledOperation, 'errors'>,
  { response, body }: ApiError,
): boolean {
  const { status = 0, headers } = response ?? {}
  const contents = status >= 400 ? ofStatus(errors, status) : undefined
  if (contents === undefined) return false
  if (Object.keys(contents).length === 0) return body === undefined
  const names = headers && declaredFor(contents, mediaTypeOf(headers))
  return (
    names?.every((name) => typeof body === 'object' && body !== null && Object.hasOwn(body, name)) === true
  )
}

function hasItsBody({ contents }: CalledOperation, status: number, body: unknown): boolean {
  const hasNone = Object.keys(ofStatus(contents, status) ?? { json: true }).length === 0
  return hasNone || body !== undefined
}

// If the type of the body is undeclared, there is a `cause`; the body may still be the standard error.
function errorBodyOf(operation: CalledOperation, response: Response, bytes: ArrayBuffer) {
  try {
    return { body: readResponseBody(operation, response, bytes) }
  } catch (cause) {
    const { contents: _, ...anyJson } = operation
    try {
      return { body: readResponseBody(anyJson, response, bytes), cause }
    } catch {
      return { cause }
    }
  }
}

// The standard error has a code and a message; a problem (RFC 9457) has a title and details.
function tellingOf(body: unknown): {
  readonly code: string | undefined
  readonly message: string | undefined
} {
  const { code, message, detail, title } = (body ?? {}) as Readonly<Record<string, unknown>>
  return { code: text(code), message: text(message) ?? text(detail) ?? text(title) }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
