// Writes a request body that is a stream of items. It writes each item when it is asked for, so that no more
// than a chunk is in memory.

import { encode } from './json.js'
import { readableOf } from './readable.js'
import { checkJson, type Sent } from './sendable.js'

// An array is written in chunks of this length. An iterable is written item by item, because the next item
// may take long.
const chunkLength = 65_536
const recordSeparator = '\u001e'

/**
 * Returns the bytes of a stream of items. If an item cannot be sent unchanged, the stream fails with a
 * TypeError.
 * @param framing lines of JSON, or JSON text sequences (RFC 7464)
 * @throws {TypeError} if the value is neither an array nor an async iterable
 */
export function writeItems(sent: Sent, framing: 'lines' | 'sequence'): ReadableStream<Uint8Array> {
  const { at, value } = sent
  const start = framing === 'sequence' ? recordSeparator : ''
  let count = 0
  const textOf = (item: unknown) => {
    checkJson({ ...sent, at: `${at}[${count++}]`, value: item })
    return `${start}${encode(item)}\n`
  }
  if (Array.isArray(value)) return readableOf(chunksOf(value, textOf))
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
    return readableOf(textsOf(value as AsyncIterable<unknown>, textOf))
  throw new TypeError(`${at} must be an array, or iterate over its items asynchronously`)
}

const encoder = new TextEncoder()

async function* chunksOf(
  items: readonly unknown[],
  textOf: (item: unknown) => string,
): AsyncGenerator<Uint8Array> {
  let chunk = ''
  for (const item of items) {
    chunk += textOf(item)
    if (chunk.length < chunkLength) continue
    yield encoder.encode(chunk)
    chunk = ''
  }
  if (chunk !== '') yield encoder.encode(chunk)
}

async function* textsOf(
  items: AsyncIterable<unknown>,
  textOf: (item: unknown) => string,
): AsyncGenerator<Uint8Array> {
  for await (const item of items) yield encoder.encode(textOf(item))
}
