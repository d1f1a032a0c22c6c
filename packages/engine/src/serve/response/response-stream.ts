// Sends responses whose body is a stream, at the pace of the client. A stream that fails before its first
// bytes is an error like any other. A later failure ends the connection abruptly, so that the client notices
// the cut.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../../document/contract.js'
import { contentsOf, successContents } from '../../document/responses.js'
import { isStream, kindOf } from '../../kinds/index.js'
import { responseTo } from '../request/request-parts.js'
import { checkedBytes } from './checked-bytes.js'
import { addHeaders } from './list-headers.js'

/**
 * A body that does not end by itself, such as a feed: the server ends it when it closes. The application has
 * to know those in flight, which would otherwise delay its close.
 */
export abstract class EndlessBody extends Readable {
  /**
   * True if clients expect an end at any time and reconnect, as clients of events do (WHATWG HTML, section
   * 9.2). To other clients, an end means that the body is complete, so a body that is ended early must be
   * cut.
   */
  abstract readonly isResumed: boolean
  /** Ends the body after what it has pushed, as its format ends. Later failures of its source are ignored. */
  abstract finish(): void
}

/**
 * True if a handler may return a stream. A response that is stored for an `Idempotency-Key` cannot be one.
 */
export function mayStream({ isIdempotent, responses }: Operation): boolean {
  const contents = contentsOf(responses.values())
  return !isIdempotent && contents.some((each) => kindOf(each).streams !== undefined)
}

/** True if every success that a handler may return is a stream of items. */
export function onlyStreams(operation: Operation): boolean {
  const contents = successContents(operation)
  return contents.length > 0 && contents.every(isStream)
}

/** Destroys a body when its response is over, whether the body was sent or not. */
export function endWithResponse(body: Readable, { raw }: FastifyReply): void {
  body.on('error', () => {}) // an `error` event without a listener would end the process
  if (raw.closed) body.destroy()
  else raw.once('close', () => body.destroy())
}

export interface StreamedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Readable
}

/**
 * Sends a response. Resolves when the response has begun, or if its request was already over.
 * @param name the operation, for the log
 * @throws the error of a body that fails before its first bytes
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: StreamedResponse,
  name: string,
): Promise<FastifyReply | undefined> {
  if (isOver(request, reply)) return undefined
  if (request.method === 'HEAD') return sendHeadAlone(reply, { status, headers, body })
  const bytes = bytesOf(body, headers, `${name} ${status}`)
  if (bytes !== body) endWithResponse(bytes, reply)
  await firstBytes(bytes)
  if (isOver(request, reply)) return undefined
  if (bytes.destroyed) throw bytes.errored ?? destroyedEarly()
  addHead(reply, headers, bytes)
  bytes.on('error', (err) => cut(request, reply, err, name))
  if (bytes.readableLength === 0) reply.raw.once('pipe', () => sendHead(reply))
  return reply.code(status).send(bytes)
}

// The body of a HEAD response is never begun, so its length is unknown: an empty stream takes its place.
function sendHeadAlone(reply: FastifyReply, { status, headers, body }: StreamedResponse): FastifyReply {
  body.destroy()
  addHead(reply, headers, body)
  return reply.code(status).send(Readable.from([]))
}

function addHead(reply: FastifyReply, headers: StreamedResponse['headers'], body: Readable): void {
  addHeaders(reply, headers)
  // Without this header, nginx collects items until its buffers are full.
  if (body instanceof EndlessBody) reply.header('x-accel-buffering', 'no')
}

// A stream of objects, and one with a Content-Length, may emit what cannot be sent, so it is checked. Other
// streams refuse that themselves.
function bytesOf(body: Readable, headers: StreamedResponse['headers'], place: string): Readable {
  if (body.errored !== null) throw body.errored
  if (body.destroyed) throw destroyedEarly()
  const length = headers['content-length']
  if (body instanceof EndlessBody || (!body.readableObjectMode && length === undefined)) return body
  return checkedBytes(body, length === undefined ? undefined : Number(length), place)
}

function destroyedEarly(): Error {
  return new Error('the body was destroyed before it was sent')
}

/** True if the client has left, or has its response, such as the 503 of a late one. */
export function isOver({ raw }: FastifyRequest, reply: FastifyReply): boolean {
  return reply.sent || reply.raw.destroyed || raw.socket.destroyed
}

// After this time, a feed without items begins, so that its client knows that it is connected. It does not
// begin at once: if the source of its first item is out, the response can still become a 503.
const beginMs = 50

// Resolves when a body has bytes, has ended, or was destroyed because its response is over.
async function firstBytes(body: Readable): Promise<void> {
  const waits = new AbortController()
  const { signal } = waits
  const first: Promise<unknown>[] = [once(body, 'readable', { signal }), once(body, 'close', { signal })]
  if (body instanceof EndlessBody) first.push(delay(beginMs, undefined, { signal }))
  try {
    await Promise.race(first)
  } finally {
    waits.abort()
  }
}

// Writes bytes: with text, Node would send the header section in UTF-8.
function sendHead({ raw }: FastifyReply): void {
  raw.write(Buffer.alloc(0))
}

function cut(request: FastifyRequest, reply: FastifyReply, err: Error, operation: string): void {
  if (isOver(request, reply)) return
  request.log.error({ err, operation }, 'response failed')
  cutResponse(request)
}

/**
 * Ends a response abruptly, so that its client does not take it for complete. It destroys the response, which
 * destroys the socket: the stand-in for a socket that `app.inject` uses cannot be destroyed.
 */
export function cutResponse(request: FastifyRequest): void {
  if (request.raw.httpVersion === '1.0') reset(request.raw.socket)
  request[responseTo]?.destroy()
}

// HTTP/1.0 has no chunks: there, an ordinary close marks the end of the body. Node's own `resetAndDestroy`
// first closes its half, in `destroySoon` (checked in 20 and 26).
function reset(socket: Socket): void {
  socket.destroySoon = () => socket.destroy()
  socket.resetAndDestroy()
}
