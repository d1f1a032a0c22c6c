// Judges numbers by the `exactNumber` keyword (exact-number-keyword.ts): `type` and its assertions for
// numbers, with bigints. Ajv's own keywords do not support bigint, so an id beyond 2^53 would name the wrong
// resource, and its coercion reads `0x10` as 16. Every schema that the server compiles uses this keyword
// instead.

import { exactNumber, integerRange, isBig, isKeptByDouble, isMultipleOf } from '../lib/exact-number.js'
import { isAmong } from './canonical.js'
import { type Container, noteConversion } from './changes.js'

/** `text` reads numbers from strings (parameters), `json` converts JSON numbers, `check` only validates. */
export type NumberMode = 'text' | 'json' | 'check'

/** The value of the keyword. */
export interface Rules {
  /** Empty if any type is allowed. */
  readonly types: readonly string[]
  readonly format?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly exclusiveMinimum?: number | bigint
  readonly exclusiveMaximum?: number | bigint
  readonly multipleOf?: number | bigint
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  /** True in a condition, such as `not`, `if` or `contains`, which must not change the value. */
  readonly isCondition?: boolean
}

/** The keywords that bound numbers. */
export const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const

/** The types that a value has. */
export function valueTypes(value: unknown): string[] {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  return ['number', 'bigint'].includes(typeof value) ? ['integer', 'number'] : [typeof value]
}

/** True if a schema's values are booleans or null, which are written as `true`, `false` or nothing. */
export function isOfWords(
  { enum: values = [], const: value }: { readonly enum?: unknown; readonly const?: unknown },
  types: readonly string[],
): boolean {
  if (types.includes('string')) return false
  const isBoolean = [...(values as unknown[]), value].some((each) => typeof each === 'boolean')
  return types.includes('boolean') || types.includes('null') || (types.length === 0 && isBoolean)
}

interface Judge {
  allows(data: unknown, parent?: Container, property?: string | number): boolean
  messageOf(data: unknown): string
}

/**
 * Returns a function that is true of a value which the rules allow. If it is given the value's place, it
 * notes a conversion.
 */
export function createAllows(rules: Rules, mode: NumberMode): Judge['allows'] {
  return createJudge(rules, mode).allows
}

/**
 * Returns a function that writes the message for a value which the rules refuse. Most services never need it,
 * so its judge is created at the first call.
 */
export function createMessage(rules: Rules, mode: NumberMode): Judge['messageOf'] {
  let judge: Judge | undefined
  return (data) => {
    judge ??= createJudge(rules, mode)
    return judge.messageOf(data)
  }
}

function createJudge(rules: Rules, mode: NumberMode): Judge {
  const problemOf = createProblem(rules)
  const convert = createConversion(rules)
  const isWeak = rules.types.length === 0
  const read = (data: unknown) => (mode === 'text' && typeof data === 'string' ? fromText(data, rules) : data)
  return {
    allows(given, parent, property) {
      const value = read(given)
      if (problemOf(value) !== undefined) return false
      if (parent === undefined || property === undefined) return true
      const converted = convert(value)
      if (converted !== given)
        noteConversion({ kind: 'conversion', parent, property, given, value: converted, isWeak })
      return true
    },
    messageOf: (given) => problemOf(read(given))?.() ?? '',
  }
}

// A schema without a type converts only what no other schema of the same value does.
function createConversion({ types, format }: Rules): (value: unknown) => unknown {
  if (types.length === 0) return (value) => value
  const convert = types.includes('integer') && isBig(format) ? BigInt : Number
  return (value) => (isNumber(value) ? convert(value) : value)
}

function fromText(text: string, { types, ...rules }: Rules): unknown {
  if (isOfWords(rules, types)) {
    if (text === '' && types.includes('null')) return null
    const isBoolean = types.length === 0 || types.includes('boolean')
    if (isBoolean && (text === 'true' || text === 'false')) return text === 'true'
  }
  return numberFromText(text, types)
}

/**
 * Returns the number if the text is a JSON number of one of the types. Returns any other text unchanged, and
 * also a number that a double would round.
 */
export function numberFromText(text: string, types: readonly string[]): bigint | number | string {
  if (/^-?(0|[1-9]\d*)$/.test(text)) return text.length <= digitsMax ? exactNumber(text) : text
  return types.includes('number') && numeral.test(text) && isKeptByDouble(text) ? Number(text) : text
}

