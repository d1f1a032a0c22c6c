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

// Chunks are copied into a block until the handler reads: kept apart, a chunk of one byte would take about
// 400.
const blockBytes = 65_536
/**
 * The bytes that an upload counts for: its block, the chunk being read, and what its connection has buffered.
 */
export const uploadBytes = 3 * blockBytes

const nothing = Buffer.alloc(0)

export interface UploadLimits extends Lengths {
  /** The limit of the operation, in bytes. */
  readonly max: number
  readonly isRequired: boolean
}

/** A body that streams. */
export class Upload extends Readable implements BodyInHand {
  /** The number of bytes that have arrived. */
  received = 0
  /** How many of its items were read for the handler, blank and invalid ones included: a chunk has many. */
  itemsTaken = 0
  /** The error that refuses the request, whatever the handler does with it. */
  failure: Error | undefined
  /** Adds to an error of the handler where in the body its cause is, if that is known. */
  placed: (error: unknown) => unknown = (error) => error
  /** In a form: the field of the file that ends its fields. */
  file: string | undefined
  readonly #others = new Set<HeldBytes>()
  #block = nothing
  #length = 0
  #hasEnded = false
  /**
   * The time since which the handler has been waiting for the client, if it is, and how long it had waited
   * before.
   */
  #waitsSince: number | undefined
  #waitedMs = 0

  constructor(
    readonly payload: Readable,
    readonly limits: UploadLimits,
    readonly held: HeldBytes,
  ) {
    super({ highWaterMark: 1 }) // one chunk at a time; later chunks wait in the block
    this.on('error', () => {}) // the handler may not read the body at all
    payload.on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
  }

  /** How long the handler has waited for the client, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSince === undefined ? 0 : performance.now() - this.#waitsSince)
  }

  /** True while the handler waits for the client. */
  get isWaiting(): boolean {
    return this.#waitsSince !== undefined
  }

  /** True if all of the body has arrived. */
  get hasArrived(): boolean {
    return this.#hasEnded
  }

  override _read(): void {
    if (this.#length > 0) this.push(this.#takeBlock())
    else if (this.#hasEnded) this.push(null)
    else this.#waitsSince ??= performance.now()
    this.#receive()
  }

  /** Refuses the request: the handler's stream fails, and the client gets this error as the response. */
  fail(error: Error): void {
    this.failure ??= error
    this.destroy(error)
  }

  /** Adds memory that a part of the body holds, to be released with the body. */
  alsoHolds(held: HeldBytes): void {
    this.#others.add(held)
  }

  /** Stops reading, and gives back all memory. */
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
    payload.pause() // the rest need not be parsed: the connection closes after the response
    this.#block = nothing
    this.#endWait()
    done(error)
  }

  // Starts only when the handler reads: the client may wait for `100 Continue`.
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

  // A chunk has at most 64 kB, the size of Node's reads.
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

  /**
   * Fails unless the whole body has arrived. Called when the connection closes, or when the response is sent.
   */
  cut(): void {
    if (!this.#hasEnded) this.fail(Object.assign(new Error('the body was cut'), { statusCode: 400 }))
  }

  // Node may close the request without an `error` event.
  readonly #onClose = (): void => this.cut()

  #endWait(): void {
    if (this.#waitsSince === undefined) return
    this.#waitedMs += performance.now() - this.#waitsSince
    this.#waitsSince = undefined
  }
}

/**
 * Runs the handler of a request whose body streams only once, since a repeated transaction cannot read the
 * body again. If the body is refused, the request is refused, too, whatever the handler returns.
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
 * Wraps a handler of Fastify, to swallow the error of a refused body once the reply is sent: the client sent
 * too slowly, or has left. Fastify would log the error as one of the service.
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

/** Returns the body of a request, if it streams. */
export function uploadOf(request: FastifyRequest): Upload | undefined {
  return request[upload]
}
