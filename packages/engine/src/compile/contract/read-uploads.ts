// Finds uploads: request bodies that stream to their handler as they arrive. An operation declares one by its
// own `x-limits.bodyBytes`, larger than what fits into memory many times over. The document's limit does not
// count: otherwise one number would change the type of every body.

import type { Body } from '../../document/contract.js'
import { heldBytesMax } from '../../document/defaults.js'
import type { Node, Reader } from '../../document/reader.js'
import { declaredKindOf } from '../../kinds/declared-kinds.js'
import { readContents } from './content.js'

/**
 * Returns the body of an operation, with the media types that stream marked.
 * @param place `POST /pets`
 * @param bodyBytes the operation's own limit
 */
export function withUploads(
  reader: Reader,
  place: string,
  body: Body | undefined,
  bodyBytes: unknown,
): Body | undefined {
  if (body === undefined || typeof bodyBytes !== 'number' || bodyBytes <= heldBytesMax) return body
  return {
    ...body,
    contents: body.contents.map((each) => declaredKindOf(each).upload?.(reader, place, each) ?? each),
  }
}

/**
 * True if a body of an Operation Object is a form whose files stream, so that its fields must come before
 * them.
 */
export function ordersFields(reader: Reader, operation: Node): boolean {
  const contents = readContents(reader, '', reader.node(operation.requestBody).content, 'request')
  const { bodyBytes } = reader.node(operation['x-limits'])
  const body = withUploads(reader, '', { required: false, mediaTypes: [], contents }, bodyBytes)
  return (
    body?.contents.some(({ fields, upload }) => upload && (fields?.size ?? 0) > upload.files.size) === true
  )
}
