// Rewrites schemas to use the keyword `exactNumber` (exact-number-keyword.ts) in place of Ajv's own keywords
// for numbers.

import { stringify } from 'lossless-json'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, exactNumbers, mapSchemas } from '../../document/keywords.js'
import { integerRanges } from '../../lib/exact-number.js'
import {
  bounds,
  isNumber,
  isOfWords,
  type NumberMode,
  type Rules,
  valueTypes,
} from '../../runtime/exact-numbers.js'
import { exactly } from '../../runtime/exact-values.js'

const values = ['enum', 'const'] as const

/**
 * Returns a schema with `exactNumber` instead of the standard keywords, in every subschema that constrains
 * numbers. In mode `text`, that includes booleans and null, which arrive as text, too.
 */
export function withExactNumbers<Each extends AnySchema>(schema: Each, mode: NumberMode = 'json'): Each {
  return mapSchemas(schema, (each) => exact(each, mode))
}

function exact(given: Schema, mode: NumberMode): Schema {
  const schema = exactNumbers in given ? exactly(given) : given
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

// A value of `enum` with another type than the schema's can never match, and is usually a mistake: YAML reads
// `- 3` as a number.
function checkEnum({ enum: values }: Schema, types: readonly string[]): void {
  if (!Array.isArray(values) || types.length === 0) return
  const [other] = values.filter((value) => !valueTypes(value).some((type) => types.includes(type)))
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

/** Returns the schema as a condition: it does not change the value, and judges only what was sent. */
export function asCondition<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, toCondition)
}

/**
 * Returns a schema in which the subschemas under `if`, `not`, `contains` and `propertyNames` are conditions.
 */
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

// A schema without a type constrains numbers if it has bounds, or allows a number.
function constrainsNumbers(schema: Schema, types: readonly string[]): boolean {
  if (types.length > 0) return types.includes('integer') || types.includes('number')
  const allowed = [...((schema.enum as unknown[] | undefined) ?? []), schema.const]
  return bounds.some((name) => schema[name] !== undefined) || allowed.some(isNumber)
}
