// Turns a stream of items into the bytes of a body. It takes an item from the handler's iterable when the
// client can receive more, has it written, and sends keep-alives during a silence.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { KeepAlive } from '../../document/framing.js'
import type { Items } from '../../kinds/stream/served.js'
import { itemTurn } from '../request/item-turns.js'
import { EndlessBody } from './response-stream.js'

/** What a stream of items is made of. */
export interface ItemSource {
  /** The operation and status, for messages. */
  readonly place: string
  readonly items: Items
  /** Is written before the first item, or before the end if there is none. */
  readonly start: string
  /**
   * Returns the text of an item.
   * @throws if the contract does not allow the item
   */
  readonly write: (item: unknown, index: number) => string
  readonly keepAlive: KeepAlive
  /** How long a silence may last; undefined for no limit. */
  readonly silenceMs: number | undefined
  /** See `EndlessBody`. */
  readonly isResumed: boolean
  readonly log: FastifyBaseLogger
}

/**
 * The body of a response whose items come from an iterable. The iterable is begun when the body is first
 * read.
 */
export class ItemStream extends EndlessBody {
  readonly isResumed: boolean
  readonly #source: ItemSource
  #iterator: AsyncIterator<unknown> | undefined
  #index = 0
  #isOver = false
  #isWanted = false
  #isReading = false
  #timer: NodeJS.Timeout | undefined
  #sentAt = performance.now()
  /** Since when the stream has been waiting for an item; undefined if it is not waiting. */
  #waitsSince: number | undefined

  constructor(source: ItemSource) {
    super({ highWaterMark: 1 }) // no item is asked for before the last one is sent
    this.#source = source
    this.isResumed = source.isResumed
  }

  override finish(): void {
    if (this.#isOver) return
    if (this.#index === 0 && this.#source.start !== '') this.push(this.#source.start)
    this.push(null)
    this.#release()
  }

  override _read(): void {
    this.#isWanted = true
    if (!this.#isReading) void this.#readWhileWanted()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#release()
    done(error)
  }

  async #readWhileWanted(): Promise<void> {
    this.#isReading = true
    try {
      while (this.#isWanted && !this.#isOver) await this.#readOne()
    } catch (error) {
      if (this.#index > 0) await nextTurn() // at the end of this turn, Node writes the earlier items
      if (!this.#isOver) this.destroy(error as Error)
    }
    this.#isReading = false
  }

  async #readOne(): Promise<void> {
    this.#waitsSince = performance.now()
    const { done, value } = await this.#next()
    this.#waitsSince = undefined
    const turn = itemTurn()
    if (turn !== undefined) await turn
    if (this.#isOver) return
    if (done) return this.finish()
    const text = this.#source.write(value, this.#index)
    this.#send(this.#index === 0 ? this.#source.start + text : text)
    this.#index++
  }

  // An iterator that has ended or failed is forgotten, so that its `return` is not called.
  async #next(): Promise<IteratorResult<unknown>> {
    try {
      this.#iterator ??= this.#begin()
      const result = await this.#iterator.next()
      if (result.done) this.#iterator = undefined
      return result
    } catch (error) {
      this.#iterator = undefined
      throw this.#asError(error)
    }
  }

  #begin(): AsyncIterator<unknown> {
    const { items } = this.#source
    this.#watch()
    return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : inTurn(items)
  }

  #send(text: string): void {
    this.#sentAt = performance.now()
    this.#isWanted = false // `push` may ask for more by itself
    if (this.push(text)) this.#isWanted = true
  }

  // A single timer measures the silence: to set one for each item would cost more than the item.
  #watch(): void {
    const { keepAlive, silenceMs = Number.POSITIVE_INFINITY } = this.#source
    const now = performance.now()
    const silence = this.#waitsSince === undefined ? 0 : now - this.#waitsSince
    if (silence >= silenceMs) {
      if (this.isResumed) this.finish()
      else this.destroy(new Error(`${this.#source.place}: no item for ${silenceMs} ms`))
      return
    }
    if (now - this.#sentAt >= keepAlive.afterMs) this.#keepAlive(now)
    const waitMs = Math.min(keepAlive.afterMs - (now - this.#sentAt), silenceMs - silence)
    if (waitMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.#watch(), Math.max(1, Math.ceil(waitMs)))
  }

  // A client that has unread bytes needs no keep-alive.
  #keepAlive(now: number): void {
    this.#sentAt = now
    if (this.readableLength > 0 || this.#waitsSince === undefined) return
    this.push(this.#source.keepAlive.text)
  }

  // Ends the iterable. An iterable that waits for an item returns only when it has the item, so it should end
  // its wait by the request's signal.
  #release(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    const iterator = this.#iterator
    const { place, log } = this.#source
    const end = async () => iterator?.return?.()
    end().catch((err: unknown) => log.error({ err }, `${place}: the iterable failed when it was ended`))
  }

  // An error of the first item is left as it is: it may be a response of its own, such as a 503.
  #asError(error: unknown): Error {
    if (this.#index === 0 && error instanceof Error) return error
    return new Error(`${this.#source.place}: item ${this.#index} cannot be read`, { cause: error })
  }
}

async function* inTurn(items: Iterable<unknown>): AsyncGenerator<unknown> {
  yield* items
}
