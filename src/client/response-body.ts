// Decodes the body of a successful response, as the contract declares it: JSON, text or bytes.

import { ApiError } from './error.js'
import { decode } from './json.js'
import type { ClientOperation, ClientTable, ContentKind } from './table.js'

/**
 * Decodes the body of an operation's response; undefined if it has none.
 * @throws {ApiError} `unexpected_answer` if the body is not of a declared type
 */
export function readResponseBody(
  { schemas }: ClientTable,
  operation: ClientOperation,
  response: Response,
  body: ArrayBuffer = new ArrayBuffer(0),
): unknown {
  const kind = kindOf(operation, response)
  if (kind === 'none') return undefined
  if (kind === 'bytes') return new Uint8Array(body)
  const text = new TextDecoder().decode(body)
  if (kind === 'text') return text
  try {
    return text === '' ? undefined : decode(text, ofStatus(operation.int64, response), schemas)
  } catch (error) {
    throw new ApiError('unexpected_answer', 'The response is not JSON.', response, error)
  }
}

function kindOf({ contents }: ClientOperation, response: Response): ContentKind | 'none' {
  if (contents === undefined) return 'json'
  const declared = ofStatus(contents, response) ?? {}
  const kinds = Object.values(declared)
  if (kinds.length === 0) return 'none'
  const type = response.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  // A range, such as `image/*`, applies to types that are not declared themselves.
  const kind = declared[type] ?? declared[type.replace(/\/.*/, '/*')] ?? declared['*/*']
  if (kind !== undefined) return kind
  const message = type === '' ? 'The response has no media type.' : `The media type ${type} is not declared.`
  throw new ApiError('unexpected_answer', message, response)
}

// The declaration of a status: its own, then that of its class, then `default`.
function ofStatus<Each>(
  declared: Readonly<Record<string, Each>> = {},
  { status }: Response,
): Each | undefined {
  return declared[status] ?? declared['2xx'] ?? declared.default
}
