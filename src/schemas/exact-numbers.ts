// Exact numbers. Ajv's own keywords know no bigint, and its coercion takes `0x10` for 16; this one takes the place
// of `type`, where that allows a number, and of what stands beside it, in every schema the server compiles.

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Ajv, ErrorObject } from 'ajv'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import { parse, stringify } from 'lossless-json'
import type { Schema } from '../contract/types.js'
import { exactNumbers } from '../contract/upgrade.js'
import { exactNumber, integerRange, integerRanges, isBig } from '../lib/exact-number.js'

/** What becomes of a number: read from text (parameters), read from JSON, or only checked. */
export type NumberMode = 'text' | 'json' | 'check'

interface Rules {
  /** Empty: any. */
  readonly types: readonly string[]
  readonly format?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly exclusiveMinimum?: number | bigint
  readonly exclusiveMaximum?: number | bigint
  readonly multipleOf?: number | bigint
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  /** The number is only looked at. */
  readonly isCondition?: boolean
}

const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const
const values = ['enum', 'const'] as const

/** The keywords that hold schemas by names. */
export const schemaMaps: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]
/** Those in a list. */
export const schemaLists: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
/** Those with one. */
export const schemas: readonly string[] = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contains',
]

/** A schema, or the boolean that stands for one. */
export type AnySchema = Schema | boolean

// What they find of a value decides on other schemas alone.
const conditions = ['not', 'if', 'contains']

/**
 * The same schema after a change to each schema in it, from the innermost.
 * @param change is told, too, whether a value is only looked at by that schema, and stays as it is
 */
export function mapSchemas(
  schema: AnySchema,
  change: (schema: Schema, isCondition: boolean) => Schema,
  isCondition = false,
): AnySchema {
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = (each: AnySchema, isInner = isCondition) => mapSchemas(each, change, isInner)
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (typeof value !== 'object' || value === null) return [keyword, value]
    if (schemas.includes(keyword))
      return [keyword, inner(value as AnySchema, isCondition || conditions.includes(keyword))]
    if (schemaLists.includes(keyword)) return [keyword, (value as AnySchema[]).map((each) => inner(each))]
    if (!schemaMaps.includes(keyword)) return [keyword, value]
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inner(each)]))]
  })
  return change(Object.fromEntries(entries), isCondition)
}

/** The same schema with the `exactNumber` keyword wherever it speaks of numbers. */
export function withExactNumbers<Each extends AnySchema>(schema: Each): Each
export function withExactNumbers(schema: AnySchema): AnySchema {
  return mapSchemas(schema, exact)
}

function exact(given: Schema): Schema {
  const { [exactNumbers]: exactly, ...rounded } = given
  const schema =
    typeof exactly === 'string'
      ? { ...rounded, ...(parse(exactly, undefined, { parseNumber: exactNumber }) as object) }
      : given
  const types = schema.type === undefined ? [] : ([schema.type].flat() as string[])
  checkEnum(schema, types)
  checkBounds(schema)
  if (!speaksOfNumbers(schema, types)) return schema
  const copy: Record<string, unknown> = { ...schema }
  const rules: Record<string, unknown> = { types }
  const isNumericFormat = !types.includes('string') || String(schema.format) in integerRanges
  for (const name of [...bounds, ...values, ...(isNumericFormat ? ['format'] : [])]) {
    if (copy[name] !== undefined) rules[name] = copy[name]
    delete copy[name]
  }
  delete copy.type
  if (typeof copy.default === 'bigint') copy.default = defaultMark + copy.default
  return { ...copy, exactNumber: rules }
}

// A value of another type could never be sent, and most often stands for one that is: YAML reads `- 3` as a number.
function checkEnum({ enum: values }: Schema, types: readonly string[]): void {
  if (!Array.isArray(values) || types.length === 0) return
  const [other] = values.filter((value) => !typesOf(value).some((type) => types.includes(type)))
  if (other !== undefined)
    throw new Error(`the value ${stringify(other)} of an enum is not of the type ${types.join(' or ')}`)
}

const pairs = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const

// Between them nothing could be sent.
function checkBounds(schema: Schema): void {
  for (const [least, most] of pairs) {
    const [from, to] = [schema[least], schema[most]] as (number | bigint | undefined)[]
    if (from !== undefined && to !== undefined && from > to)
      throw new Error(`its ${least} ${from} is above its ${most} ${to}`)
  }
}

function typesOf(value: unknown): string[] {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  return ['number', 'bigint'].includes(typeof value) ? ['integer', 'number'] : [typeof value]
}

// Ajv writes defaults into code as JSON, which has no bigint. A caller cannot know the mark.
const defaultMark = randomUUID()

/** A schema's default as the value that is given for it. */
export function defaultOf({ default: value }: Schema): unknown {
  return typeof value === 'string' && value.startsWith(defaultMark)
    ? BigInt(value.slice(defaultMark.length))
    : value
}

/** A schema, already with exact numbers, that leaves a value as it is. */
export function asCondition(schema: AnySchema): AnySchema {
  return mapSchemas(schema, ({ default: _, ...each }) =>
    each.exactNumber === undefined
      ? each
      : { ...each, exactNumber: { ...(each.exactNumber as Rules), isCondition: true } },
  )
}

