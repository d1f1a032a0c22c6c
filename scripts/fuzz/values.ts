// Generates values that a schema accepts, and values that it rejects, with an emphasis on boundaries. Integers are bigint, since int64
// exceeds a double.

import fc, { type Arbitrary } from 'fast-check'
import { stringify } from 'lossless-json'
import { integerRange } from '../../src/lib/exact-number.js'
import { OperatorError } from '../../src/lib/operator-error.js'
import { compile, type Schema } from './contract.js'

/** A JSON value. */
export type Json = unknown

const lengthMax = 300

/**
 * Values that the schema accepts.
 * @throws {OperatorError} if none can be generated, as for a `pattern` together with a `format`
 */
export function validValue(schema: Schema): Arbitrary<Json> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as Json[]))
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.allOf)) return validValue(merged(schema, schema.allOf as Schema[]))
  const choices = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined
  if (choices !== undefined) return fitting(fc.oneof(...choices.map(validValue)), schema)
  const types = [schema.type ?? 'object'].flat() as string[]
  return fc.oneof(...types.map((type) => (ofType[type] ?? validObject)(schema)))
}

const ofType: Readonly<Record<string, (schema: Schema) => Arbitrary<Json>>> = {
  integer: validInteger,
  number: validNumber,
  string: validString,
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: validArray,
}

// Merges an `allOf` into one schema.
function merged({ allOf: _, ...schema }: Schema, parts: readonly Schema[]): Schema {
  const all = [schema, ...parts.map((part) => (part.allOf ? merged(part, part.allOf as Schema[]) : part))]
  const properties = Object.assign({}, ...all.map((each) => each.properties))
  const required = all.flatMap((each) => (each.required ?? []) as string[])
  return Object.assign({}, ...all, { properties, required: [...new Set(required)] })
}

// Filters values by the schema, if enough of them are valid.
function fitting<Value extends Json>(values: Arbitrary<Value>, schema: Schema): Arbitrary<Value> {
  const validate = compile(schema)
  const isValid = (value: Value) => validate(inDoubles(value)) === undefined
  if (fc.sample(values, { numRuns: 100, seed: 1 }).some(isValid)) return values.filter(isValid)
  throw unknownValue(schema)
}

function unknownValue(schema: Schema): OperatorError {
  return new OperatorError(`The fuzzer cannot generate a value of ${JSON.stringify(schema)}.`)
}

// The value as JSON.parse would read it.
function inDoubles(value: Json): Json {
  return JSON.parse(String(stringify(value)))
}

/** Values that the schema rejects; undefined if none is known. */
export function invalidValue(schema: Schema): Arbitrary<Json> | undefined {
  const validate = compile(schema)
  const texts = ['', '3', 'a'.repeat(lengthMax), '\u0000', '\ud800', 'x\udc00']
  const invalid = [null, true, {}, [], 1, -1, 1.5, ...texts].filter((value) => validate(value) !== undefined)
  const all = [...(invalid.length > 0 ? [fc.constantFrom<Json>(...invalid)] : []), ...beyondBounds(schema)]
  return all.length > 0 ? fc.oneof(...all) : undefined
}

/** A parameter's value as text, and whether the schema accepts it; undefined: the service may do either. */
export interface ParameterText {
  readonly text: string
  readonly isValid: boolean | undefined
}

/** Texts that are not, or only look like, values of a parameter. */
export function hostileText(schema: Schema): Arbitrary<ParameterText> {
  const validate = compile(schema)
  const mayBeValid = (text: string) => {
    if (Array.isArray(schema.enum) || schema.type === 'string') return validate(text) === undefined
    return schema.type === 'integer' ? /^[+-]?[\d.]+$/.test(text) : true
  }
  return fc.oneof(
    fc
      .oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary', maxLength: 12 }))
      .map((text) => ({ text, isValid: mayBeValid(text) ? undefined : false })),
    ...beyondBounds(schema).map((each) => each.map((value) => ({ text: String(value), isValid: false }))),
  )
}

const hostileTexts =
  `|null|undefined|true|NaN|-|+1|01|-0|1.0|1.5|1e3|0x10|1,2|1 | 1|[1]|{"a":1}|' or 1=1 --|"|<b>|../..|
|%00|%2e%2e|${'9'.repeat(400)}|${'a'.repeat(400)}|9223372036854775808|-9223372036854775809|é|١|\u0000|\r\n|😀|;|*|__proto__|constructor`.split(
    '|',
  )

