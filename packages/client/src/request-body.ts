// Encodes the body of a request as the contract declares it: as JSON, text, a form, bytes or a stream of
// items.

import { encode } from './json.js'
import { writeMultipart } from './multipart.js'
import { readableOf } from './readable.js'
import { checkJson, elementsOf, membersOf, replacement, type Sent, scalarText } from './sendable.js'
import { writeItems } from './sent-items.js'
import type { ClientBody, ClientField, ClientTable } from './table.js'

/** A body that `fetch` can send. */
export interface EncodedBody {
  readonly content: string | Uint8Array | Blob | ReadableStream<Uint8Array>
  readonly mediaType: string | undefined
}

type Entry = readonly [name: string, value: string | Blob]

/**
 * Encodes a body; by default, as JSON.
 * @param at the name of the value, for messages
 * @throws {TypeError} if the value, or one within it, cannot be sent unchanged
 */
export function writeRequestBody(
  value: unknown,
  { kind, mediaType, fields = {}, numbers, framing = 'lines' }: ClientBody = {
    kind: 'json',
    mediaType: 'application/json',
  },
  schemas: ClientTable['schemas'] = {},
  at = 'body',
): EncodedBody {
  const sent = { at, value, places: numbers === undefined ? [] : [numbers], schemas }
  if (kind === 'json') return { content: json(sent), mediaType }
  if (kind === 'text') return { content: scalarText(sent), mediaType }
  if (kind === 'bytes') return bytes(value, mediaType)
  if (kind === 'stream') return { content: writeItems(sent, framing), mediaType }
  const entries = entriesOf(sent, fields)
  if (kind === 'form') return { content: String(new URLSearchParams(entries.map(textEntry))), mediaType }
  return writeMultipart(filesLast(entries, fields), fields)
}

function json(sent: Sent): string {
  checkJson(sent)
  return encode(sent.value)
}

// The type of a Blob takes precedence: if the contract declares a range, such as `image/*`, only the Blob
// knows the type.
function bytes(content: unknown, mediaType = 'application/octet-stream'): EncodedBody {
  if (content instanceof ReadableStream) return { content, mediaType }
  if (isChunked(content)) return { content: readableOf(content[Symbol.asyncIterator]()), mediaType }
  if (!isFile(content))
    throw new TypeError('body must be a Uint8Array, a Blob, a ReadableStream, or iterate over Uint8Arrays')
  const own = content instanceof Blob ? content.type : ''
  return { content, mediaType: own || mediaType }
}

function isFile(value: unknown): value is Uint8Array | Blob {
  return value instanceof Uint8Array || value instanceof Blob
}

// True for a Readable of Node, for example.
function isChunked(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

// An array has one entry for each element, or a single entry with separators (OpenAPI 3.1.1, section 4.8.15).
function entriesOf(form: Sent, fields: NonNullable<ClientBody['fields']>): Entry[] {
  const { value } = form
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${form.at} must be an object with the fields of the form`)
  return membersOf(form, value).flatMap(({ name, ...each }): Entry[] => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!Array.isArray(each.value) || (field?.isJson && !field.isList)) return [[name, single(each, field)]]
    const all = elementsOf(each, each.value).map((one) => single(one, field))
    if (field?.separator !== undefined) return [[name, joined(each.at, all, field.separator)]]
    if (all.length === 0 && field?.isFilled)
      throw new TypeError(`${each.at} must not be empty: the service would take its default`)
    return all.map((one) => [name, one])
  })
}

// The service decodes the text before it divides it.
function joined(at: string, all: readonly (string | Blob)[], separator: string): string {
  if (all.some((each) => String(each).includes(separator)))
    throw new TypeError(`${at} must not contain ${JSON.stringify(separator)}, which separates its values`)
  if (all.length === 1 && all[0] === '')
    throw new TypeError(`${at} must not be a list of an empty text alone`)
  return all.join(separator)
}

// A service that accepts large files reads a form as it arrives, and refuses a field after a file.
function filesLast(entries: readonly Entry[], fields: NonNullable<ClientBody['fields']>): Entry[] {
  const isFile = ([name, value]: Entry) =>
    value instanceof Blob && !(Object.hasOwn(fields, name) && fields[name]?.isJson)
  return [...entries.filter((each) => !isFile(each)), ...entries.filter(isFile)]
}

function textEntry([name, value]: Entry): [name: string, value: string] {
  if (typeof value === 'string') return [name, value]
  throw new TypeError(`body.${name} must not be a file: the contract declares a form without files`)
}

function single(sent: Sent, { isJson, isNullable, mediaType = '' }: ClientField = {}): string | Blob {
  const { value } = sent
  if (value instanceof Blob) return value
  if (value instanceof Uint8Array) return new Blob([value as Uint8Array<ArrayBuffer>], { type: mediaType })
  if (isJson) return json(sent)
  if (value === null && isNullable) return ''
  if (value === null)
    throw new TypeError(`${sent.at} must not be null, which a form does not have: leave it out`)
  const isText = typeof value !== 'object' || typeof replacement(sent.at, value) !== 'object'
  return isText ? scalarText(sent) : json(sent)
}
