// Streams of items, framed as server-sent events (WHATWG HTML, section 9.2), lines of JSON, JSON text
// sequences (RFC 7464), or rows of CSV (RFC 4180).

import type { Content, EventData, Schema } from '../../document/contract.js'
import { essence } from '../../document/media-types.js'
import { utf8Fault } from '../../runtime/text.js'
import { csv, rowFraming } from '../csv/served.js'
import { because, type ServedKind, type ToJson, Unwritable } from '../kind.js'

export const stream: ServedKind = {
  isText: true,
  isOfValue: false,
  streams: 'items',
  receivedAs: 'stream',
  sent: {
    // The other media types have no charset but UTF-8.
    typeOf: (mediaType) => (essence(mediaType) === 'text/csv' && csv.sent?.typeOf(mediaType)) || mediaType,
    check: () => (body) => (isItems(body) ? undefined : because('the body must be an iterable of items')),
    // Each item is written as JSON, or the data of each event if all events share one schema.
    inJson({ framing, schema, data }) {
      if (framing === 'rows') return undefined
      if (framing !== 'sse') return { schema }
      const { properties } = schema as { properties?: { data?: Schema } }
      return data?.length === 1 && data[0]?.isJson ? { schema: properties?.data } : undefined
    },
  },
}

/** The items of a stream, as a handler returns them. */
export type Items = AsyncIterable<unknown> | Iterable<unknown>

/** True if a body is a stream of items. A string, which iterates over its characters, is none. */
export function isItems(body: unknown): body is Items {
  return (
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || Symbol.iterator in body)
  )
}

/**
 * True if an item only says where its client goes on. Without data, clients keep the id and dispatch no event
 * (WHATWG HTML, section 9.2.6).
 */
export function isPosition({ framing }: Content, item: unknown): boolean {
  if (framing !== 'sse' || typeof item !== 'object' || item === null) return false
  const { id, event, data } = item as Event
  return id !== undefined && event === undefined && data === undefined
}

/**
 * Returns the text of an item.
 * @throws {Unwritable} if the item cannot be written
 */
export type Frame = (item: unknown, toJson: ToJson) => string

/** How a stream is written. */
export interface Framing {
  /** The text before the first item, or before the end of an empty stream. */
  readonly start: string
  readonly frame: Frame
}

/**
 * Returns how the items of a stream are written.
 * @throws {OperatorError} if a package for it is not installed
 */
export function framingOf(content: Content): Framing {
  return content.framing === 'rows' ? rowFraming(content) : { start: '', frame: frameOf(content) }
}

function frameOf({ framing, data = [] }: Content): Frame {
  if (framing === 'sse') return (item, toJson) => eventText(item as Event, data, toJson)
  const start = framing === 'sequence' ? '\x1e' : ''
  return (item, toJson) => `${start}${jsonText(item, toJson)}\n`
}

function jsonText(value: unknown, toJson: ToJson): string {
  return toJson(value) ?? fail('is not a value of JSON')
}

interface Event {
  readonly event?: unknown
  readonly id?: unknown
  readonly retry?: unknown
  readonly data?: unknown
}

const fieldNames: readonly string[] = ['event', 'id', 'retry', 'data']

function eventText(item: Event, forms: readonly EventData[], toJson: ToJson): string {
  const other = Object.keys(item).find((name) => !fieldNames.includes(name))
  if (other !== undefined) fail(`has the field ${other}, which events do not have`)
  const { event, id, retry, data } = item
  let text = ''
  if (event !== undefined) text += `event: ${fieldText('event', event)}\n`
  if (id !== undefined) text += `id: ${idText(id)}\n`
  if (retry !== undefined) text += `retry: ${retryText(retry)}\n`
  if (data !== undefined) text += dataLines(isText(data, event, forms) ? data : jsonText(data, toJson))
  // Finds lone surrogates in the fields, and in data that is text. JSON escapes them.
  const fault = utf8Fault(text)
  return fault === undefined ? `${text}\n` : fail(fault)
}

// A line break would begin another field.
function fieldText(name: string, value: unknown): string {
  if (typeof value !== 'string') return fail(`has no text as ${name}`)
  if (/[\r\n\0]/.test(value)) return fail(`has a line break or NUL in ${name}`)
  return value
}

// A client that reconnects sends the id in a header. Other characters would come back changed, or the id not
// at all.
function idText(value: unknown): string {
  const text = fieldText('id', value)
  return /^([!-~]([ -~]*[!-~])?)?$/.test(text)
    ? text
    : fail('has an id that is no value of a header in ASCII')
}

function retryText(value: unknown): string {
  const text = String(value)
  return /^\d+$/.test(text) ? text : fail('has no whole number as retry')
}

// Clients read each of the three kinds of line breaks as LF.
function dataLines(text: string): string {
  if (!/[\r\n]/.test(text)) return `data: ${text}\n`
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}

// True if data is written as it is, and not as JSON.
function isText(data: unknown, event: unknown, forms: readonly EventData[]): data is string {
  if (typeof data !== 'string') return false
  return forms.some(({ isJson, events, texts }) => {
    return !isJson && (events?.includes(event as string) ?? true) && (texts?.includes(data) ?? true)
  })
}

function fail(problem: string): never {
  throw new Unwritable(problem)
}
