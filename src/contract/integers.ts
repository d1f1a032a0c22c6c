// Exact integers. Ajv's own `integer` refuses bigint, and its coercion takes `0x10` for 16; this keyword
// takes the place of `type: integer` and of the bounds beside it, in every schema the server compiles.

import type { Ajv, ErrorObject } from 'ajv'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import type { Schema } from './document.js'

/** What becomes of an integer: read from text (parameters), read from JSON, or only checked. */
export type IntegerMode = 'text' | 'json' | 'check'

interface Rules {
  format?: string
  nullable?: boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  enum?: unknown[]
  const?: unknown
}

const ruleNames = [
  'format',
  'nullable',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'enum',
  'const',
] as const

const ranges: Record<string, readonly [bigint, bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
}

// Without a format the generated type is `number`, which is exact only so far.
const safeRange = [BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER)] as const

const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const schemas = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'not',
  'if',
  'then',
  'else',
  'contains',
]

/** A schema, or the boolean that stands for one. */
type AnySchema = Schema | boolean

/** The same schema with the `exactInteger` keyword wherever it says `type: integer`. */
export function withExactIntegers<Each extends AnySchema>(schema: Each): Each
export function withExactIntegers(schema: AnySchema): AnySchema {
  if (typeof schema === 'boolean') return schema
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, rewritten(keyword, value)])
  const copy: Record<string, unknown> = Object.fromEntries(entries)
  const nullable = Array.isArray(copy.type) && copy.type.length === 2 && copy.type.includes('null')
  if (copy.type !== 'integer' && !(nullable && (copy.type as unknown[]).includes('integer'))) return copy
  const rules: Record<string, unknown> = nullable ? { nullable: true } : {}
  for (const name of ruleNames) {
    if (copy[name] !== undefined) rules[name] = copy[name]
    delete copy[name]
  }
  delete copy.type
  return { ...copy, exactInteger: rules }
}

function rewritten(keyword: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (schemas.includes(keyword)) return withExactIntegers(value as AnySchema)
  if (schemaLists.includes(keyword)) return (value as AnySchema[]).map((each) => withExactIntegers(each))
  if (!schemaMaps.includes(keyword)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withExactIntegers(each)]))
}

/** Teaches Ajv the `exactInteger` keyword. int64 becomes bigint, any other integer a number. */
export function addExactInteger(ajv: Ajv, mode: IntegerMode): void {
  ajv.addKeyword({
    keyword: 'exactInteger',
    schemaType: 'object',
    modifying: mode !== 'check',
    errors: true,
    compile: (rules: Rules) => {
      const validate: DataValidateFunction = (data, context) => {
        if (data === null && rules.nullable) return true
        const value = mode === 'text' && typeof data === 'string' ? fromText(data) : data
        const problem = problemWith(value, rules)
        validate.errors = problem === undefined ? [] : [problem]
        if (problem !== undefined) return false
        if (mode !== 'check' && context?.parentData) {
          context.parentData[context.parentDataProperty] = converted(value as bigint | number, rules)
        }
        return true
      }
      return validate
    },
  })
}

function fromText(text: string): unknown {
  if (!/^-?(0|[1-9]\d*)$/.test(text)) return text
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

function converted(value: bigint | number, rules: Rules): bigint | number {
  return rules.format === 'int64' ? BigInt(value) : Number(value)
}

function problemWith(value: unknown, rules: Rules): Partial<ErrorObject> | undefined {
  const problem = (message: string) => ({ keyword: 'exactInteger', params: {}, message })
  if (!isInteger(value)) return problem('must be an integer')
  const [min, max] = ranges[rules.format ?? ''] ?? safeRange
  if (value < min || value > max) return problem(`must be an integer from ${min} to ${max}`)
  const bound = boundProblem(value, rules)
  if (bound !== undefined) return problem(bound)
  const allowed = rules.enum ?? (rules.const === undefined ? undefined : [rules.const])
  if (allowed !== undefined && !allowed.some((each) => isInteger(each) && BigInt(each) === BigInt(value))) {
    return problem(`must be ${allowed.length > 1 ? 'one of: ' : ''}${allowed.join(', ')}`)
  }
  return undefined
}

// A comparison of a bigint with a number is exact in JavaScript.
function boundProblem(value: bigint | number, rules: Rules): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules
  const below = minimum !== undefined && value < minimum
  const above = maximum !== undefined && value > maximum
  if ((below || above) && minimum !== undefined && maximum !== undefined) {
    return `must be an integer from ${minimum} to ${maximum}`
  }
  if (below) return `must be at least ${minimum}`
  if (above) return `must be at most ${maximum}`
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be above ${exclusiveMinimum}`
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `must be below ${exclusiveMaximum}`
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `must be a multiple of ${multipleOf}`
  return undefined
}

function isMultiple(value: bigint | number, of: number): boolean {
  return Number.isInteger(of) ? BigInt(value) % BigInt(of) === 0n : Number.isInteger(Number(value) / of)
}

function isInteger(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