// Longer numbers are out of every range. The time to read one grows faster than its length.
const digitsMax = 10_000

const numeral = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * What is wrong with a value: a function that writes the sentence only if it is needed; undefined if nothing
 * is wrong.
 */
type Problem = (() => string) | undefined

function createProblem(rules: Rules): (value: unknown) => Problem {
  const boundOf = createBoundProblem(rules)
  const typeOf = createTypeProblem(rules)
  const listOf = createValueProblem(rules)
  // The schema's bounds come first: they are narrower than those of the format.
  return (value) => (isNumber(value) ? boundOf(value) : undefined) ?? typeOf(value) ?? listOf(value)
}

function createValueProblem({ const: only, enum: allowed }: Rules): (value: unknown) => Problem {
  const values = allowed ?? (only === undefined ? undefined : [only])
  if (values === undefined) return () => undefined
  const isAllowed = isAmong(values)
  let text: string | undefined // written once: there may be thousands of values
  const describe = () => {
    text ??= `must be ${values.length > 1 ? 'one of: ' : ''}${values.map(shown).join(', ')}`
    return text
  }
  return (value) => (isAllowed(value) ? undefined : describe)
}

function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function createTypeProblem({ types, format = '' }: Rules): (value: unknown) => Problem {
  if (types.length === 0) return () => undefined
  const isOfNumbers = types.includes('number')
  const isOfIntegers = types.includes('integer')
  const [min, max] = integerRange(format)
  const [least, most] = [Number(min), Number(max)] // comparing a number with a bigint takes longer
  const isOutside = (value: bigint | number) =>
    typeof value === 'number' ? value < least || value > most : value < min || value > max
  const names = types.filter((type) => type !== 'null').map(withArticle)
  const describe = () => `must be ${names.join(' or ')}`
  const describeRange = () => `must be an integer from ${min} to ${max}`
  return (value) => {
    if (isOfNumbers && isNumber(value)) {
      if (format === 'float' && !isInRangeOfFloat(Number(value))) return describeFloat
      // A number has already been rounded to its double.
      return typeof value === 'number' || isKeptByDouble(String(value)) ? undefined : describeKept
    }
    if (isOfIntegers && isInteger(value)) return isOutside(value) ? describeRange : undefined
    const isNumeric = typeof value === 'number' || typeof value === 'bigint' // also NaN
    if (!isNumeric && valueTypes(value).some((type) => types.includes(type))) return undefined
    return isOfNumbers && isRoundedText(value) ? describeKept : describe
  }
}

// PostgreSQL's `real` refuses a number so large that it would become infinity, or so small that it would
// become zero.
function isInRangeOfFloat(value: number): boolean {
  const float = Math.fround(value)
  return Number.isFinite(float) && (float !== 0 || value === 0)
}

const describeFloat = () => 'must be a number in the range of a float, such as 1.5'
const describeKept = () => 'must be a number that a double represents exactly'

// True of a text that `numberFromText` left unchanged because a double would round it.
function isRoundedText(value: unknown): boolean {
  return typeof value === 'string' && numeral.test(value) && !isKeptByDouble(value)
}

/** A type with its article: `an integer`. */
export function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`
}

// JavaScript compares a bigint with a number exactly.
function createBoundProblem(rules: Rules): (value: bigint | number) => Problem {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules
  if (bounds.every((name) => rules[name] === undefined)) return () => undefined
  const isMultiple = multipleOf === undefined ? () => true : isMultipleOf(multipleOf)
  const type = rules.types.includes('integer') ? 'integer' : 'number'
  const describeRange = () => `must be ${withArticle(type)} from ${minimum} to ${maximum}`
  const isRange = minimum !== undefined && maximum !== undefined
  return (value) => {
    const below = minimum !== undefined && value < minimum
    const above = maximum !== undefined && value > maximum
    if ((below || above) && isRange) return describeRange
    if (below) return () => `must be at least ${minimum}`
    if (above) return () => `must be at most ${maximum}`
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
      return () => `must be above ${exclusiveMinimum}`
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
      return () => `must be below ${exclusiveMaximum}`
    return isMultiple(value) ? undefined : () => `must be a multiple of ${multipleOf}`
  }
}

function isInteger(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}

/** True if a value is a number or a bigint. */
export function isNumber(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isFinite(value)
}
