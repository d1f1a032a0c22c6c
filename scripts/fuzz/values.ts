// Values of a schema, and values that it refuses: what its type, bounds, enum and pattern take at their edges, in the middle,
// and beyond. Integers are bigint, for JSON keeps what a double cannot.

import fc, { type Arbitrary } from 'fast-check'
import { compile, type Schema } from './contract.js'

/** Anything that JSON can say. */
export type Json = unknown

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n
const lengthMax = 300

/** Values that the schema takes. */
export function validValue(schema: Schema): Arbitrary<Json> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as Json[]))
  if ('const' in schema) return fc.constant(schema.const)
  const choices = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined
  if (choices !== undefined) return fc.oneof(...choices.map(validValue))
  const types = [schema.type ?? 'object'].flat() as string[]
  return fc.oneof(...types.map((type) => validOfType(type, schema)))
}

/** Values that the schema refuses, whatever else takes them. */
export function invalidValue(schema: Schema): Arbitrary<Json> {
  const check = compile(schema)
  const others = [null, true, {}, [], '', '3', 'a'.repeat(lengthMax), '\u0000', '\ud800', 'x\udc00']
  const wrong = [...others, 1, -1, 1.5].filter((value) => check(value) !== undefined)
  return fc.oneof(fc.constantFrom<Json>(...wrong), ...beyond(schema))
}

/** A parameter's value as text, and whether the schema takes it; undefined where that is for the service to say. */
export interface ParameterText {
  readonly text: string
  readonly isValid: boolean | undefined
}

/** Texts that are a parameter of the schema. */
export function validText(schema: Schema): Arbitrary<string> {
  return validValue(schema).map(String)
}

/** Texts that are none, or that only look like one. */
export function hostileText(schema: Schema): Arbitrary<ParameterText> {
  const check = compile(schema)
  const isInteger = schema.type === 'integer'
  const judge = (text: string): ParameterText => {
    if (!isInteger) return { text, isValid: check(text) === undefined ? undefined : false }
    return { text, isValid: /^[+-]?[\d.]+$/.test(text) ? undefined : false }
  }
  const beyondText = beyond(schema).map((each) =>
    each.map((value) => ({ text: String(value), isValid: false })),
  )
  return fc.oneof(
    fc.constantFrom(...hostileTexts.map(judge)),
    fc.string({ unit: 'binary', maxLength: 12 }).map(judge),
    ...beyondText,
  )
}

const hostileTexts =
  `|null|undefined|true|NaN|-|+1|01|-0|1.0|1.5|1e3|0x10|1,2|1 | 1|[1]|{"a":1}|' or 1=1 --|"|<b>|../..|
|%00|%2e%2e|${'9'.repeat(400)}|${'a'.repeat(400)}|9223372036854775808|-9223372036854775809|é|١|\u0000|\r\n|😀|;|*|__proto__|constructor`.split(
    '|',
  )

function validOfType(type: string, schema: Schema): Arbitrary<Json> {
  if (type === 'integer') return validInteger(schema)
  if (type === 'number') return fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds(schema) })
  if (type === 'string') return validString(schema)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'array') return validArray(schema)
  return validObject(schema)
}

function validInteger(schema: Schema): Arbitrary<bigint> {
  const { min, max } = integerBounds(schema)
  const edges = [min, min + 1n, max - 1n, max, 0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n]
  const within = edges.filter((edge) => edge >= min && edge <= max)
  const clamp = (value: number) => (BigInt(value) < min ? min : BigInt(value) > max ? max : BigInt(value))
  return fc.oneof(
    fc.integer({ min: 1, max: 60 }).map(clamp),
    fc.constantFrom(...within),
    fc.bigInt({ min, max }),
  )
}

function validString(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = lengthMax } = schema as { minLength?: number; maxLength?: number }
  const check = compile(schema)
  // Where the pattern alone bounds it, few random texts would fit.
  if (typeof schema.pattern === 'string' && schema.minLength === undefined)
    return fc.stringMatching(new RegExp(schema.pattern)).filter((text) => check(text) === undefined)
  const short = Math.min(maxLength, Math.max(minLength, 20))
  const edges = ['a', 'é', '😀', "'", '\\', '\u2028'].flatMap((each) => [
    each.repeat(minLength),
    each.repeat(maxLength),
  ])
  const fitting = edges.filter((edge) => check(edge) === undefined)
  const made = fc
    .string({ unit: 'binary', minLength, maxLength: short })
    .filter((text) => check(text) === undefined)
  return fitting.length === 0
    ? made
    : fc.oneof({ weight: 4, arbitrary: made }, { weight: 1, arbitrary: fc.constantFrom(...fitting) })
}

function validArray({ items = {}, minItems = 0, maxItems = 5, uniqueItems }: Schema): Arbitrary<Json> {
  const lengths = { minLength: Number(minItems), maxLength: Math.min(Number(maxItems), Number(minItems) + 5) }
  const values = validValue(items as Schema)
  return uniqueItems ? fc.uniqueArray(values, { ...lengths, selector: String }) : fc.array(values, lengths)
}

function validObject({ properties = {}, required = [] }: Schema): Arbitrary<Json> {
  const values = Object.fromEntries(
    Object.entries(properties as object).map(([name, each]) => [name, validValue(each)]),
  )
  return fc.record(values, { requiredKeys: required as string[], noNullPrototype: true })
}

// Just past each bound.
function beyond(schema: Schema): Arbitrary<Json>[] {
  if (schema.type === 'integer') {
    const { min, max } = integerBounds(schema)
    return [fc.constantFrom(min - 1n, max + 1n, min - 2n ** 70n, max + 2n ** 70n)]
  }
  if (schema.type !== 'string' || Array.isArray(schema.enum)) return []
  const { minLength = 0, maxLength } = schema as { minLength?: number; maxLength?: number }
  const lengths = [
    ...(minLength > 0 ? [minLength - 1] : []),
    ...(maxLength === undefined ? [] : [maxLength + 1]),
  ]
  if (lengths.length === 0) return []
  return [
    fc.constantFrom(...lengths.flatMap((length) => ['a', 'é', '😀'].map((each) => each.repeat(length)))),
  ]
}

function integerBounds({ minimum, maximum, format }: Schema): { min: bigint; max: bigint } {
  const least = format === 'int32' ? -(2n ** 31n) : int64Min
  const most = format === 'int32' ? 2n ** 31n - 1n : int64Max
  return {
    min: minimum === undefined ? least : BigInt(minimum as number),
    max: maximum === undefined ? most : BigInt(maximum as number),
  }
}

function bounds({ minimum, maximum }: Schema): { min?: number; max?: number } {
  return {
    ...(minimum !== undefined && { min: Number(minimum) }),
    ...(maximum !== undefined && { max: Number(maximum) }),
  }
}
