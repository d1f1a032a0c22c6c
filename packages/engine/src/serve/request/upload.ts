// A request body that reaches its handler while it arrives: never more of it is in memory than two of the
// blocks below, whatever the size of its chunks and however slowly the handler reads. Buffered, 8 bodies of
// 100 MB would take 1.9 GB.

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Lengths } from '../../document/contract.js'
import type { HeldBytes } from './body-memory.js'
import { bodyTooLarge } from './errors.js'
import { type BodyInHand, upload } from './request-parts.js'
import { invalidBody } from './violations.js'

declare module 'fastify' {
  interface FastifyRequest {
    [upload]: Upload | undefined
  }
}

// Chunks are copied into a block until the handler reads: of one byte, each would take about 400 of memory.
const blockBytes = 65_536
/** What an upload is counted for: its block, the chunk that is read, and what its connection has buffered. */
export const uploadBytes = 3 * blockBytes

const nothing = Buffer.alloc(0)

export interface UploadLimits extends Lengths {
  /** That of the operation. */
  readonly max: number
  readonly isRequired: boolean
}

/** A body that streams. */
export class Upload extends Readable implements BodyInHand {
  /** The bytes so far. */
  received = 0
  /** Its items that were read for its handler, blank and invalid ones too: a chunk has many. */
  itemsTaken = 0
  /** Why the request is refused, whatever its handler makes of it. */
  failure: Error | undefined
  /** The error of a handler, with what is known of where in the body it is. */
  placed: (error: unknown) => unknown = (error) => error
  /** Of a form: the file that its fields have ended at. */
  file: string | undefined
  readonly #others = new Set<HeldBytes>()
  #block = nothing
  #length = 0
  #hasEnded = false
  /** Since when the handler waits for the client, and how long it has waited before. */
  #waitsSince: number | undefined
  #waitedMs = 0

  constructor(
    readonly payload: Readable,
    readonly limits: UploadLimits,
    readonly held: HeldBytes,
  ) {
    super({ highWaterMark: 1 }) // a chunk at a time; what follows it waits in the block
    this.on('error', () => {}) // a handler may not read the body at all
    payload.on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
  }

  /** How long the handler has waited for the client, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSince === undefined ? 0 : performance.now() - this.#waitsSince)
  }

  /** Whether the handler waits for the client. */
  get isWaiting(): boolean {
    return this.#waitsSince !== undefined
  }

  /** Whether all of it has arrived. */
  get hasArrived(): boolean {
    return this.#hasEnded
  }

  override _read(): void {
    if (this.#length > 0) this.push(this.#takeBlock())
    else if (this.#hasEnded) this.push(null)
    else this.#waitsSince ??= performance.now()
    this.#receive()
  }

  /** Refuses the request: the handler's stream fails, and its response is this error. */
  fail(error: Error): void {
    this.failure ??= error
    this.destroy(error)
  }

  /** Adds what is held for a part of it in memory. */
  alsoHolds(held: HeldBytes): void {
    this.#others.add(held)
  }

  /** Reads no more, and gives back what it holds. */
  release(): void {
    this.destroy()
    for (const each of [this.held, ...this.#others]) each.release()
  }

  #outcome: Promise<unknown> | undefined

  /** See `receiving`. */
  during<Response>(respond: () => Promise<Response>): Promise<Response> {
    this.#outcome ??= this.#unlessRefused(respond)
    return this.#outcome as Promise<Response> // of the same request
  }

  async #unlessRefused<Response>(respond: () => Promise<Response>): Promise<Response> {
    try {
      const response = await respond()
      if (this.failure === undefined) return response
    } catch (error) {
      throw this.failure ?? error
    }
    throw this.failure
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { payload } = this
    payload.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError)
    payload.off('close', this.#onClose)
    payload.pause() // what comes need not be parsed: the connection closes behind the response
    this.#block = nothing
    this.#endWait()
    done(error)
  }

  // Not before it is read: the client may wait for `100 Continue`.
  #receive(): void {
    if (this.#hasEnded || this.destroyed) return
    if (this.payload.listenerCount('data') === 0) this.payload.on('data', this.#onData)
    this.payload.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    const { max, maxLength } = this.limits
    this.received += chunk.length
    if (this.received > max) this.fail(bodyTooLarge(max))
    else if (this.received > maxLength) this.fail(invalidBody([], `must have at most ${maxLength} bytes`))
    else if (this.#waitsSince === undefined) this.#keep(chunk)
    else {
      this.#endWait()
      this.push(chunk)
    }
  }

  #keep(chunk: Buffer): void {
    if (this.#length + chunk.length > this.#block.length) this.#grow(this.#length + chunk.length)
    this.#length += chunk.copy(this.#block, this.#length)
    if (this.#length >= blockBytes / 2) this.payload.pause()
  }

  // A chunk has at most 64 kB, what Node reads at once.
  #grow(least: number): void {
    const grown = Buffer.allocUnsafe(Math.max(least, Math.min(2 * this.#block.length, blockBytes)))
    this.#block.copy(grown, 0, 0, this.#length)
    this.#block = grown
  }

  #takeBlock(): Buffer {
    const bytes = this.#block.subarray(0, this.#length)
    this.#block = nothing
    this.#length = 0
    return bytes
  }

  readonly #onEnd = (): void => {
    const { minLength, isRequired } = this.limits
    if (this.received === 0 && isRequired) this.fail(invalidBody([], 'is required'))
    else if (this.received < minLength) this.fail(invalidBody([], `must have at least ${minLength} bytes`))
    this.#hasEnded = true
    this.emit('arrived')
    if (this.#waitsSince !== undefined) this.push(null)
    this.#endWait()
  }

  readonly #onError = (error: Error & { statusCode?: number }): void => {
    error.statusCode ??= 400
    this.fail(error)
  }

  /** Fails unless all has arrived: the connection has closed, or the request has its response. */
  cut(): void {
    if (!this.#hasEnded) this.fail(Object.assign(new Error('the body was cut'), { statusCode: 400 }))
  }

  // It may do so without an error.
  readonly #onClose = (): void => this.cut()

  #endWait(): void {
    if (this.#waitsSince === undefined) return
    this.#waitedMs += performance.now() - this.#waitsSince
    this.#waitsSince = undefined
  }
}

/**
 * Runs the handler of a request whose body streams, once: a body cannot be read again by a transaction that
 * is repeated. If the body is refused, so is the request, whatever the handler makes of it.
 */
export function receiving<Args extends readonly unknown[], Response>(
  respond: (request: FastifyRequest, ...others: Args) => Promise<Response>,
): (request: FastifyRequest, ...others: Args) => Promise<Response> {
  return (request, ...others) => {
    const body = request[upload]
    return body === undefined ? respond(request, ...others) : body.during(() => respond(request, ...others))
  }
}

/**
 * A handler of Fastify whose failure is no news where its body was refused: where the client sent too
 * slowly, or left, the response is sent, or nobody waits for one. Fastify would log it as an error of the
 * service.
 */
export function untilRefused(
  handle: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  return async (request, reply) => {
    try {
      return await handle(request, reply)
    } catch (error) {
      if (reply.sent && error === request[upload]?.failure) return undefined
      throw error
    }
  }
}

/** The body of a request, if it streams. */
export function uploadOf(request: FastifyRequest): Upload | undefined {
  return request[upload]
}