// Where no type is named, its own numbers tell.
function speaksOfNumbers(schema: Schema, types: readonly string[]): boolean {
  if (types.length > 0) return types.includes('integer') || types.includes('number')
  const allowed = [...((schema.enum as unknown[] | undefined) ?? []), schema.const]
  return bounds.some((name) => schema[name] !== undefined) || allowed.some(isNumber)
}

/** Teaches Ajv the `exactNumber` keyword. An integer of a big format becomes a bigint, any other number a number. */
export function addExactNumber(ajv: Ajv, mode: NumberMode): void {
  ajv.addKeyword({
    keyword: 'exactNumber',
    schemaType: 'object',
    modifying: mode !== 'check',
    errors: true,
    compile: (rules: Rules, _, { compositeRule = false }) => {
      // What is only looked at, as in `not` and `if`, stays as it is.
      const isLookedAt = compositeRule || rules.isCondition
      // In JSON, whoever names the type decides, and may have done so.
      const isConverting = !isLookedAt && (mode === 'text' || (mode === 'json' && rules.types.length > 0))
      const convert = conversionTo(rules)
      const validate: DataValidateFunction = (data, context) => {
        const value = typeof data === 'string' ? fromString(data, mode, rules) : data
        const problem = problemWith(value, rules)
        validate.errors = problem === undefined ? [] : [{ keyword: 'exactNumber', params: {}, ...problem }]
        if (problem !== undefined) return false
        if (isConverting && isNumber(value) && context?.parentData) {
          context.parentData[context.parentDataProperty] = convert(value)
        }
        return true
      }
      return validate
    },
  })
}

function fromString(text: string, mode: NumberMode, rules: Rules): unknown {
  if (text.startsWith(defaultMark)) return BigInt(text.slice(defaultMark.length))
  return mode === 'text' ? numberFromText(text, rules.types) : text
}

/** A number as JSON writes it, of one of the types; what is none stays text. */
export function numberFromText(text: string, types: readonly string[]): bigint | number | string {
  if (/^-?(0|[1-9]\d*)$/.test(text)) return exactNumber(text)
  const isNumeral = types.includes('number') && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)
  return isNumeral ? Number(text) : text
}

function conversionTo({ types, format }: Rules): (value: bigint | number) => bigint | number {
  if (types.length === 0) return (value) => value
  return types.includes('integer') && isBig(format) ? BigInt : Number
}

type Problem = Pick<ErrorObject, 'message'> & { readonly keyword?: string }

function problemWith(value: unknown, rules: Rules): Problem | undefined {
  // Its own bounds first: whoever is beyond those of the format as well is to hear of the narrower.
  const message = (isNumber(value) ? boundProblem(value, rules) : undefined) ?? typeProblem(value, rules)
  if (message !== undefined) return { message }
  const allowed = rules.enum ?? (rules.const === undefined ? undefined : [rules.const])
  if (allowed === undefined || allowed.some((each) => isSame(each, value))) return undefined
  const shown = allowed.map((each) => (typeof each === 'object' ? JSON.stringify(each) : String(each)))
  return { message: `must be ${allowed.length > 1 ? 'one of: ' : ''}${shown.join(', ')}` }
}

function typeProblem(value: unknown, { types, format = '' }: Rules): string | undefined {
  if (types.length === 0) return undefined
  if (types.includes('number') && isNumber(value)) {
    // As the digits say, or as those of the double do: 1e23 is none of the integers that a double can be.
    const double = Number(value)
    const isExact = typeof value === 'number' || BigInt(double) === value || decimal(double).digits === value
    return isExact ? undefined : 'must be a number that a double holds exactly'
  }
  if (types.includes('integer') && isInteger(value)) {
    const [min, max] = integerRange(format)
    return value < min || value > max ? `must be an integer from ${min} to ${max}` : undefined
  }
  if (!isNumber(value) && types.includes(typeOf(value))) return undefined
  return `must be ${types
    .filter((type) => type !== 'null')
    .map(withArticle)
    .join(' or ')}`
}

// Of what is no number to JSON Schema: NaN, too.
function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' ? 'not finite' : typeof value
}

/** A type as a noun in a sentence. */
export function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`
}

// A comparison of a bigint with a number is exact in JavaScript.
function boundProblem(value: bigint | number, rules: Rules): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules
  const below = minimum !== undefined && value < minimum
  const above = maximum !== undefined && value > maximum
  if ((below || above) && minimum !== undefined && maximum !== undefined) {
    return `must be ${rules.types.includes('integer') ? 'an integer' : 'a number'} from ${minimum} to ${maximum}`
  }
  if (below) return `must be at least ${minimum}`
  if (above) return `must be at most ${maximum}`
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be above ${exclusiveMinimum}`
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `must be below ${exclusiveMaximum}`
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `must be a multiple of ${multipleOf}`
  return undefined
}

// In decimals, as both are written: of doubles, 19.99 is no multiple of 0.01.
function isMultiple(value: bigint | number, of: bigint | number): boolean {
  const [a, b] = [decimal(value), decimal(of)]
  const scale = Math.max(a.decimals, b.decimals)
  const scaled = ({ digits, decimals }: typeof a) => digits * 10n ** BigInt(scale - decimals)
  return scaled(a) % scaled(b) === 0n
}

function decimal(value: bigint | number): { readonly digits: bigint; readonly decimals: number } {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(String(value)) ?? []
  const decimals = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return decimals < 0 ? { digits: digits * 10n ** BigInt(-decimals), decimals: 0 } : { digits, decimals }
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
