// Sends responses whose body is a stream: with back-pressure, and never further than its client reads. One
// that fails before its first bytes is an error like any other; later it ends the connection abruptly, so
// that the client sees a cut body.

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
 * A body without an end of its own, such as a feed: the server ends it when it closes. The application has to
 * know those in flight, which would keep it.
 */
export abstract class EndlessBody extends Readable {
  /**
   * Whether its clients expect an end at any time, and come back, as those of events do (WHATWG HTML, section
   * 9.2). To others an end says that this is all: ended before, it must be cut.
   */
  abstract readonly isResumed: boolean
  /**
   * Ends the body behind what it has pushed, as its format ends. No failure of its source counts any more.
   */
  abstract finish(): void
}

/** Whether a handler may return a stream. What is stored for an `Idempotency-Key` is none. */
export function mayStream({ isIdempotent, responses }: Operation): boolean {
  const contents = contentsOf(responses.values())
  return !isIdempotent && contents.some((each) => kindOf(each).streams !== undefined)
}

/** Whether all that a handler may return as a success are streams of items. */
export function onlyStreams(operation: Operation): boolean {
  const contents = successContents(operation)
  return contents.length > 0 && contents.every(isStream)
}

/** Destroys a body once its response is over, whether it was sent or not. */
export function endWithResponse(body: Readable, { raw }: FastifyReply): void {
  body.on('error', () => {}) // an error that nobody listens to ends the process
  if (raw.closed) body.destroy()
  else raw.once('close', () => body.destroy())
}

export interface StreamedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Readable
}

/**
 * Sends a response. Resolves when it has begun, or its request was over before.
 * @param name of the operation, for the log
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

// What it leaves out is not begun, and has a length that nobody knows.
function sendHeadAlone(reply: FastifyReply, { status, headers, body }: StreamedResponse): FastifyReply {
  body.destroy()
  addHead(reply, headers, body)
  return reply.code(status).send(Readable.from([]))
}

function addHead(reply: FastifyReply, headers: StreamedResponse['headers'], body: Readable): void {
  addHeaders(reply, headers)
  // Or nginx collects items until its buffers are full.
  if (body instanceof EndlessBody) reply.header('x-accel-buffering', 'no')
}

// Streams that hold objects, and those whose length is said, may give what cannot be sent. Others refuse it
// themselves.
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

/** Whether the client has gone, or has its response, such as the 503 of one that was late. */
export function isOver({ raw }: FastifyRequest, reply: FastifyReply): boolean {
  return reply.sent || reply.raw.destroyed || raw.socket.destroyed
}

// A feed without items begins without them, so that its client knows that it is connected. Not at once: an
// outage of what its first item is read from can still become a 503.
const beginMs = 50

// Waits until a body has bytes, has ended, or was destroyed because its response is over.
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

// As bytes: with text, Node would send the header section in UTF-8.
function sendHead({ raw }: FastifyReply): void {
  raw.write(Buffer.alloc(0))
}

function cut(request: FastifyRequest, reply: FastifyReply, err: Error, operation: string): void {
  if (isOver(request, reply)) return
  request.log.error({ err, operation }, 'response failed')
  cutResponse(request)
}

/**
 * Ends a response abruptly, so that its client does not take it for whole. By the response, which destroys
 * its socket: a request of `app.inject` has a stand-in for one, which cannot be destroyed.
 */
export function cutResponse(request: FastifyRequest): void {
  if (request.raw.httpVersion === '1.0') reset(request.raw.socket)
  request[responseTo]?.destroy()
}

// Without chunks, a connection that is closed is the end of the body. Node's own `resetAndDestroy` closes its
// half first, in `destroySoon` (checked in 20 and 26).
function reset(socket: Socket): void {
  socket.destroySoon = () => socket.destroy()
  socket.resetAndDestroy()
}
