// What the functions have in common that are printed beside those of Ajv: which schemas they know, and the
// tests of plain values. A value for which a test fails may be valid all the same: whoever asks then has its
// validator.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode, saysOnly } from '../../document/keywords.js'
import { patternSource } from '../../document/patterns.js'
import type { Reader } from '../../document/reader.js'
import { integerRange } from '../../lib/exact-number.js'
import { formats } from '../../values/formats.js'
import { literalOf } from './literals.js'

/** Keywords that are known, by type, besides what neither a validator nor a writer looks at. */
const known: Readonly<Record<string, readonly string[]>> = {
  object: ['type', 'properties', 'required', 'additionalProperties'],
  array: ['type', 'items', 'minItems', 'maxItems'],
  string: ['type', 'minLength', 'maxLength', 'pattern', 'format', 'enum'],
  integer: ['type', 'format', 'minimum', 'maximum'],
  number: ['type', 'format', 'minimum', 'maximum'],
  boolean: ['type'],
}

// For one function, which has its own code for each place of a schema: schemas that refer twice to the next
// would double it each time. As many as a writer has (response-schemas.ts).
const schemasMax = 1_000
const depthMax = 40

/** Finds schemas that have nothing but what is known, for one function. */
export class KnownSchemas {
  #count = 0
  #depth = 0

  /** @param more keywords that are known where these are used */
  constructor(
    readonly reader: Reader,
    readonly more: readonly string[],
  ) {}

  /** What is printed for a schema; undefined if it is not known, too deep, or one too many. */
  printed<Code>(schema: AnySchema, print: (target: Schema) => Code | undefined): Code | undefined {
    const target = this.#resolved(schema)
    if (target === undefined || this.#depth === depthMax || this.#count === schemasMax) return undefined
    this.#count++
    this.#depth++
    try {
      return print(target)
    } finally {
      this.#depth--
    }
  }

  // The schema, or what it refers to; undefined if it has anything else.
  #resolved(schema: AnySchema): Schema | undefined {
    const target = isNode(schema) && schema.$ref !== undefined ? this.#target(schema) : schema
    if (!isNode(target) || typeof target.type !== 'string') return undefined
    const keywords = Object.hasOwn(known, target.type) ? known[target.type] : undefined
    return keywords && saysOnly(target, [...keywords, ...this.more]) ? target : undefined
  }

  // What is said beside a reference counts for a validator, and not for a writer.
  #target(schema: Schema): Schema | undefined {
    return saysOnly(schema, ['$ref']) ? (this.reader.node(schema) as Schema) : undefined
  }
}

/** The names of a function's code, and its constants. */
export class Names {
  readonly constants: string[] = []
  #count = 0

  name(prefix: string): string {
    return `${prefix}${this.#count++}`
  }

  /** @param code may use `runtime` */
  constant(code: string): string {
    const name = this.name('c')
    this.constants.push(`const ${name}=${code}\n`)
    return name
  }
}

/** The tests of a text, by a known schema; undefined if they cannot be printed. */
export function textTests(schema: Schema, value: string, names: Names): readonly string[] | undefined {
  const tests = [enumTests, lengthTests, formTests].map((each) => each(schema, value, names))
  return tests.every((each) => each !== undefined) ? tests.flat() : undefined
}

// Up to here, comparing a text with each takes less time than looking it up.
const fewValues = 8

function enumTests({ enum: values }: Schema, value: string, names: Names): string[] | undefined {
  if (values === undefined) return []
  if (!Array.isArray(values) || !values.every((each) => typeof each === 'string')) return undefined
  if (values.length === 0) return undefined
  if (values.length > fewValues) return [`${names.constant(`new Set(${literalOf(values)})`)}.has(${value})`]
  return [`(${values.map((each) => `${value}===${literalOf(each)}`).join('||')})`]
}

// By characters. A text has at most its length of them, and fewer if it has pairs.
function lengthTests(
  { minLength = 0, maxLength }: Schema,
  value: string,
  names: Names,
): string[] | undefined {
  if (typeof minLength !== 'number' || !['number', 'undefined'].includes(typeof maxLength)) return undefined
  const tests = minLength > 0 ? [`${value}.length>=${minLength}`] : []
  if (minLength > 1) {
    const pairs = names.constant('/[\\ud800-\\udfff]/')
    tests.push(`(${value}.length>=${2 * minLength}||!${pairs}.test(${value}))`)
  }
  return maxLength === undefined ? tests : [...tests, `${value}.length<=${maxLength}`]
}

// The pattern of texts that PostgreSQL can store, which `includes` judges in half the time.
const withoutNul = ['^[^\\x00]*$', '^[^\\u0000]*$']

function formTests({ pattern, format }: Schema, value: string, names: Names): string[] | undefined {
  const tests: string[] = []
  if (pattern !== undefined) {
    if (typeof pattern !== 'string' || patternSource(pattern) === undefined) return undefined
    if (withoutNul.includes(pattern)) tests.push(`!${value}.includes('\\0')`)
    else tests.push(`${names.constant(`runtime.toRegExp(${literalOf(pattern)},'u')`)}.test(${value})`)
  }
  if (format !== undefined) {
    const validate = typeof format === 'string' ? formats[format]?.validate : undefined
    if (validate === undefined) return undefined
    const name = names.constant(`runtime.formats[${literalOf(format)}]`)
    tests.push(typeof validate === 'function' ? `${name}(${value})` : `${name}.test(${value})`)
  }
  return tests
}

/**
 * The tests of a number, or of a bigint where an integer may be one, by a known schema; undefined as above.
 */
export function numberTests(
  { type, format, minimum, maximum }: Schema,
  value: string,
): readonly string[] | undefined {
  const bounds = [minimum, maximum]
  if (!bounds.every((each) => ['number', 'bigint', 'undefined'].includes(typeof each))) return undefined
  if (type === 'number' && format !== undefined && format !== 'double') return undefined
  return [
    type === 'integer' ? integerTest(format, value) : `Number.isFinite(${value})`,
    ...(minimum === undefined ? [] : [`${value}>=${literalOf(minimum)}`]),
    ...(maximum === undefined ? [] : [`${value}<=${literalOf(maximum)}`]),
  ]
}

// Comparing a number with a bigint takes longer than with another number.
function integerTest(format: unknown, value: string): string {
  const [least, most] = integerRange(format)
  const isBig = `${value}>=${least}n&&${value}<=${most}n`
  const inRange = least < Number.MIN_SAFE_INTEGER ? '' : `&&${value}>=${least}&&${value}<=${most}`
  return `(typeof ${value}==='bigint'?${isBig}:Number.isSafeInteger(${value})${inRange})`
}

/** The tests of an array's length; undefined as above. */
export function countTests({ minItems = 0, maxItems }: Schema, value: string): readonly string[] | undefined {
  if (typeof minItems !== 'number' || !['number', 'undefined'].includes(typeof maxItems)) return undefined
  return [
    ...(minItems > 0 ? [`${value}.length>=${minItems}`] : []),
    ...(maxItems === undefined ? [] : [`${value}.length<=${maxItems}`]),
  ]
}

/** Whether a value is an object that inherits nothing from others than Object. */
export function plainTests(value: string): readonly string[] {
  const prototype = `Object.getPrototypeOf(${value})`
  return [
    `typeof ${value}==='object'&&${value}!==null`,
    `(${prototype}===Object.prototype||${prototype}===null)`,
  ]
}
