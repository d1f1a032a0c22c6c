// Sequential media types (OpenAPI 3.2, section 4.14): which responses are streams of items, and the schema of
// an item, wherever a document has it. Of a stream of events, see events.ts.

import type { Content } from '../../document/contract.js'
import { type Framing, framingOf } from '../../document/framing.js'
import { type AnySchema, schemaKeywords } from '../../document/keywords.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { eventSchemaOf, readEvents } from './events.js'

/** What the items of a stream are: see the fields of Content. */
export type Items = Pick<Content, 'schema' | 'framing' | 'data'>

/**
 * The items that a Media Type Object describes, or why they cannot be validated.
 * @param reader of the document, whose version decides what `schema` describes
 */
export function readItems(reader: Reader, mediaType: string, media: Node): Items | string {
  const framing = framingOf(mediaType)
  if (framing === undefined)
    return 'itemSchema is for streams of items, such as application/x-ndjson and text/event-stream'
  const schema = itemSchemaOf(reader, media, framing)
  if ('problem' in schema) return schema.problem
  if (framing === 'sse') return readEvents(reader, schema.item)
  reader.checkRefs(schema.item)
  return { framing, schema: schema.item }
}

type ItemSchema = { readonly item: AnySchema } | { readonly problem: string }

// Before OpenAPI 3.2 there was no other way to describe an item than by `schema`.
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

// The schema of an item in that of the whole: an array, of which nothing else is said.
function wholeOf(reader: Reader, schema: unknown): AnySchema | undefined {
  const { type, items = true, ...others } = reader.node(schema)
  const isMore = Object.keys(others).some((key) => schemaKeywords.has(key) || assertions.test(key))
  return type === 'array' && !isMore ? (items as AnySchema) : undefined
}

const assertions = /^(const|enum|\$ref|\$dynamicRef|m(in|ax).*|uniqueItems)$/

/**
 * The Media Type Object with the schema of an item, as a handler returns it, in its `schema`.
 * @param media of a document without references to media types
 */
export function withSchemaOfItem(reader: Reader, mediaType: string, media: unknown): unknown {
  if (framingOf(mediaType) === undefined) return media
  const { itemSchema: _, ...others } = nodeOf(media)
  const items = readItems(reader, mediaType, nodeOf(media))
  return typeof items === 'string' ? media : { ...others, schema: items.schema }
}
