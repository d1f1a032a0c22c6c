// Reads bodies. Fastify's own reader keeps every chunk until the last has arrived. Each costs about 375 bytes
// of heap beside its own, so a body in chunks of one byte would take that many times its size.

import type { Readable } from 'node:stream'
import { bodyTooLarge, type RequestError } from '../errors.js'
import { type BodyMemory, HeldBytes, uncountedBytes } from './body-memory.js'

const nothing = Buffer.alloc(0)

/** Receives the body, and what it holds if that is counted; or why there is none. */
export type OnBody = (error: Error | null, body?: Buffer, held?: HeldBytes) => void

export interface BodyLimits {
  /** That of the operation. */
  readonly max: number
  readonly memory: BodyMemory
}

/**
 * Reads a body into one buffer, copying each chunk as it arrives.
 * @param length its Content-Length, if known
 */
export function readBody(
  payload: Readable,
  length: string | undefined,
  { max, memory }: BodyLimits,
  onBody: OnBody,
): void {
  const refusal = refusalOf(Number(length ?? 0), max, memory)
  if (refusal !== undefined) {
    onBody(refusal)
    return
  }
  if (payload.readableEnded) {
    onBody(null, nothing)
    return
  }
  const body = new GrowingBuffer(max, memory)
  const end = (error: Error | null) => {
    payload.off('data', read).off('end', onEnd).off('error', onError)
    if (error !== null) body.held?.release()
    onBody(error, body.bytes, body.held)
  }
  const read = (chunk: Buffer | string) => {
    // A stream of the application's preParsing hooks may emit text.
    const refusal = body.append(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    if (refusal === undefined) return
    payload.pause() // the rest need not be parsed
    end(refusal)
  }
  const onEnd = () => end(null)
  const onError = (error: Error & { statusCode?: number }) => {
    error.statusCode ??= 400
    end(error)
  }
  payload.on('data', read).on('end', onEnd).on('error', onError)
}

// Before its first byte is asked for.
function refusalOf(length: number, max: number, memory: BodyMemory): RequestError | undefined {
  if (length > max) return bodyTooLarge(max)
  return length <= uncountedBytes || memory.hasRoom(length, length) ? undefined : memory.refusal
}

/** Bytes that are appended, up to a limit, and as far as there is room for them. */
export class GrowingBuffer {
  #buffer = nothing
  #length = 0
  /** Undefined for a few bytes. */
  held: HeldBytes | undefined

  constructor(
    readonly max: number,
    readonly memory: BodyMemory,
  ) {}

  /** Returns why the bytes cannot be appended, if they cannot. */
  append(chunk: Buffer): RequestError | undefined {
    const length = this.#length + chunk.length
    if (length > this.max) return bodyTooLarge(this.max)
    if (length > this.#buffer.length && !this.#grow(length)) return this.memory.refusal
    this.#length += chunk.copy(this.#buffer, this.#length)
    return undefined
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  // To double the size, so that each byte is copied twice on average. Most bodies are one chunk.
  #grow(least: number): boolean {
    const size = Math.min(Math.max(least, 2 * this.#buffer.length), this.max)
    if (size > uncountedBytes) {
      this.held ??= new HeldBytes(this.memory)
      if (!this.held.grow(size)) return false
    }
    const grown = Buffer.allocUnsafe(size)
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
    return true
  }
}
