// The `exactNumber` keyword: `type` and its assertions for numbers, with bigint support. Ajv's own keywords
// do not support bigint, and its coercion reads `0x10` as 16, so every schema the server compiles uses this
// keyword instead.

import { isDeepStrictEqual } from 'node:util'
import { _, type Ajv } from 'ajv'
import type { DataValidateFunction, DataValidationCxt } from 'ajv/dist/types/index.js'
import { parse, stringify } from 'lossless-json'
import {
  decimal,
  exactNumber,
  integerRange,
  integerRanges,
  isBig,
  isKeptByDouble,
} from '../../lib/exact-number.js'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, mapSchemas } from '../contract/keywords.js'
import { exactNumbers } from '../contract/upgrade.js'
import { noteConversion } from './changes.js'

/** `text` reads numbers from strings (parameters), `json` converts JSON numbers, `check` only validates. */
export type NumberMode = 'text' | 'json' | 'check'

interface Rules {
  /** Empty for any type. */
  readonly types: readonly string[]
  readonly format?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly exclusiveMinimum?: number | bigint
  readonly exclusiveMaximum?: number | bigint
  readonly multipleOf?: number | bigint
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  /** In `not`, `if` or `contains`, which must not change the value. */
  readonly isCondition?: boolean
}

const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const
const values = ['enum', 'const'] as const

/**
 * A schema with `exactNumber` instead of the standard keywords, in every subschema that constrains numbers;
 * for `text` also booleans and null, which arrive as text, too.
 */
export function withExactNumbers<Each extends AnySchema>(schema: Each, mode: NumberMode = 'json'): Each {
  return mapSchemas(schema, (each) => exact(each, mode))
}

function exact(given: Schema, mode: NumberMode): Schema {
  const { [exactNumbers]: exactly, ...rounded } = given
  const schema =
    typeof exactly === 'string'
      ? { ...rounded, ...(parse(exactly, undefined, { parseNumber: exactNumber }) as object) }
      : given
  const types = schema.type === undefined ? [] : ([schema.type].flat() as string[])
  checkEnum(schema, types)
  checkBounds(schema)
  if (!constrainsNumbers(schema, types) && !(mode === 'text' && isOfWords(schema, types))) return schema
  const copy: Record<string, unknown> = { ...schema }
  const rules: Record<string, unknown> = { types }
  const isNumericFormat =
    !types.includes('string') || schema.format === 'float' || String(schema.format) in integerRanges
  for (const name of [...bounds, ...values, ...(isNumericFormat ? ['format'] : [])]) {
    if (copy[name] !== undefined) rules[name] = copy[name]
    delete copy[name]
  }
  delete copy.type
  return { ...copy, exactNumber: rules }
}

// An enum value of another type can never match, and is usually a mistake: YAML reads `- 3` as a number.
function checkEnum({ enum: values }: Schema, types: readonly string[]): void {
  if (!Array.isArray(values) || types.length === 0) return
  const [other] = values.filter((value) => !typesOf(value).some((type) => types.includes(type)))
  if (other !== undefined)
    throw new Error(`the enum value ${stringify(other)} is not of type ${types.join(' or ')}`)
}

const pairs = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const

// A minimum above its maximum allows no value.
function checkBounds(schema: Schema): void {
  for (const [least, most] of pairs) {
    const [from, to] = [schema[least], schema[most]] as (number | bigint | undefined)[]
    if (from !== undefined && to !== undefined && from > to)
      throw new Error(`${least} ${from} is greater than ${most} ${to}`)
  }
}

function typesOf(value: unknown): string[] {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  return ['number', 'bigint'].includes(typeof value) ? ['integer', 'number'] : [typeof value]
}

/** A schema that is a condition: it does not change the value, and judges only what was sent. */
export function asCondition<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, toCondition)
}

/** A schema whose conditions are such. */
export function withConditions<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, (each, { isCondition }) => (isCondition ? toCondition(each) : each))
}

