// Reads the texts of items, one by one. Returns the value of each, as the contract defines it, or says what
// is wrong.

import type { Framing } from '../../document/framing.js'
import type { Validator } from '../../document/functions.js'
import { ownError, RequestError } from '../../document/request-error.js'
import { capitalized } from '../../lib/texts.js'
import { parseJson } from '../../runtime/json.js'
import { errorAt } from '../../runtime/messages.js'
import { isTooComplex } from '../../runtime/steps.js'
import { bodyTooLarge } from './errors.js'
import type { ItemTexts } from './item-texts.js'
import { needlessNulls } from './needless-nulls.js'
import { invalid, violationsIn, type WordedViolation } from './violations.js'

/** How the items of a body are read. */
export interface ItemRules {
  readonly framing: Framing
  readonly validate: Validator
  /** The limit of an item, in bytes. */
  readonly max: number
}

/** An error of an item. */
export interface ItemError {
  /** The number of its line, or of its record in a JSON text sequence, from 1. */
  readonly line: number
  /** The place of the error in the item (RFC 6901). */
  readonly pointer: string
  /** `must be an integer` */
  readonly detail: string
}

/** A valid value, with the changes that its schema makes, or an invalid item. */
export type Item = { readonly value: unknown; readonly place: Place } | InvalidItem

type Text = NonNullable<ReturnType<ItemTexts['next']>>

/** Reads the items of a body. */
export class ItemReader {
  #count = 0
  // The validator changes a value by replacing it in its parent.
  readonly #holder: { value: unknown } = { value: undefined }
  readonly #context = {
    ...{ instancePath: '', parentData: this.#holder, parentDataProperty: 'value', rootData: {} },
    dynamicAnchors: {},
  }

  constructor(readonly rules: ItemRules) {}

  /**
   * Returns the item of a text; undefined if the text is blank.
   * @param line the number of the text
   */
  read(text: Text, line: number): Item | undefined {
    if (typeof text !== 'symbol' && isBlank(text)) return undefined
    const place = { index: this.#count++, line, of: this.rules.framing === 'sequence' ? 'record' : 'line' }
    const holder = this.#holder
    try {
      holder.value = this.#parse(text, line)
    } catch (error) {
      if (error instanceof RequestError) return new InvalidItem(place, { refusal: error })
      throw error
    }
    const { validate } = this.rules
    if (validate(holder.value, this.#context)) return { value: holder.value, place }
    return new InvalidItem(
      place,
      isTooComplex(validate.errors?.[0]) ? { refusal: tooComplex() } : { value: holder.value, validate },
    )
  }

  #parse(text: Text, line: number): unknown {
    const { framing, max } = this.rules
    if (typeof text === 'symbol') throw bodyTooLarge(max)
    if (line > 1 && text.indexOf(byteOrderMark) === 0)
      throw ownError('invalid_json', `Line ${line} begins with a byte order mark, as only a body may.`)
    if (framing === 'sequence') checkRecord(text, line)
    return parseJson(text)
  }
}

function tooComplex(): RequestError {
  return ownError('request_too_complex', 'The body would take too many steps to check.')
}

const [tab, lineFeed, carriageReturn, blank] = [0x09, 0x0a, 0x0d, 0x20]

function isBlank(text: Buffer): boolean {
  return text.every((byte) => byte === blank || byte === carriageReturn || byte === tab || byte === lineFeed)
}

const byteOrderMark = Buffer.from('\ufeff')
const [quote, bracket, brace] = [0x22, 0x5b, 0x7b]

// A record must show that it is whole (RFC 7464, sections 2.1 and 2.4): `12` may be the beginning of `123`.
function checkRecord(text: Buffer, line: number): void {
  if (line === 0) throw ownError('invalid_json', 'The body does not begin with a record separator.')
  const isWhole = [quote, bracket, brace].includes(text[0] as number) || text.at(-1) === lineFeed
  if (!isWhole) throw ownError('invalid_json', 'The body does not end with a line feed, and may be cut.')
}

/** Where an item is in its body. */
export interface Place {
  /** The index of the item, from 0. */
  readonly index: number
  readonly line: number
  /** `line` or `record` */
  readonly of: string
}

/** An item that is refused before its schema can judge it. */
interface Refused {
  readonly refusal: RequestError
}

/** An item that its schema refuses. */
interface Judged {
  readonly value: unknown
  readonly validate: Validator
}

/** An invalid item. Its errors are found only on demand, which must be before the next item is read. */
export class InvalidItem {
  constructor(
    readonly place: Place,
    readonly why: Refused | Judged,
  ) {}

  /** Returns the error of a request with this item. */
  error(): RequestError {
    if (!('refusal' in this.why)) return invalid(this.told().map(({ violation }) => violation))
    const { line, of } = this.place
    const { code, message } = this.why.refusal
    const name = line === 0 ? 'The body' : `${capitalized(of)} ${line} of the body`
    return new RequestError(code, message.replace(/^The body/, name))
  }

  /**
   * Returns the errors of the item, each also as a violation of the body, which is the array of all items.
   */
  told(): { readonly error: ItemError; readonly violation: WordedViolation }[] {
    const { line } = this.place
    return this.#violations().map((own) => ({
      error: { line, pointer: own.pointer, detail: own.detail },
      violation: inBody(this.place, own),
    }))
  }

  #violations(): WordedViolation[] {
    if ('refusal' in this.why) {
      const reason = this.why.refusal.message.replace(/^The body /, '').replace(/\.$/, '')
      return violationsIn('body', [errorAt([], reason)])
    }
    const { value, validate } = this.why
    const errors = validate.explain(value)
    return violationsIn('body', errors, needlessNulls(value, errors, validate))
  }
}

/** Turns a violation of an item into a violation of the body, which is the array of all items. */
export function inBody({ index, line, of }: Place, own: WordedViolation): WordedViolation {
  const at = ` (${of} ${line})`
  return {
    in: own.in,
    pointer: `/${index}${own.pointer}`,
    detail: own.detail + at,
    sentence: own.sentence.replace(/^body/, `body[${index}]`) + at,
  }
}
