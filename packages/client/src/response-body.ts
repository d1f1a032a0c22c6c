// Decodes the body of a response as the contract declares it: JSON, text or bytes.

import { ApiError } from './error.js'
import { decode } from './json.js'
import { declaredFor, mediaTypeOf } from './media-type.js'
import { type CalledOperation, type ClientStream, type ContentKind, ofStatus, type Place } from './table.js'

/**
 * Decodes the body of an operation's response; returns undefined if it has none.
 * @throws {ApiError} `unexpected_answer` if the body is not of a declared type
 */
export function readResponseBody(operation: CalledOperation, response: Response, body: ArrayBuffer): unknown {
  const kind = kindOf(operation, response)
  if (kind === 'none' || kind === 'stream') return undefined
  if (kind === 'bytes') return new Uint8Array(body)
  const text = new TextDecoder().decode(body)
  if (kind === 'text') return text
  try {
    return text === '' ? undefined : decode(text, placeOf(operation, response), operation.schemas)
  } catch (cause) {
    throw unexpected('The response is not JSON.', operation, response, cause)
  }
}

function kindOf(operation: CalledOperation, response: Response): ContentKind | 'none' {
  const kind = declaredKind(operation, response)
  if (kind !== undefined) return kind
  const type = mediaTypeOf(response.headers)
  const message = type === '' ? 'The response has no media type.' : `The media type ${type} is not declared.`
  throw unexpected(message, operation, response)
}

/** Returns how the contract declares the body of a response; undefined if its media type is not declared. */
export function declaredKind(
  { contents }: CalledOperation,
  response: Response,
): ContentKind | 'none' | undefined {
  const declared = ofStatus(contents, response.status)
  if (declared === undefined) return 'json'
  if (Object.keys(declared).length === 0) return 'none'
  return declaredFor(declared, mediaTypeOf(response.headers))
}

/** Returns how the contract declares the stream in a response; undefined if the response is no stream. */
export function streamIn({ streams }: CalledOperation, response: Response): ClientStream | undefined {
  return declaredFor(ofStatus(streams, response.status) ?? {}, mediaTypeOf(response.headers))
}

// If the type of the body is not declared, uses the numbers of all declared types.
function placeOf({ numbers }: CalledOperation, response: Response): Place | undefined {
  const declared = ofStatus(numbers, response.status) ?? {}
  const place = declaredFor(declared, mediaTypeOf(response.headers))
  if (place !== undefined) return place ?? undefined
  return { each: Object.values(declared).flatMap((place) => place ?? []) }
}

/** Returns the error of a response that the contract does not declare. */
export function unexpected(
  message: string,
  { id }: CalledOperation,
  response: Response,
  cause?: unknown,
): ApiError {
  return new ApiError('unexpected_answer', message, { operation: id, response, cause })
}
