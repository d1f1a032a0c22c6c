// Makes a call whose response is a stream of items: writes its request, and reads its items.

import type { StreamOptions } from './call.js'
import { exchange } from './exchange.js'
import type { SentItem } from './framing.js'
import { headOf } from './incoming.js'
import { decode } from './json.js'
import { readCallOptions, type Settings } from './options.js'
import { isOneTime, type Outgoing } from './outgoing.js'
import { type CallRequest, writeRequest } from './request.js'
import { streamIn, unexpected } from './response-body.js'
import { isRepeatable } from './retry.js'
import { type Connection, type ItemStream, streamOf } from './stream.js'
import type { CalledOperation, ClientStream } from './table.js'

/** The request of a call whose response is a stream. */
export interface StreamRequest extends CallRequest, StreamOptions {}

/** How many intervals of keep-alives a silence may last: three may be lost, or late. */
export const keepAlivesMax = 4
const lastEventIdHeader = 'Last-Event-ID'

/**
 * True if the response of a call is a stream of items: it has no other kind of response, or the call wants a
 * stream.
 */
export function isStreamCall(
  { streams = {}, isStream }: CalledOperation,
  { accept }: CallRequest = {},
): boolean {
  if (accept === undefined) return isStream === true
  return Object.values(streams).some((types) => Object.hasOwn(types, accept))
}

/**
 * Calls an operation whose response is a stream.
 * @throws {TypeError} if the request cannot be written
 */
export function streamItems(
  operation: CalledOperation,
  sent: StreamRequest = {},
  settings: Settings,
): ItemStream<unknown> {
  const { path, query, header, cookie, body, position, accept, reconnect = true, ...options } = sent
  const own = readCallOptions(settings, options)
  const request = writeRequest(operation, { ...sent, accept: accept ?? typesOf(operation) }, own)
  return streamOf({
    operation,
    signal: request.signal,
    clock: own.clock,
    lastEventId: request.headers.get(lastEventIdHeader) ?? '',
    // Only a request that is safe to repeat, and can be read again, is sent again.
    reconnects: reconnect && isRepeatable(operation) && !isOneTime(request),
    connect: (lastEventId, signal) => connect(operation, after(lastEventId, { ...request, signal }), own),
    read: (item, response) => readItem(operation, item, response),
    onLost: (error, waitMs, attempt) => own.onRetry({ operation: operation.id, attempt, waitMs, error }),
  })
}

function typesOf({ streams = {} }: CalledOperation): string {
  return [...new Set(Object.values(streams).flatMap(Object.keys))].join(', ')
}

// Writes the id in UTF-8, as the WHATWG HTML standard says: the header has a character for each byte.
function after(lastEventId: string, request: Outgoing): Outgoing {
  if (lastEventId === (request.headers.get(lastEventIdHeader) ?? '')) return request
  const headers = new Headers(request.headers)
  headers.delete(lastEventIdHeader)
  if (lastEventId === '') return { ...request, headers } // an event has reset the id
  const bytes = Array.from(new TextEncoder().encode(lastEventId), (byte) => String.fromCharCode(byte))
  headers.set(lastEventIdHeader, bytes.join(''))
  return { ...request, headers }
}

async function connect(operation: CalledOperation, request: Outgoing, own: Settings): Promise<Connection> {
  const isStream = (response: Response) => streamIn(operation, response) !== undefined
  const response = await exchange(request, operation, own, isStream)
  const stream = streamIn(operation, response)
  const { framing, keepAliveMs = Number.POSITIVE_INFINITY } = stream ?? {}
  const silenceMaxMs = own.silenceMaxMs ?? keepAliveMs * keepAlivesMax
  // By the WHATWG HTML standard, a 204 ends an event source for good.
  if (framing !== undefined || response.status === 204) return { response, framing, silenceMaxMs }
  const type = response.headers.get('Content-Type') ?? 'no media type'
  throw unexpected(`The response is no stream of items, but of ${type}.`, operation, headOf(response))
}

function readItem(operation: CalledOperation, item: SentItem, response: Response): unknown {
  const stream = streamIn(operation, response) as ClientStream // the connection is open, so it is one
  const { data = '', ...event } = item
  if (stream.framing !== 'sse') return json(operation, stream, data, response)
  const isText = stream.texts?.some(({ events, texts }) => {
    const isNamed = events === undefined || (item.event !== undefined && events.includes(item.event))
    return isNamed && (texts?.includes(data) ?? true)
  })
  return { ...event, data: isText ? data : json(operation, stream, data, response) }
}

function json(
  operation: CalledOperation,
  { numbers }: ClientStream,
  data: string,
  response: Response,
): unknown {
  try {
    return decode(data, numbers, operation.schemas)
  } catch (cause) {
    throw unexpected('An item of the stream is not JSON.', operation, headOf(response), cause)
  }
}
