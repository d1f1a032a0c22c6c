// Values of a schema, and values that it refuses: what its type, bounds, enum and pattern take at their edges, in the middle,
// and beyond. Integers are bigint, for JSON keeps what a double cannot.

import fc, { type Arbitrary } from 'fast-check'
import { compile, type Schema } from './contract.js'

/** Anything that JSON can say. */
export type Json = unknown

const lengthMax = 300

/** Values that the schema takes. */
export function validValue(schema: Schema): Arbitrary<Json> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as Json[]))
  if ('const' in schema) return fc.constant(schema.const)
  const choices = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined
  if (choices !== undefined) return fc.oneof(...choices.map(validValue))
  const types = [schema.type ?? 'object'].flat() as string[]
  return fc.oneof(...types.map((type) => (ofType[type] ?? validObject)(schema)))
}

const ofType: Readonly<Record<string, (schema: Schema) => Arbitrary<Json>>> = {
  integer: validInteger,
  number: ({ minimum = -1e300, maximum = 1e300 }) =>
    fc.double({ noNaN: true, min: Number(minimum), max: Number(maximum) }),
  string: validString,
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: validArray,
}

/** Values that the schema refuses, whatever else takes them. */
export function invalidValue(schema: Schema): Arbitrary<Json> {
  const validate = compile(schema)
  const others = [
    null,
    true,
    {},
    [],
    '',
    '3',
    'a'.repeat(lengthMax),
    '\u0000',
    '\ud800',
    'x\udc00',
    1,
    -1,
    1.5,
  ]
  const wrong = others.filter((value) => validate(value) !== undefined)
  return fc.oneof(fc.constantFrom<Json>(...wrong), ...beyond(schema))
}

/** A parameter's value as text, and whether the schema takes it; undefined where that is for the service to say. */
export interface ParameterText {
  readonly text: string
  readonly isValid: boolean | undefined
}

/** Texts that are no value of a parameter, or that only look like one. */
export function hostileText(schema: Schema): Arbitrary<ParameterText> {
  const validate = compile(schema)
  const isOpen = (text: string) =>
    schema.type === 'integer' ? /^[+-]?[\d.]+$/.test(text) : validate(text) === undefined
  return fc.oneof(
    fc
      .oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary', maxLength: 12 }))
      .map((text) => ({ text, isValid: isOpen(text) ? undefined : false })),
    ...beyond(schema).map((each) => each.map((value) => ({ text: String(value), isValid: false }))),
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
  return fc.oneof(
    ...(min <= 60n && max >= 1n ? [small] : []),
    fc.constantFrom(...within),
    fc.bigInt({ min, max }),
  )
}

function validString(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = lengthMax } = schema as { minLength?: number; maxLength?: number }
  const validate = compile(schema)
  const isValid = (text: string) => validate(text) === undefined
  // Where the pattern alone bounds it, few random texts would fit.
  if (typeof schema.pattern === 'string' && schema.minLength === undefined)
    return fc.stringMatching(new RegExp(schema.pattern)).filter(isValid)
  const short = Math.min(maxLength, Math.max(minLength, 20))
  const made = fc.string({ unit: 'binary', minLength, maxLength: short }).filter(isValid)
  const edges = ['a', 'é', '😀', "'", '\\', '\u2028'].flatMap((each) =>
    [minLength, maxLength].map((n) => each.repeat(n)),
  )
  const fitting = edges.filter(isValid)
  if (fitting.length === 0) return made
  return fc.oneof({ weight: 4, arbitrary: made }, { weight: 1, arbitrary: fc.constantFrom(...fitting) })
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

// Just past each bound.
function beyond(schema: Schema): Arbitrary<Json>[] {
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
  const size = format === 'int32' ? 32 : 64
  const [least, most] = [BigInt.asIntN(size, 1n << BigInt(size - 1)), (1n << BigInt(size - 1)) - 1n]
  return { min: BigInt((minimum as number) ?? least), max: BigInt((maximum as number) ?? most) }
}
