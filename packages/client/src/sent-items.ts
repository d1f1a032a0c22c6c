// A request body that is a stream of items: each is written when it is asked for, so that no more is held
// than a chunk.

import { encode } from './json.js'
import { readableOf } from './readable.js'
import { checkJson, type Sent } from './sendable.js'

// An array is written in chunks of this length; what is iterated over, item by item, since the next one may
// take long.
const chunkLength = 65_536
const recordSeparator = '\u001e'

/**
 * The bytes of a stream of items.
 * @param framing lines of JSON, or JSON text sequences (RFC 7464)
 * @throws {TypeError} if it does not iterate; of an item that cannot be sent as it is, the stream fails with
 * one
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
