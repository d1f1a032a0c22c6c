// Forms of several parts: multipart/form-data (RFC 7578).

import { type MultipartPart, parseMultipart } from '@remix-run/multipart-parser'
import type { Content, Schema } from '../../document/contract.js'
import { type AnySchema, mapSubschemas } from '../../document/keywords.js'
import { ambiguityOf, essence, isUtf8 } from '../../document/media-types.js'
import { nodeOf, Reader } from '../../document/reader.js'
import { RequestError } from '../../document/request-error.js'
import { onlyFile } from '../../document/uploads.js'
import { readParameters } from '../../lib/field-values.js'
import { withBytes } from '../../runtime/bytes.js'
import type { ServedKind } from '../kind.js'
import { type Entry, entryOf, type Form, fieldsOf, malformed, partsMax, readEntry } from './served.js'

export const multipart: ServedKind = {
  isText: true, // except for its files
  isOfValue: false,
  streams: undefined,
  receivedAs: 'bytes',
  received: {
    read: readMultipart,
    schemaOf: schemaOfFields,
  },
}

/** The most bytes that the headers of a part may have. */
export const headersMax = 8_192

/**
 * Parses a form.
 * @throws {RequestError} `invalid_request` if the body is not a form
 */
export function readMultipart(bytes: Uint8Array, content: Content, contentType: string): Form {
  return fieldsOf(multipartEntries(bytes, contentType, content), content)
}

// Returns the schema of the fields that have arrived when the form is validated.
function schemaOfFields(schema: AnySchema, { fields, upload }: Content, document: object): AnySchema {
  if (typeof schema === 'boolean') return schema
  const isFile = (name: string) => fields?.get(name)?.kind === 'file'
  // Several files arrive while their handler runs (upload-files.ts).
  const isLater = upload !== undefined && onlyFile(upload) === undefined
  return (isLater ? withoutFiles : withFiles)(new Reader(document), schema, isFile)
}

// RFC 2046, section 5.1.1.
const boundaryMax = 70

/** Returns the boundary of a form's parts. @throws {RequestError} `invalid_request` */
export function boundaryOf(contentType: string): string {
  const boundary = readParameters(contentType).values.get('boundary') ?? ''
  if (boundary === '') throw malformed('its Content-Type names no boundary')
  if (boundary.length > boundaryMax) throw malformed(`its boundary is longer than ${boundaryMax} characters`)
  return boundary
}

/** What the headers of a part say. */
export interface Head {
  readonly name: string
  /** The name of a file, empty if it has none; undefined if the part is no file. */
  readonly fileName: string | undefined
  /** The media type, if the headers have one. */
  readonly type: string | undefined
  /** What is wrong with the media type of a file. */
  readonly problem: string | undefined
}

/**
 * Reads the headers of a part.
 * @param head the bytes from the end of the boundary to the empty line
 * @throws {RequestError} `invalid_request`
 */
export function readHead(head: Uint8Array, contentType: string, content: Content): Head {
  const boundary = boundaryOf(contentType)
  const part = Buffer.concat([Buffer.from(`--${boundary}`), head, Buffer.from(`\r\n--${boundary}--`)])
  const [entry] = multipartEntries(part, contentType, content)
  if (entry === undefined) throw malformed('it has a part without headers')
  const { name, fileName, mediaType } = entry
  const field = content.fields?.get(name)
  let problem: string | undefined
  if (field?.kind === 'file')
    readEntry(entry, field, (text) => {
      problem = text
      return undefined
    })
  return { name, fileName, type: mediaType, problem }
}

function multipartEntries(bytes: Uint8Array, contentType: string, { fields }: Content): Entry[] {
  const boundary = boundaryOf(contentType)
  const parts = partsIn(Buffer.concat([Buffer.from('\r\n'), bytes]), Buffer.from(`\r\n--${boundary}`))
  const options = { boundary, maxParts: partsMax, maxHeaderSize: headersMax, maxFileSize: bytes.length }
  try {
    return [...parseMultipart(parts, options)].map((part) => entryOfPart(part, fields))
  } catch (error) {
    throw error instanceof RequestError ? error : malformed((error as Error).message)
  }
}