function toCondition({ default: _, excused = [], exactNumber: rules, ...each }: Schema): Schema {
  const required = [...((each.required ?? []) as string[]), ...(excused as string[])]
  return {
    ...each,
    ...(required.length > 0 && { required }),
    ...(rules !== undefined && { exactNumber: { ...(rules as Rules), isCondition: true } }),
  }
}

// Without a type, by its bounds and allowed values.
function constrainsNumbers(schema: Schema, types: readonly string[]): boolean {
  if (types.length > 0) return types.includes('integer') || types.includes('number')
  const allowed = [...((schema.enum as unknown[] | undefined) ?? []), schema.const]
  return bounds.some((name) => schema[name] !== undefined) || allowed.some(isNumber)
}

// Whether values are written as `true`, `false` or nothing.
function isOfWords({ enum: values = [], const: value }: Schema, types: readonly string[]): boolean {
  if (types.includes('string')) return false
  const isBoolean = [...(values as unknown[]), value].some((each) => typeof each === 'boolean')
  return types.includes('boolean') || types.includes('null') || (types.length === 0 && isBoolean)
}

/**
 * Adds the `exactNumber` keyword to an Ajv. It converts integers of a 64-bit format to bigint, and any other
 * number to number.
 */
export function addExactNumber(ajv: Ajv, mode: NumberMode): void {
  if (mode === 'check') addCheck(ajv)
  else addConversion(ajv, mode)
}

// As code: for a function, Ajv makes the path of every value, which takes longer than to check it.
function addCheck(ajv: Ajv): void {
  ajv.addKeyword({
    keyword: 'exactNumber',
    schemaType: 'object',
    error: { message: ({ params }) => _`${params.problem}` },
    code(context) {
      const { gen, data, schema } = context
      const check = gen.scopeValue('func', { ref: checkOf(schema as Rules) })
      const problem = gen.const('problem', _`${check}(${data})`)
      context.setParams({ problem })
      context.fail(_`${problem} !== undefined`)
    },
  })
}

function checkOf(rules: Rules): (data: unknown) => string | undefined {
  const [min, max] = integerRange(rules.format)
  const isPlain =
    rules.types.includes('integer') &&
    ![...bounds, ...values].some((name) => name in rules) &&
    !rules.types.includes('number')
  return (data) => {
    if (isPlain && typeof data === 'bigint' && data >= min && data <= max) return undefined
    return problemWith(data, rules)
  }
}

function addConversion(ajv: Ajv, mode: 'text' | 'json'): void {
  ajv.addKeyword({
    keyword: 'exactNumber',
    schemaType: 'object',
    errors: true,
    compile: (rules: Rules) => {
      const validate: DataValidateFunction = (data, context) => {
        const value = mode === 'text' && typeof data === 'string' ? fromText(data, rules) : data
        const message = problemWith(value, rules)
        validate.errors = message === undefined ? [] : [{ keyword: 'exactNumber', params: {}, message }]
        if (message !== undefined) return false
        if (context?.parentData && rules.isCondition !== true) noteValue(value, data, rules, context)
        return true
      }
      return validate
    },
  })
}

// A schema without a type converts only what no other schema of the same value does.
function noteValue(
  value: unknown,
  given: unknown,
  { types, format }: Rules,
  { parentData, parentDataProperty }: DataValidationCxt,
): void {
  const converted = isNumber(value) && types.length > 0 ? conversionTo(types, format)(value) : value
  if (converted === given) return
  noteConversion(() => {
    if (types.length > 0 || parentData[parentDataProperty] === given)
      parentData[parentDataProperty] = converted
  })
}

function fromText(text: string, { types, ...rules }: Rules): unknown {
  if (isOfWords(rules, types)) {
    if (text === '' && types.includes('null')) return null
    const isBoolean = types.length === 0 || types.includes('boolean')
    if (isBoolean && (text === 'true' || text === 'false')) return text === 'true'
  }
  return numberFromText(text, types)
}

