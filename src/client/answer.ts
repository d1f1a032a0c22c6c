// The body of a good answer, as the contract declares it: JSON, text or bytes.

import { ApiError } from './error.js'
import { decode } from './json.js'
import type { ClientOperation, ClientTable, ContentKind } from './table.js'

/**
 * Reads the body of an operation's answer; undefined where it has none.
 * @throws {ApiError} `unexpected_answer`, when it is not of what is declared
 */
export function readAnswer(
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
    throw new ApiError('unexpected_answer', 'The answer is not JSON.', response, error)
  }
}

function kindOf({ contents }: ClientOperation, response: Response): ContentKind | 'none' {
  if (contents === undefined) return 'json'
  const declared = ofStatus(contents, response) ?? {}
  const kinds = Object.values(declared)
  if (kinds.length === 0) return 'none'
  const [type = ''] = (response.headers.get('Content-Type') ?? '').toLowerCase().split(/\s*;/)
  // A range, such as `image/*`, counts for what is not declared itself.
  const kind = declared[type] ?? declared[type.replace(/\/.*/, '/*')] ?? declared['*/*']
  if (kind !== undefined) return kind
  throw new ApiError('unexpected_answer', `The answer is of type ${type || 'none'}.`, response)
}

// What is declared for a status: for itself, then for its class, then for any.
function ofStatus<Each>(
  declared: Readonly<Record<string, Each>> = {},
  { status }: Response,
): Each | undefined {
  return declared[status] ?? declared['2xx'] ?? declared.default
}
