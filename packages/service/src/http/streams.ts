// The streams in flight. No time limit of a request ends a response whose body is a stream: its source does,
// and whatever is here. Its client leaves, also by closing its half; takes no byte for as long as
// `connectionTimeout`; or the server closes. Without it, a client that stopped reading would keep its
// stream, and a shutdown, for good.

import type { Readable } from 'node:stream'
import { cutResponse, EndlessBody } from 'contract-engine'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { discardBehind } from './pipelining.js'

type Stream = { readonly reply: FastifyReply; readonly body: EndlessBody }

export class Streams {
  readonly #endless = new Set<Stream>()
  #isClosing = false

  /** @param shutdownMs the time within which all streams end when the server closes */
  constructor(readonly shutdownMs: number) {}

  /**
   * Ends or cuts streams of items when the server closes. Streams of bytes have an end, so the server waits
   * for them.
   */
  add(app: FastifyInstance): void {
    app.addHook('preClose', async () => {
      this.#isClosing = true
      for (const stream of this.#endless) this.#close(stream)
    })
  }

  /** Notes that a response begins whose body is a stream. */
  begin(reply: FastifyReply, body: Readable): void {
    const { raw } = reply
    raw.on('timeout', () => endStalled(reply, body))
    if (!(body instanceof EndlessBody)) return
    const stream = { reply, body }
    const stopListening = leaveWithHalf(reply)
    discardBehind(raw)
    this.#endless.add(stream)
    body.once('close', () => {
      this.#endless.delete(stream)
      stopListening()
    })
    if (this.#isClosing) this.#close(stream)
  }

  // Clients of events reconnect elsewhere. Other streams may finish: they get half of the time.
  #close({ reply, body }: Stream): void {
    if (body.isResumed) this.#finish(reply, body)
    else setTimeoutOf(reply, () => cutAtClose(reply), this.shutdownMs / 2)
  }

  // Finishes the body before it aborts the signal: an error that the handler throws because of the abort then
  // comes after the end, and is no failure. The timer ends a client that does not read the end.
  #finish(reply: FastifyReply, body: EndlessBody): void {
    const { request } = reply
    request.reason = 'server closes'
    body.finish()
    request.lifetime?.abort()
    setTimeoutOf(reply, () => reply.raw.destroy(), this.shutdownMs / 4)
  }
}

function cutAtClose({ request }: FastifyReply): void {
  request.reason = 'server closes'
  cutResponse(request)
}

function setTimeoutOf({ raw }: FastifyReply, run: () => void, ms: number): void {
  const timer = setTimeout(run, ms).unref()
  raw.once('close', () => clearTimeout(timer))
}

// Called when Node has seen no byte in either direction for a while. A feed may have nothing to send for
// longer.
function endStalled({ request, raw }: FastifyReply, body: Readable): void {
  const isRead = raw.writableLength === 0
  if (isRead && body instanceof EndlessBody) return
  request.reason = isRead ? 'no bytes to send' : 'not read by the client'
  raw.destroy()
}

// Ends the stream when the client closes its half of the connection. A client that has gone looks the same as
// one that only closes its half. Other responses go on; a feed would notice only after two writes, and no
// client half closes a feed that it reads.
function leaveWithHalf({ request, raw }: FastifyReply): () => void {
  const { socket } = request.raw
  const leave = () => raw.destroy()
  socket.once('end', leave)
  if (socket.readableEnded) leave()
  return () => socket.off('end', leave)
}