/** A JSON number of one of the types; any other text, or a number that a double would round, unchanged. */
export function numberFromText(text: string, types: readonly string[]): bigint | number | string {
  if (/^-?(0|[1-9]\d*)$/.test(text)) return exactNumber(text)
  return types.includes('number') && numeral.test(text) && isKeptByDouble(text) ? Number(text) : text
}

const numeral = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

function conversionTo(types: readonly string[], format: string | undefined) {
  return types.includes('integer') && isBig(format) ? BigInt : Number
}

function problemWith(value: unknown, rules: Rules): string | undefined {
  // The schema's bounds first: they are narrower than those of the format.
  const message = (isNumber(value) ? boundProblem(value, rules) : undefined) ?? typeProblem(value, rules)
  if (message !== undefined) return message
  const allowed = rules.enum ?? (rules.const === undefined ? undefined : [rules.const])
  if (allowed === undefined || allowed.some((each) => isSame(each, value))) return undefined
  const shown = allowed.map((each) => (typeof each === 'object' ? JSON.stringify(each) : String(each)))
  return `must be ${allowed.length > 1 ? 'one of: ' : ''}${shown.join(', ')}`
}

function typeProblem(value: unknown, { types, format = '' }: Rules): string | undefined {
  if (types.length === 0) return undefined
  if (types.includes('number') && isNumber(value)) {
    if (format === 'float' && !isInRangeOfFloat(Number(value)))
      return 'must be a number in the range of a float, such as 1.5'
    // A number has the digits of its double already.
    return typeof value === 'number' || isKeptByDouble(String(value)) ? undefined : notKept
  }
  if (types.includes('integer') && isInteger(value)) {
    const [min, max] = integerRange(format)
    return value < min || value > max ? `must be an integer from ${min} to ${max}` : undefined
  }
  const isNumeric = typeof value === 'number' || typeof value === 'bigint' // also NaN
  if (!isNumeric && typesOf(value).some((type) => types.includes(type))) return undefined
  if (types.includes('number') && isRoundedText(value)) return notKept
  return `must be ${types
    .filter((type) => type !== 'null')
    .map(withArticle)
    .join(' or ')}`
}

// PostgreSQL's real takes neither infinity for a large number nor zero for a small one.
function isInRangeOfFloat(value: number): boolean {
  const float = Math.fround(value)
  return Number.isFinite(float) && (float !== 0 || value === 0)
}

const notKept = 'must be a number that a double represents exactly'

// A text that numberFromText has not converted.
function isRoundedText(value: unknown): boolean {
  return typeof value === 'string' && numeral.test(value) && !isKeptByDouble(value)
}

/** A type with its article: `an integer`. */
export function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`
}

// JavaScript compares a bigint with a number exactly.
function boundProblem(value: bigint | number, rules: Rules): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules
  const below = minimum !== undefined && value < minimum
  const above = maximum !== undefined && value > maximum
  if ((below || above) && minimum !== undefined && maximum !== undefined) {
    const type = rules.types.includes('integer') ? 'integer' : 'number'
    return `must be ${withArticle(type)} from ${minimum} to ${maximum}`
  }
  if (below) return `must be at least ${minimum}`
  if (above) return `must be at most ${maximum}`
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be above ${exclusiveMinimum}`
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `must be below ${exclusiveMaximum}`
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `must be a multiple of ${multipleOf}`
  return undefined
}

// In decimal arithmetic: with doubles, 19.99 is not a multiple of 0.01.
function isMultiple(value: bigint | number, of: bigint | number): boolean {
  const [a, b] = [decimal(String(value)), decimal(String(of))]
  const least = Math.min(a.exponent, b.exponent)
  const scaled = ({ digits, exponent }: typeof a) => BigInt(digits + '0'.repeat(exponent - least))
  return scaled(a) % scaled(b) === 0n
}

function isSame(allowed: unknown, value: unknown): boolean {
  if (isInteger(allowed) && isInteger(value)) return BigInt(allowed) === BigInt(value)
  return isDeepStrictEqual(allowed, value)
}

function isInteger(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}

function isNumber(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isFinite(value)
}
