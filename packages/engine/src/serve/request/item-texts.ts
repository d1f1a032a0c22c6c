// Finds the texts of the items of a body in its bytes while they arrive: lines, or records of a JSON text
// sequence (RFC 7464). If a chunk ends within an item, a bounded part of the item is kept.

import type { Framing } from '../../document/framing.js'
import { type BodyLimits, GrowingBuffer } from './body.js'

const nothing = Buffer.alloc(0)
const [lineFeed, carriageReturn, recordSeparator] = [0x0a, 0x0d, 0x1e]

/** Stands for a text that is longer than an item may be. */
export const tooLong = Symbol('too long')

/** Divides bytes into texts. */
export class ItemTexts {
  /** The number of the last text, from 1. Of records, any text before the first separator has 0. */
  number: number
  #chunk: Buffer = nothing
  #at = 0
  /** True while the rest of a too long text is skipped. */
  #isSkipping = false
  #hasEnded = false
  /** The beginning of the next text. */
  readonly #rest: GrowingBuffer
  readonly #separator: number
  /** The byte that may end a text, before the separator, and is not counted in its length. */
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

  /** Adds bytes. Call it only after `next` has returned undefined. */
  add(chunk: Buffer): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /** Says that no more bytes will come. */
  end(): void {
    this.#hasEnded = true
  }

  /**
   * Returns the next text, without its separator; undefined if the end of the text has not arrived. It
   * returns `tooLong` as soon as a text is too long. The next call may overwrite the returned bytes.
   * @throws {RequestError} if there is no memory for the part to keep
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

  // Returns false, and keeps nothing, if the text is too long.
  #keep(piece: Buffer): boolean {
    const refusal = this.#rest.append(piece)
    if (refusal === undefined) return true
    if (refusal.code !== 'body_too_large') throw refusal
    this.#rest.clear()
    return false
  }
}