// Returns the bytes in a form that the parser can read. RFC 2046, section 5.1.1, allows any lines before the
// first boundary, where the parser expects the boundary at the start. The parser also skips whatever follows
// a boundary on its line, and takes all up to the next empty line for headers: behind a part without headers,
// it would lose the next boundary, and a part. So both are refused here.
function partsIn(lines: Buffer, delimiter: Buffer): Buffer {
  const first = lines.indexOf(delimiter)
  if (first === -1) throw malformed('none of its lines is its boundary')
  for (let at = first, parts = 0; at !== -1 && parts <= partsMax; parts++) {
    const start = at + delimiter.length
    if (isClosing(lines, start)) break
    if (!endsLine(lines, start)) throw malformed(continuedBoundary)
    at = lines.indexOf(delimiter, start)
    if (at !== -1 && !lines.subarray(start + 2, at).includes(headersEnd))
      throw malformed('it has a part without headers')
  }
  return lines.subarray(first + 2)
}

/** Ends the headers of a part. */
export const headersEnd = '\r\n\r\n'

/** What is wrong with a line that begins with the boundary, and goes on. */
export const continuedBoundary = 'a line begins with its boundary, and goes on'

/** Follows the boundary at the end of a form. */
export const closing = Buffer.from('--')

/** True if the boundary that ends at `at` is the last one. */
export function isClosing(bytes: Buffer, at: number): boolean {
  return bytes.subarray(at, at + closing.length).equals(closing)
}

/** True if a boundary ends at the end of its line, or before blanks. */
export function endsLine(bytes: Buffer, at: number): boolean {
  return at >= bytes.length || [0x0d, 0x20, 0x09].includes(bytes[at] as number)
}

function entryOfPart(part: MultipartPart, fields: Content['fields']): Entry {
  const { headers } = part
  const type = headers['content-type']
  const { values, fault } = readParameters(headers['content-disposition'] ?? '')
  if (fault === 'repeated' || (type && ambiguityOf(type)))
    throw malformed('the headers of a part are ambiguous')
  const name = values.get('name')
  const entry = {
    ...entryOf(name && fieldName(name, fields), Buffer.from(part.bytes), type && essence(type)),
    fileName: fileNameIn(values),
    transferEncoding: headers['content-transfer-encoding']?.trim(),
  }
  return isUtf8(type ?? '') ? entry : { ...entry, text: () => undefined }
}

// WHATWG HTML, section 4.10.22.8, encodes these characters in a name, but not a percent sign. So only the
// declared names tell what was meant.
function fieldName(name: string, fields: Content['fields']): string {
  if (!name.includes('%') || fields?.has(name)) return name
  const decoded = name.replace(/%(0A|0D|22)/gi, decodeURIComponent)
  return fields?.has(decoded) ? decoded : name
}

// Reads `filename*` (RFC 8187, section 3.2.1). Only one thing matters: if a name follows the charset and the
// language.
function fileNameIn(parameters: ReadonlyMap<string, string>): string | undefined {
  const [, extended] = /^[^']*'[^']*'(.*)$/s.exec(parameters.get('filename*') ?? '') ?? []
  return extended || (parameters.get('filename') ?? extended)
}

// Returns the schema of a form with `bytes` in the fields that are files. The subschemas that may declare
// fields are dereferenced.
function withFiles(
  reader: Reader,
  given: Schema,
  isFile: (name: string) => boolean,
  around: readonly Schema[] = [],
): Schema {
  const schema = reader.node(given)
  if (around.includes(schema)) return given
  return mapSubschemas(schema, ({ keyword, name = '', appliesTo, schema: each }) => {
    if (appliesTo === 'value') return withFiles(reader, each, isFile, [...around, schema])
    return keyword === 'properties' && isFile(name) ? withBytes(reader.dereferenced(each) as Schema) : each
  })
}

// Returns the schema of a form without the fields that are files, as the schema and its `allOf` declare them.
function withoutFiles(reader: Reader, given: Schema, isFile: (name: string) => boolean): Schema {
  const { properties, required, ...others } = reader.node(given)
  const kept = Object.entries(nodeOf(properties)).filter(([name]) => !isFile(name))
  const schema = {
    ...others,
    ...(properties !== undefined && { properties: Object.fromEntries(kept) }),
    ...(Array.isArray(required) && { required: required.filter((name) => !isFile(name)) }),
  }
  return mapSubschemas(schema, ({ keyword, schema: each }) =>
    keyword === 'allOf' ? withoutFiles(reader, each, isFile) : each,
  )
}
