// Equality of values in JSON Schema (Core 2020-12, section 4.2.2): the order of fields does not matter, nor
// whether an integer is a number or a bigint. Equal values have the same text, so a look-up finds a value
// among many. Comparing it with each would multiply what a caller sends by what a schema lists.

import { narrowed } from '../lib/exact-number.js'
import { judgedTogether, stepsOfText, takeSteps } from './steps.js'

// Returns a text that is the same for equal values; undefined if it is longer than `max` characters.
function canonicalText(value: unknown, max = Number.POSITIVE_INFINITY): string | undefined {
  const limit = { left: max }
  const text = boundedText(value, limit)
  return limit.left < 0 ? undefined : text
}

/** Returns a function that is true of a value equal to one of these. */
export function isAmong(values: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(values.filter((each) => !isStructure(each)).map(comparable))
  const texts = new Set(values.filter(isStructure).map((each) => canonicalText(each)))
  // Twice the length: commas and brackets are counted separately, and are at most as many again.
  const longest = 2 * Math.max(0, ...[...texts].map((each) => each?.length ?? 0))
  return (value) => {
    if (!isStructure(value)) return scalars.has(comparable(value))
    const text = texts.size === 0 ? undefined : canonicalText(value, longest)
    return text !== undefined && texts.has(text)
  }
}

/** Returns a scalar that is the same for equal ones: an integer may be a number or a bigint. */
export function comparable(value: unknown): unknown {
  if (typeof value === 'bigint') return narrowed(value)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value as number) : value
}

/** Returns a text of a value. Among values that are judged together, equal ones have the same text. */
export function identityOf(value: unknown): string {
  takeSteps(typeof value === 'string' ? stepsOfText(value) : 1)
  if (!isStructure(value) || value instanceof Uint8Array) return scalarText(value)
  const { texts, known } = judgedTogether(newIdentities)
  const id = known.get(value) ?? idOf(structureText(value), texts)
  known.set(value, id)
  return id
}

/** Returns the index of the first item that is equal to an earlier one. */
export function duplicateIn(items: readonly unknown[]): number | undefined {
  if (items.length < 2) return undefined
  const seen = new Set<string>()
  for (const [i, item] of items.entries()) {
    const text = identityOf(item)
    if (seen.has(text)) return i
    seen.add(text)
  }
  return undefined
}

/** The texts of objects and arrays, so that each is looked at once, however many contain it. */
interface Identities {
  readonly texts: Map<string, string>
  readonly known: Map<object, string>
}

const newIdentities = (): Identities => ({ texts: new Map(), known: new Map() })

function idOf(text: string, texts: Map<string, string>): string {
  const id = texts.get(text) ?? `#${texts.size}`
  texts.set(text, id)
  return id
}

function structureText(value: object): string {
  if (Array.isArray(value)) return `[${value.map(identityOf).join()}]`
  return `{${namesOf(value)
    .map((name) => `${JSON.stringify(name)}:${identityOf((value as Fields)[name])}`)
    .join()}}`
}

type Fields = Readonly<Record<string, unknown>>

// Skips fields that are undefined, because they count as absent.
function namesOf(value: object): string[] {
  return Object.keys(value)
    .filter((name) => (value as Fields)[name] !== undefined)
    .sort()
}

function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** How many characters may still be written. Below 0, the text is too long, and its rest is left out. */
interface Limit {
  left: number
}

function boundedText(value: unknown, limit: Limit): string {
  if (!isStructure(value)) return written(scalarText(value), limit)
  if (value instanceof Uint8Array) return written(scalarText(value), limit)
  takeSteps(1)
  if (Array.isArray(value)) return `[${listOf(value, (each) => boundedText(each, limit), limit)}]`
  const field = (name: string) =>
    `${written(JSON.stringify(name), limit)}:${boundedText((value as Fields)[name], limit)}`
  return `{${listOf(namesOf(value), field, limit)}}`
}

function listOf<Each>(all: readonly Each[], text: (each: Each) => string, limit: Limit): string {
  limit.left -= all.length + 1 // the brackets and commas
  const texts: string[] = []
  for (const each of all) {
    if (limit.left < 0) break
    texts.push(text(each))
  }
  return texts.join()
}

function written(text: string, limit: Limit): string {
  takeSteps(stepsOfText(text))
  limit.left -= text.length
  return text
}

// A number gets a letter before its digits: V8 takes a text of digits for an index, whose hash anybody can
// compute, so a caller could make the hashes of all items collide.
function scalarText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('base64')}`
  return typeof value === 'number' || typeof value === 'bigint' ? `n${comparable(value)}` : String(value)
}
