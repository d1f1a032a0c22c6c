// Reads bodies. Fastify's own reader keeps every chunk until the last has arrived. Each costs about 375
// bytes of heap beside its own: 300 bodies of 65 kB in chunks of one byte would end a process with a heap of
// 256 MiB.

import type { Readable } from 'node:stream'
import type { RequestError } from '../../document/request-error.js'
import { type BodyMemory, HeldBytes, uncountedBytes } from './body-memory.js'
import { bodyTooLarge } from './errors.js'

const nothing = Buffer.alloc(0)

/** Receives the body, or the reason why there is none. */
export type OnBody = (error: Error | null, body?: Buffer) => void

export interface BodyLimits {
  /** The limit of the operation, in bytes. */
  readonly max: number
  readonly memory: BodyMemory
  /** Called once for a body that counts: the caller that has the request releases the memory. */
  readonly onHeld: (held: HeldBytes) => void
}

/**
 * Reads a body into one buffer, copying each chunk as it arrives.
 * @param length the body's length, if it is known
 */
export function readBody(payload: Readable, length = 0, limits: BodyLimits, onBody: OnBody): void {
  const refusal = refusalOf(length, limits)
  if (refusal !== undefined) {
    onBody(refusal)
    return
  }
  if (payload.readableEnded) {
    onBody(null, nothing)
    return
  }
  const body = new GrowingBuffer(limits)
  const end = (error: Error | null) => {
    payload.off('data', read).off('end', onEnd).off('error', onError)
    onBody(error, body.bytes)
  }
  const read = (chunk: Buffer | string) => {
    // A stream of one of the application's preParsing hooks may emit text.
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

// Refuses a body by its length, before asking for its first byte.
function refusalOf(length: number, { max, memory }: BodyLimits): RequestError | undefined {
  if (length > max) return bodyTooLarge(max)
  return length <= uncountedBytes || memory.hasRoom(length, length) ? undefined : memory.refuse()
}

/** A buffer that grows as bytes are appended, up to a limit and while there is memory for it. */
export class GrowingBuffer {
  #buffer = nothing
  #length = 0
  #held: HeldBytes | undefined

  constructor(readonly limits: BodyLimits) {}

  /** Appends bytes; returns the reason if it cannot. */
  append(chunk: Buffer): RequestError | undefined {
    const length = this.#length + chunk.length
    const { max, memory } = this.limits
    if (length > max) return bodyTooLarge(max)
    if (length > this.#buffer.length && !this.#grow(length)) return memory.refuse()
    this.#length += chunk.copy(this.#buffer, this.#length)
    return undefined
  }

  /** Starts again from nothing. Later bytes overwrite what `bytes` has returned. */
  clear(): void {
    this.#length = 0
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  // Doubles the size, so that each byte is copied twice on average. Most bodies are a single chunk.
  #grow(least: number): boolean {
    const size = Math.min(Math.max(least, 2 * this.#buffer.length), this.limits.max)
    if (size > uncountedBytes && !this.#hold().grow(size)) return false
    const grown = Buffer.allocUnsafe(size)
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
    return true
  }

  #hold(): HeldBytes {
    if (this.#held !== undefined) return this.#held
    this.#held = new HeldBytes(this.limits.memory)
    this.limits.onHeld(this.#held)
    return this.#held
  }
}
