// The items of a request body, while they arrive: each is parsed and validated, and handed over before the
// next one is looked for. So no more is held of a body than an item takes, and a client sends no faster than
// its handler reads. Without it, each team would divide, parse and count the lines of its imports.

import type { FastifyRequest } from 'fastify'
import type { Content, Operation } from '../../document/contract.js'
import type { Functions } from '../../document/functions.js'
import { RequestError } from '../../document/request-error.js'
import { isStream } from '../../kinds/index.js'
import { errorsMax as keptMax } from '../../runtime/explain.js'
import { shownMax } from '../../runtime/messages.js'
import type { HeldBytes } from './body-memory.js'
import { InvalidItem, type ItemError, ItemReader, type ItemRules, inBody, type Place } from './item-reader.js'
import { ItemTexts } from './item-texts.js'
import { itemTurn } from './item-turns.js'
import { declaredAs } from './request-parts.js'
import { Upload } from './upload.js'
import { invalid, type WordedViolation } from './violations.js'

/** Decides about the items that are read. */
interface Judgement {
  onValid(): void
  onInvalid(item: InvalidItem): void
}

const atFirst: Judgement = {
  onValid: () => {},
  onInvalid(item) {
    throw item.error()
  },
}

// The place is kept on the item itself, under a symbol, which is no field's name. A map of all places would
// outlive the items and cost several times as much. A copy of an item has its place, too.
const placeInBody: unique symbol = Symbol('openapi.placeInBody')

interface Placed {
  [placeInBody]?: Place
}

/** The items of a body, which can be iterated once. */
export class ArrivingItems implements AsyncIterable<unknown> {
  readonly #reader: ItemReader
  readonly #texts: ItemTexts
  #chunks: AsyncIterator<Buffer> | undefined
  #isBegun = false
  #hasEnded = false

  constructor(
    readonly upload: Upload,
    rules: ItemRules,
  ) {
    const { memory } = upload.held
    const onHeld = (held: HeldBytes) => upload.alsoHolds(held)
    this.#reader = new ItemReader(rules)
    this.#texts = new ItemTexts(rules.framing, { max: rules.max, memory, onHeld })
    upload.placed = (error) => this.#placed(error)
  }

  /**
   * Iterates over the items. The first invalid item fails the iteration and the request, even if the handler
   * catches the error.
   */
  [Symbol.asyncIterator](): AsyncGenerator<unknown> {
    return this.#read(atFirst)
  }

  /**
   * Iterates over the valid items and counts the others: the handler decides about the request.
   * @param errorsMax how many errors are kept
   */
  counted({ errorsMax = shownMax }: { readonly errorsMax?: number } = {}): CountedItems {
    return new CountedItems((judgement) => this.#read(judgement), Math.min(errorsMax, keptMax))
  }

  // Any error here fails the request, because items would be lost.
  async *#read({ onValid, onInvalid }: Judgement): AsyncGenerator<unknown> {
    if (this.#isBegun) throw new Error('the items of a body can be read once')
    this.#isBegun = true
    try {
      for (;;) {
        const text = this.#texts.next()
        if (text === undefined) {
          if (await this.#receive()) continue
          return
        }
        this.upload.itemsTaken++
        const turn = itemTurn()
        if (turn !== undefined) await turn
        const item = this.#reader.read(text, this.#texts.number)
        if (item instanceof InvalidItem) onInvalid(item)
        else if (item !== undefined) {
          onValid()
          if (typeof item.value === 'object' && item.value !== null)
            (item.value as Placed)[placeInBody] = item.place
          yield item.value
        }
      }
    } catch (error) {
      this.upload.fail(error as Error)
      throw error
    }
  }

  // Adds the place of an item to an error that was found after validation, such as by a database table.
  #placed(error: unknown): unknown {
    if (!(error instanceof RequestError)) return error
    const { violations: [violation] = [], refused, cause } = error.options
    const place = (refused as Placed | undefined)?.[placeInBody]
    if (place === undefined || violation === undefined) return error
    const { message, options } = invalid([inBody(place, { ...violation, sentence: error.message })])
    return new RequestError(error.code, message, { ...options, cause })
  }

  // Returns false after the last chunk.
  async #receive(): Promise<boolean> {
    if (this.#hasEnded) return false
    this.#chunks ??= this.upload[Symbol.asyncIterator]() as AsyncIterator<Buffer> // `Upload` pushes buffers
    const { done, value } = await this.#chunks.next()
    if (done) {
      this.#hasEnded = true
      this.#texts.end()
    } else this.#texts.add(value)
    return true
  }
}

/** The valid items, and the errors of the others so far. */
class CountedItems implements AsyncIterable<unknown> {
  valid = 0
  invalid = 0
  /** The first errors. */
  readonly errors: ItemError[] = []
  readonly #violations: WordedViolation[] = []
  #areAll = true

  constructor(
    readonly read: (judgement: Judgement) => AsyncGenerator<unknown>,
    readonly errorsMax: number,
  ) {}

  /**
   * The error of a request with invalid items, which tells the first violations; undefined if there are none.
   */
  get error(): RequestError | undefined {
    if (this.invalid === 0) return undefined
    return invalid(this.#violations, this.#areAll)
  }

  [Symbol.asyncIterator](): AsyncGenerator<unknown> {
    return this.read({ onValid: () => void this.valid++, onInvalid: (item) => this.#add(item) })
  }

  #add(item: InvalidItem): void {
    this.invalid++
    const left = this.errorsMax - this.errors.length
    const told = left > 0 ? item.told() : [] // most invalid items are only counted
    if (told.length === 0 || told.length > left) this.#areAll = false
    for (const { error, violation } of told.slice(0, left)) {
      this.errors.push(error)
      this.#violations.push(violation)
    }
  }
}

/**
 * Creates the function that replaces a request's stream by its items; undefined if the operation receives no
 * stream of items.
 */
export function itemsReceiver(
  operation: Operation,
  functions: Functions,
): ((request: FastifyRequest) => void) | undefined {
  const streams = (operation.body?.contents ?? []).filter(isStream)
  if (streams.length === 0) return undefined
  const rules = new Map(streams.map((each) => [each, rulesOf(each, operation, functions)]))
  return (request) => {
    const content = request.body instanceof Upload ? request[declaredAs] : undefined
    const own = content && rules.get(content)
    if (own !== undefined) request.body = new ArrivingItems(request.body as Upload, own)
  }
}

function rulesOf(
  { judge = '', framing = 'lines' }: Content,
  { limits }: Operation,
  functions: Functions,
): ItemRules {
  return { framing, validate: functions.validator(judge), max: limits.item ?? limits.body }
}
