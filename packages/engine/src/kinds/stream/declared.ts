// Sequential media types (OpenAPI 3.2, section 4.14): finds the responses and request bodies that are streams
// of items, and the schema of an item, wherever a document has it. For events, see declared-events.ts.

import type { Content } from '../../document/contract.js'
import { type Framing, framingOf } from '../../document/framing.js'
import { type AnySchema, asserts, mapValues } from '../../document/keywords.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { isBytes, isFile } from '../bytes/declared.js'
import { isCsv, readRows, withSchemaOfRows } from '../csv/declared.js'
import type { Declared, DeclaredKind, Use } from '../declared-kind.js'
import { eventSchemaOf, readEvents } from './declared-events.js'

export const stream: DeclaredKind = {
  read: (reader, declared, use) =>
    isStream(reader, declared, use) ? readStream(reader, declared, use) : undefined,
  type: ({ upload, framing }, value) => {
    if (upload !== undefined) return `ArrivingItems<${value}>`
    return framing === 'sse' ? `Items<${value} | EventPosition>` : `Items<${value}>`
  },
}

// Only responses have events: in a request, `text/event-stream` without itemSchema is a text like any other.
function isStream(reader: Reader, { mediaType, media }: Declared, use: Use): boolean {
  if (media.itemSchema !== undefined) return true
  const framing = framingOf(mediaType)
  if (framing === undefined || (use === 'request' && framing === 'sse')) return false
  const schema = nodeOf(reader.dereferenced(media.schema))
  return framing === 'sse' ? !isFile(schema) : !isBytes(schema, false)
}

// The body may have any size: its items are read one after the other, as they arrive.
const arriving = { files: new Map(), isClosed: false, minLength: 0, maxLength: Number.POSITIVE_INFINITY }

function readStream(
  reader: Reader,
  { place, mediaType, media }: Declared,
  use: Use,
): Content | readonly string[] {
  const items =
    use === 'error'
      ? 'is a stream of items, which is not supported for an error'
      : readItems(reader, mediaType, media)
  if (media.itemSchema !== undefined && !reader.version.startsWith('3.2'))
    reader.warn(`${place} ${mediaType} has itemSchema, of OpenAPI 3.2: other tools need openapi: 3.2.0`)
  if (typeof items === 'string') return [`${place} ${mediaType} ${items}`]
  if (use !== 'request') return { mediaType, kind: 'stream', ...items }
  const unread = items.framing && unreadItems[items.framing]
  if (unread !== undefined)
    return [`${place} ${mediaType} is a stream of ${unread}, which is not supported in a request: ${instead}`]
  return { mediaType, kind: 'stream', ...items, upload: arriving }
}

const unreadItems: Partial<Record<Framing, string>> = { sse: 'events', rows: 'rows' }
const instead = 'remove itemSchema, and read the bytes; or declare application/x-ndjson'

/** What the items of a stream are: see the fields of Content. */
export type Items = Pick<Content, 'schema' | 'framing' | 'data' | 'columns'>

/**
 * Returns the items that a Media Type Object describes, or why they cannot be validated.
 * @param reader reads the document, whose version decides what `schema` describes
 */
export function readItems(reader: Reader, mediaType: string, media: Node): Items | string {
  const framing = framingIn(mediaType, media)
  if (framing === undefined)
    return 'itemSchema is for streams of items, such as application/x-ndjson and text/event-stream'
  const schema = itemSchemaOf(reader, media, framing)
  if ('problem' in schema) return schema.problem
  if (framing === 'sse') return readEvents(reader, schema.item)
  if (framing === 'rows') return readRows(reader, mediaType, schema.item)
  reader.checkRefs(schema.item)
  return { framing, schema: schema.item }
}

// CSV with `schema` is an array, which is written as a whole.
function framingIn(mediaType: string, { itemSchema }: Node): Framing | undefined {
  return itemSchema !== undefined && isCsv(mediaType) ? 'rows' : framingOf(mediaType)
}

type ItemSchema = { readonly item: AnySchema } | { readonly problem: string }

// Before OpenAPI 3.2, `schema` was the only way to describe an item.
function itemSchemaOf(reader: Reader, { schema, itemSchema }: Node, framing: Framing): ItemSchema {
  const item = itemSchema as AnySchema | undefined
  if (schema === undefined) return { item: item ?? true }
  if (!reader.version.startsWith('3.2'))
    return item === undefined
      ? { item: framing === 'sse' ? eventSchemaOf(reader, schema as AnySchema) : (schema as AnySchema) }
      : { problem: 'has both schema and itemSchema: keep itemSchema' }
  const whole = wholeOf(reader, schema)
  if (whole === undefined)
    return { problem: 'has a schema of all items that is more than an array of them: use itemSchema' }
  return { item: item === undefined ? whole : { allOf: [item, whole] } }
}

// Returns the schema of an item from the schema of all: an array without further constraints.
function wholeOf(reader: Reader, schema: unknown): AnySchema | undefined {
  const { type, items = true, ...others } = reader.node(schema)
  const isMore = Object.keys(others).some((key) => asserts(key, 'array'))
  return type === 'array' && !isMore ? (items as AnySchema) : undefined
}

/**
 * Returns the Media Type Object with the schema of an item in its `schema`, as a handler returns items.
 * @param media of a document without references to media types
 */
export function withSchemaOfItem(reader: Reader, mediaType: string, media: unknown): unknown {
  if (framingIn(mediaType, nodeOf(media)) === undefined) return media
  const { itemSchema: _, ...others } = nodeOf(media)
  const items = readItems(reader, mediaType, nodeOf(media))
  return typeof items === 'string' ? media : { ...others, schema: items.schema }
}

/**
 * Returns the content with the `schema` that each media type has before OpenAPI 3.2: that of an item, or of
 * all rows.
 */
export function withOlderSchemas(reader: Reader, content: object): object {
  return mapValues(content, (each, type) =>
    framingOf(type) === 'sse' ? each : withSchemaOfItem(reader, type, withSchemaOfRows(type, each)),
  )
}
