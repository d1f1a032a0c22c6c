// Finds out if a schema accepts a value, as far as single keywords tell it.

import { isDeepStrictEqual } from 'node:util'
import type { Node } from './node.js'
import { assertionsOf, typeOf, typesOf } from './simplify.js'

type Rule = (limit: unknown, value: string | number | bigint) => boolean

function ofText(isWithin: (length: number, limit: number) => boolean): Rule {
  return (limit, value) => typeof value !== 'string' || isWithin([...value].length, Number(limit))
}

function ofNumber(isWithin: (value: number | bigint, limit: number | bigint) => boolean): Rule {
  return (limit, value) => typeof value === 'string' || isWithin(value, limit as number | bigint)
}

const rules: Readonly<Record<string, Rule>> = {
  minLength: ofText((length, limit) => length >= limit),
  maxLength: ofText((length, limit) => length <= limit),
  minimum: ofNumber((value, limit) => value >= limit),
  exclusiveMinimum: ofNumber((value, limit) => value > limit),
  maximum: ofNumber((value, limit) => value <= limit),
  exclusiveMaximum: ofNumber((value, limit) => value < limit),
}

/**
 * Returns true if a normalised schema surely accepts a value, and false if it surely refuses it. Returns
 * undefined if it has keywords that are not read here, or if the value is an object or an array.
 */
export function verdictOn(schema: Node, value: unknown): boolean | undefined {
  if (!typesOf(schema).includes(typeOf(value))) return false
  const { type: _, enum: values, ...others } = assertionsOf(schema)
  if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(each, value))) return false
  if (typeof value === 'object' && value !== null) return Object.keys(others).length === 0 ? true : undefined
  const verdicts = Object.entries(others).map(([keyword, limit]) => {
    if (keyword.startsWith('x-') || value === null || typeof value === 'boolean')
      return rules[keyword] && true
    return rules[keyword]?.(limit, value as string | number | bigint) // the only types left
  })
  if (verdicts.includes(false)) return false
  return verdicts.includes(undefined) ? undefined : true
}

/**
 * Returns the values of a normalised schema that lists them, or whose type has few; undefined for any other
 * schema.
 */
export function valuesOf(schema: Node): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum
  if (Object.keys(assertionsOf(schema)).join() !== 'type') return undefined
  return schema.type === 'null' ? [null] : schema.type === 'boolean' ? [true, false] : undefined
}

/** True if a normalised schema surely accepts a value. */
export function acceptsValue(schema: Node, value: unknown): boolean {
  return verdictOn(schema, value) === true
}

/** True if a normalised schema surely refuses a value. */
export function refusesValue(schema: Node, value: unknown): boolean {
  return verdictOn(schema, value) === false
}
