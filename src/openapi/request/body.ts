// Reads bodies. Fastify's own reader keeps every chunk until the last has arrived. Each costs about 375 bytes
// of heap beside its own, so a body in chunks of one byte would take that many times its size.

import type { Readable } from 'node:stream'
import { bodyTooLarge } from '../errors.js'

const nothing = Buffer.alloc(0)

/** Receives the body, or why there is none. */
export type OnBody = (error: Error | null, body?: Buffer) => void

/**
 * Reads a body into one buffer, copying each chunk as it arrives.
 * @param length its Content-Length, if known
 * @param max the limit of its operation
 */
export function readBody(payload: Readable, length: string | undefined, max: number, onBody: OnBody): void {
  if (Number(length) > max) {
    onBody(bodyTooLarge(max))
    return
  }
  if (payload.readableEnded) {
    onBody(null, nothing)
    return
  }
  const body = new GrowingBuffer(max)
  const end = (error: Error | null) => {
    payload.off('data', read).off('end', onEnd).off('error', onError)
    onBody(error, body.bytes)
  }
  const read = (chunk: Buffer | string) => {
    // A stream of the application's preParsing hooks may emit text.
    if (body.append(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) return
    payload.pause() // the rest need not be parsed
    end(bodyTooLarge(max))
  }
  const onEnd = () => end(null)
  const onError = (error: Error & { statusCode?: number }) => {
    error.statusCode ??= 400
    end(error)
  }
  payload.on('data', read).on('end', onEnd).on('error', onError)
}

/** Bytes that are appended, up to a limit. */
class GrowingBuffer {
  #buffer = nothing
  #length = 0

  constructor(readonly max: number) {}

  /** Returns false, and appends nothing, if the bytes would exceed the limit. */
  append(chunk: Buffer): boolean {
    const length = this.#length + chunk.length
    if (length > this.max) return false
    if (length > this.#buffer.length) this.#grow(length)
    this.#length += chunk.copy(this.#buffer, this.#length)
    return true
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  // To double the size, so that each byte is copied twice on average. Most bodies are one chunk.
  #grow(least: number): void {
    const grown = Buffer.allocUnsafe(Math.min(Math.max(least, 2 * this.#buffer.length), this.max))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
