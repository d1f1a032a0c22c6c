// The texts of the items of a body, found in its bytes while they arrive: lines, or records of a JSON text
// sequence (RFC 7464). What is kept of one that a chunk ends in is bounded.

import type { Framing } from '../../document/framing.js'
import { type BodyLimits, GrowingBuffer } from './body.js'

const nothing = Buffer.alloc(0)
const [lineFeed, carriageReturn, recordSeparator] = [0x0a, 0x0d, 0x1e]

/** A text that is longer than an item may be. */
export const tooLong = Symbol('too long')

/** Divides bytes into texts. */
export class ItemTexts {
  /** Of the last text, from 1. Of records, what comes before the first separator has 0. */
  number: number
  #chunk: Buffer = nothing
  #at = 0
  /** Whether the rest of a text is left out that was too long. */
  #isSkipping = false
  #hasEnded = false
  /** The beginning of the next text. */
  readonly #rest: GrowingBuffer
  readonly #separator: number
  /** What may stand before the separator, and does not count. */
  readonly #end: number

  constructor(
    framing: Framing,
    readonly limits: BodyLimits,
  ) {
    this.#separator = framing === 'sequence' ? recordSeparator : lineFeed
    this.#end = framing === 'sequence' ? lineFeed : carriageReturn
    this.number = framing === 'sequence' ? -1 : 0
    this.#rest = new GrowingBuffer({ ...limits, max: limits.max + 1 })
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
   * The next text, without what separates it from others; undefined if its end has not arrived. One that is
   * too long is told as soon as it is. The bytes are those of another text after the next call.
   * @throws {RequestError} if there is no room for what is kept of it
   */
  next(): Buffer | typeof tooLong | undefined {
    const end = this.#chunk.indexOf(this.#separator, this.#at)
    const piece = this.#chunk.subarray(this.#at, end === -1 ? undefined : end)
    if (end === -1) this.add(nothing)
    else this.#at = end + 1
    if (this.#isSkipping) return this.#skip(end !== -1)
    if (end === -1) return this.#hasEnded ? this.#last() : this.#begin(piece)
    this.number++
    return this.#whole(piece)
  }

  #skip(isOver: boolean): Buffer | typeof tooLong | undefined {
    if (!isOver) return undefined
    this.#isSkipping = false
    return this.next()
  }

  #last(): Buffer | typeof tooLong | undefined {
    if (this.#rest.bytes.length === 0) return undefined
    this.number++
    return this.#taken()
  }

  #begin(piece: Buffer): typeof tooLong | undefined {
    if (this.#keep(piece) && this.#fits(this.#rest.bytes)) return undefined
    this.#rest.clear()
    this.#isSkipping = true
    this.number++
    return tooLong
  }

  #whole(piece: Buffer): Buffer | typeof tooLong {
    if (this.#rest.bytes.length === 0) return this.#bounded(piece)
    return this.#keep(piece) ? this.#taken() : tooLong
  }

  #taken(): Buffer | typeof tooLong {
    const { bytes } = this.#rest
    this.#rest.clear()
    return this.#bounded(bytes)
  }

  #bounded(text: Buffer): Buffer | typeof tooLong {
    return this.#fits(text) ? text : tooLong
  }

  #fits(text: Buffer): boolean {
    const length = text.at(-1) === this.#end ? text.length - 1 : text.length
    return length <= this.limits.max
  }

  // Returns false, and keeps nothing, if it is too long.
  #keep(piece: Buffer): boolean {
    const refusal = this.#rest.append(piece)
    if (refusal === undefined) return true
    if (refusal.code !== 'body_too_large') throw refusal
    this.#rest.clear()
    return false
  }
}