function validInteger(schema: Schema): Arbitrary<bigint> {
  const { min, max } = integerBounds(schema)
  const edges = [min, min + 1n, max - 1n, max, 0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n]
  const within = edges.filter((edge) => edge >= min && edge <= max)
  const small = fc.bigInt({ min: min > 1n ? min : 1n, max: max < 60n ? max : 60n })
  const all = fc.oneof(
    ...(min <= 60n && max >= 1n ? [small] : []),
    fc.constantFrom(...within),
    fc.bigInt({ min, max }),
  )
  const { multipleOf } = schema
  if (!Number.isInteger(multipleOf)) return all
  const step = BigInt(multipleOf as number)
  return fitting(
    all.map((value) => value - (value % step)),
    schema,
  )
}

function validNumber(schema: Schema): Arbitrary<number> {
  const { minimum = -1e300, maximum = 1e300, multipleOf } = schema
  const [min, max] = [Number(minimum), Number(maximum)]
  if (typeof multipleOf !== 'number') return fitting(fc.double({ noNaN: true, min, max }), schema)
  const stepsMax = 1_000_000
  const steps = fc.integer({
    min: Math.max(-stepsMax, Math.ceil(min / multipleOf)),
    max: Math.min(stepsMax, Math.floor(max / multipleOf)),
  })
  return fitting(
    steps.map((count) => Number((count * multipleOf).toPrecision(12))), // 12.03, not 12.030000000000001
    schema,
  )
}

const ofFormat: Readonly<Record<string, () => Arbitrary<string>>> = {
  date: () => dateTime().map((text) => text.slice(0, 10)),
  'date-time': dateTime,
  time: () => dateTime().map((text) => text.slice(11)),
  uuid: () => fc.uuid(),
  email: () => fc.emailAddress(),
  uri: () => fc.webUrl(),
  hostname: () => fc.domain(),
  ipv4: () => fc.ipV4(),
  ipv6: () => fc.ipV6(),
  byte: () => fc.base64String(),
}

function dateTime(): Arbitrary<string> {
  const years = { min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }
  return fc.date(years).map((date) => date.toISOString())
}

function validString(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = lengthMax } = schema as { minLength?: number; maxLength?: number }
  const formatted = ofFormat[String(schema.format)]
  if (formatted !== undefined) return fitting(formatted(), schema)
  // Few random texts would match a pattern without a length.
  if (typeof schema.pattern === 'string' && schema.minLength === undefined)
    return fitting(matching(schema.pattern, schema), schema)
  const short = Math.min(maxLength, Math.max(minLength, 20))
  const texts = fc.string({ unit: 'binary', minLength, maxLength: short })
  // The service rejects NUL in any text.
  const random = fitting(
    texts.filter((text) => !text.includes('\0')),
    schema,
  )
  const edges = ['a', 'é', '😀', "'", '\\', '\u2028'].flatMap((each) =>
    [minLength, maxLength].map((n) => each.repeat(n)),
  )
  const validate = compile(schema)
  const valid = edges.filter((text) => validate(text) === undefined)
  if (valid.length === 0) return random
  return fc.oneof({ weight: 4, arbitrary: random }, { weight: 1, arbitrary: fc.constantFrom(...valid) })
}

function matching(pattern: string, schema: Schema): Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern)).filter((text) => !text.includes('\0'))
  } catch {
    throw unknownValue(schema) // fast-check does not support some patterns, such as lookahead
  }
}

function validArray({ items = {}, minItems = 0, maxItems = 5, uniqueItems }: Schema): Arbitrary<Json> {
  const lengths = { minLength: Number(minItems), maxLength: Math.min(Number(maxItems), Number(minItems) + 5) }
  const values = validValue(items as Schema)
  return uniqueItems ? fc.uniqueArray(values, { ...lengths, selector: String }) : fc.array(values, lengths)
}

function validObject({ properties = {}, required = [] }: Schema): Arbitrary<Json> {
  const values = Object.entries(properties as Record<string, Schema>).map(([name, each]) => [
    name,
    validValue(each),
  ])
  return fc.record<Record<string, Json>>(Object.fromEntries(values), {
    requiredKeys: required as string[],
    noNullPrototype: true,
  })
}

// Values just outside each bound.
function beyondBounds(schema: Schema): Arbitrary<Json>[] {
  if (schema.type === 'integer') {
    const { min, max } = integerBounds(schema)
    return [fc.constantFrom(min - 1n, max + 1n, min - 2n ** 70n, max + 2n ** 70n)]
  }
  if (schema.type !== 'string' || Array.isArray(schema.enum)) return []
  const { minLength = 0, maxLength = -1 } = schema as { minLength?: number; maxLength?: number }
  const lengths = [minLength - 1, ...(maxLength < 0 ? [] : [maxLength + 1])].filter((length) => length >= 0)
  return lengths.map((length) => fc.constantFrom('a', 'é', '😀').map((each) => each.repeat(length)))
}

function integerBounds({ minimum, maximum, format }: Schema): { min: bigint; max: bigint } {
  const [least, most] = integerRange(format)
  return { min: BigInt((minimum as number) ?? least), max: BigInt((maximum as number) ?? most) }
}
