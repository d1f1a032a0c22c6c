// Uploads: request bodies that reach their handler while they arrive. An operation says by its own
// `x-limits.bodyBytes` that it takes more than fits into memory many times over. What the document allows
// everywhere does not: then every body would change its type with one number.

import type { Body, Content, Schema, Upload } from './contract.js'
import { nodeOf, nodesOf, type Reader } from './reader.js'

/** Bodies of operations with a larger limit of their own stream. */
const bufferedMax = 1_048_576

/**
 * The body of an operation, with the media types marked that stream.
 * @param place `POST /pets`
 * @param bodyBytes its own limit
 */
export function withUploads(
  reader: Reader,
  place: string,
  body: Body | undefined,
  bodyBytes: unknown,
): Body | undefined {
  if (body === undefined || typeof bodyBytes !== 'number' || bodyBytes <= bufferedMax) return body
  return { ...body, contents: body.contents.map((each) => withUpload(reader, place, each)) }
}

function withUpload(reader: Reader, place: string, content: Content): Content {
  const { kind, schema, mediaType } = content
  if (kind === 'bytes') return { ...content, upload: { field: undefined, ...lengthsOf(schema) } }
  if (kind !== 'multipart') return content
  const files = [...(content.fields ?? [])].filter(([, field]) => field.kind === 'file')
  const [[name, { isList }] = ['', { isList: true }]] = files
  // A handler that awaited the second file before it has read the first would wait for ever.
  if (files.length > 1 || (files.length === 1 && isList))
    reader.warn(`${place}: the request body ${mediaType} has several files, so each is read into memory`)
  if (files.length !== 1 || isList) return content
  return { ...content, upload: { field: name, ...lengthsOf(propertyOf(reader, schema, name)) } }
}

// Of one that several parts of the schema declare, in an `allOf` of the parts.
function propertyOf(reader: Reader, schema: unknown, name: string): Schema {
  const { properties, allOf } = nodeOf(reader.dereferenced(schema))
  const own = nodeOf(properties)[name]
  return {
    allOf: [
      ...(own === undefined ? [] : [own]),
      ...nodesOf(allOf).map((each) => propertyOf(reader, each, name)),
    ],
  }
}

function lengthsOf(schema: unknown): Pick<Upload, 'minLength' | 'maxLength'> {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, allOf } = nodeOf(schema)
  const parts = nodesOf(allOf).map(lengthsOf)
  return {
    minLength: Math.max(Number(minLength), ...parts.map((each) => each.minLength)),
    maxLength: Math.min(Number(maxLength), ...parts.map((each) => each.maxLength)),
  }
}

/** Whether a body of the operation may stream. */
export function takesUploads({ body }: { readonly body: Body | undefined }): boolean {
  return body?.contents.some(({ upload }) => upload !== undefined) === true
}
