// The items of a made stream. They come from an example, which may be an array of items, a single item, or
// the text of the stream; otherwise, a few are made from their schema.

import { flatParts } from '../compile/examples/flat-schema.js'
import { jsonOf } from '../compile/examples/given.js'
import { examplesIn, type ValueParts, valuesOf } from '../compile/examples/values.js'
import type { Content } from '../document/contract.js'
import { alternativesOf } from '../document/keywords.js'
import { type Node, nodeOf } from '../document/reader.js'

type IsItem = (item: unknown) => boolean

/** Returns the items of an example; undefined if the contract does not allow them. */
export function itemsOfExample(value: unknown, content: Content, isItem: IsItem): unknown[] | undefined {
  const written = typeof value === 'string' ? itemsOfText(value, content) : []
  const lists = [
    ...(written.length === 0 ? [] : [written]),
    ...(Array.isArray(value) ? [value] : []),
    [value],
  ]
  for (const list of lists) {
    const items = list.map((each) => asItem(each, content, isItem))
    if (items.every((each) => each !== undefined)) return items.map((each) => each.item)
  }
  return undefined
}

// Before OpenAPI 3.2, a stream of events often has the schema of their data, and examples of the data.
function asItem(
  value: unknown,
  { framing }: Content,
  isItem: IsItem,
): { readonly item: unknown } | undefined {
  const ways = framing === 'sse' ? [value, { data: value }] : [value]
  const isEvent = (each: unknown) => framing !== 'sse' || (typeof each === 'object' && each !== null)
  const item = ways.find((each) => isEvent(each) && isItem(each))
  return item === undefined ? undefined : { item }
}

// Returns no items if the text does not have this framing.
function itemsOfText(text: string, { framing, data = [] }: Content): unknown[] {
  if (framing === 'sse')
    return eventsOf(
      text,
      data.some(({ isJson }) => isJson),
    )
  const pieces = text.split(framing === 'sequence' ? '\x1e' : /\r?\n/).filter((each) => each.trim() !== '')
  const items = framing === 'rows' ? [] : pieces.map(jsonOf)
  return items.includes(undefined) ? [] : items
}

// Reads events as a client does (WHATWG HTML, section 9.2.6). A comment alone is no event.
function eventsOf(text: string, isJson: boolean): unknown[] {
  if (!/^(?:data|event|id|retry)?:/.test(text)) return []
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n{2,}/)
  const events = blocks.map((block) => eventOf(block.split('\n'), isJson))
  return events.filter((each) => Object.keys(each).length > 0)
}

function eventOf(lines: readonly string[], isJson: boolean): object {
  const fields = lines.flatMap((line) => {
    const [, name = '', value = ''] = /^(data|event|id|retry)(?:: ?(.*))?$/s.exec(line) ?? []
    return name === '' ? [] : [[name, value] as const]
  })
  const { retry, ...event } = Object.fromEntries(fields)
  const data = fields.flatMap(([name, value]) => (name === 'data' ? [value] : [])).join('\n')
  return {
    ...event,
    ...(retry !== undefined && { retry: Number(retry) }),
    ...('data' in event && { data: isJson ? (jsonOf(data) ?? data) : data }),
  }
}

const itemsMax = 3

/** Makes a few items by the schema of a content. */
export function madeItems({ schema = true, framing }: Content, parts: ValueParts): unknown[] {
  const isValid = (item: unknown) => parts.accepts(schema, item)
  const names = framing === 'sse' ? namesGiven(nodeOf(schema), parts) : []
  return Array.from({ length: itemsMax }, (_, i) => {
    for (const value of valuesOf(schema, parts, i)) if (isValid(value)) return [value]
    return []
  })
    .flat()
    .map((item) => (framing === 'sse' ? withoutOrders(nodeOf(item), names, isValid) : item))
}

// Removes made fields that would give clients orders: `retry` says how soon to reconnect, and `id` what has
// been read. A made name would hide the event from clients that listen to events without a name.
function withoutOrders(event: Node, names: readonly unknown[], isValid: IsItem): unknown {
  const { id: _, retry: __, ...rest } = event
  const { event: name, ...unnamed } = rest
  const isMade = !names.includes(name) && isValid({ ...rest, event: `${name}.` })
  return [...(isMade ? [unnamed] : []), rest].find(isValid) ?? event
}

// Returns the example names of the events of each kind (kinds/stream/declared-events.ts).
function namesGiven(schema: Node, { reader }: ValueParts): readonly unknown[] {
  const kinds = [schema, ...alternativesOf(schema)]
  const names = kinds.flatMap(({ properties }) => nodeOf(properties).event ?? [])
  return (flatParts(names, reader, ([first]) => first) ?? []).flatMap(examplesIn)
}
