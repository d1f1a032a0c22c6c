// The texts of the items of a body, found in its bytes while they arrive: lines, or records of a JSON text
// sequence (RFC 7464). What is kept of one that a chunk ends in is bounded.

import type { Framing } from '../../document/framing.js'
import { type BodyLimits, GrowingBuffer } from './body.js'

const nothing = Buffer.alloc(0)
const [lineFeed, recordSeparator] = [0x0a, 0x1e]

/** A text that is longer than an item may be. */
export const tooLong = Symbol('too long')

/** Divides bytes into texts. */
export class ItemTexts {
  /** Of the last text, from 1. Of records, what comes before the first separator has 0. */
  number: number
  #chunk: Buffer = nothing
  #at = 0
  #isTooLong = false
  #hasEnded = false
  /** The beginning of the next text. */
  readonly #rest: GrowingBuffer
  readonly #separator: number

  constructor(
    framing: Framing,
    readonly limits: BodyLimits,
  ) {
    this.#separator = framing === 'sequence' ? recordSeparator : lineFeed
    this.number = framing === 'sequence' ? -1 : 0
    this.#rest = new GrowingBuffer(limits)
  }

  /** Adds bytes, once `next` has returned undefined. */
  add(chunk: Buffer): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /** No bytes come any more. */
  end(): void {
    this.#hasEnded = true
  }

  /**
   * The next text, without what separates it from others; undefined if its end has not arrived. Its bytes are those of
   * another one after the next call.
   * @throws {RequestError} if there is no room for what is kept of it
   */
  next(): Buffer | typeof tooLong | undefined {
    const end = this.#chunk.indexOf(this.#separator, this.#at)
    const piece = this.#chunk.subarray(this.#at, end === -1 ? undefined : end)
    if (end === -1) this.add(nothing)
    else this.#at = end + 1
    if (end === -1 && !this.#hasEnded) this.#keep(piece)
    if (end === -1 && !(this.#hasEnded && this.#isBegun)) return undefined
    this.number++
    return this.#whole(piece)
  }

  get #isBegun(): boolean {
    return this.#isTooLong || this.#rest.bytes.length > 0
  }

  #whole(piece: Buffer): Buffer | typeof tooLong {
    if (this.#isBegun) this.#keep(piece)
    const isTooLong = this.#isTooLong || piece.length > this.limits.max
    const bytes = this.#rest.bytes
    this.#rest.clear()
    this.#isTooLong = false
    if (isTooLong) return tooLong
    return bytes.length > 0 ? bytes : piece
  }

  #keep(piece: Buffer): void {
    if (this.#isTooLong) return
    const refusal = this.#rest.append(piece)
    if (refusal === undefined) return
    if (refusal.code !== 'body_too_large') throw refusal
    this.#isTooLong = true
    this.#rest.clear()
  }
}
