// Components that are schemas of events. Such a schema describes the text of an event, but handlers and
// clients see values, so its type must be the type of the streams' items.

import { referencesIn } from '../document/component-kinds.js'
import type { Pointer } from '../document/contract-error.js'
import { framingOf } from '../document/framing.js'
import { type AnySchema, isChoice } from '../document/keywords.js'
import { pointerTo, valueAt } from '../document/pointer.js'
import { nodeOf, type Reader } from '../document/reader.js'
import { eventSchemaOf, readEvents } from '../kinds/stream/declared-events.js'

/**
 * Returns the document, in which components that only describe events describe them as handlers and clients
 * see them.
 */
export function withTypesOfEvents(reader: Reader): object {
  const { document } = reader
  const { schemas } = nodeOf(document.components)
  const places = placesByRef(document)
  const entries = Object.entries(nodeOf(schemas)).flatMap(([name, schema]) => {
    const at = ['components', 'schemas', name]
    if (!isOfEvents(reader, places, at)) return []
    const read = readEvents(reader, { $ref: pointerTo(at) })
    const { description } = nodeOf(schema)
    return typeof read === 'string' ? [] : [[name, { description, ...nodeOf(read.schema) }]]
  })
  if (entries.length === 0) return document
  const typed = { ...nodeOf(schemas), ...Object.fromEntries(entries) }
  return { ...document, components: { ...nodeOf(document.components), schemas: typed } }
}

// The places of references to each schema. Media types in components are left out, because they also occur
// where they are used (resolved.ts).
type Places = ReadonlyMap<string, readonly Pointer[]>

function placesByRef(document: object): Places {
  const places = new Map<string, Pointer[]>()
  for (const { ref, at } of referencesIn(document)) {
    if (at[0] === 'components' && at[1] === 'mediaTypes') continue
    const own = places.get(ref) ?? []
    own.push(at)
    places.set(ref, own)
  }
  return places
}

// True if a place is that of a schema of events, or of one of its alternatives. A component counts only if
// all references to it do, because elsewhere it describes JSON. No schema is its own alternative.
function isOfEvents(reader: Reader, places: Places, at: Pointer): boolean {
  const isIt = (place: Pointer) => isOfEvents(reader, places, place)
  const [parent, keyword] = [at.slice(0, -2), at.at(-2)]
  if (isChoice(keyword)) return isIt(parent)
  if (at[0] !== 'components' || at.length > 3) return isItemOfEvents(reader, at)
  return places.get(pointerTo(at))?.every(isIt) ?? false
}

// The meaning of `schema` depends on the version: see itemSchemaOf.
function isItemOfEvents(reader: Reader, at: Pointer): boolean {
  const isNew = reader.version.startsWith('3.2')
  const isOfAll = isNew && at.at(-1) === 'items'
  const [field, media] = isOfAll ? [at.at(-2), at.slice(0, -2)] : [at.at(-1), at.slice(0, -1)]
  if (media.at(-2) !== 'content' || framingOf(String(media.at(-1))) !== 'sse') return false
  if (isOfAll || isNew || field !== 'schema') return field === (isOfAll ? 'schema' : 'itemSchema')
  const schema = valueAt(reader.document, at) as AnySchema
  return eventSchemaOf(reader, schema) === schema
}
