// Subschemas: the keywords that contain schemas, and a map over all of them.

import type { Schema } from '../contract/contract.js'

/** A schema, or `true` or `false`. */
export type AnySchema = Schema | boolean

/** Keywords with a map of schemas by name. */
export const schemaMaps: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]
/** Keywords with an array of schemas. */
export const schemaLists: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
/** Keywords with one schema. */
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

// Their subschemas only decide whether other schemas apply; they must not change the value.
const conditions = ['not', 'if', 'contains']

/**
 * A copy of a schema with `change` applied to each of its subschemas, innermost first, and to itself.
 * @param change its second argument is whether the schema is (in) a condition, which must not change the value
 */
export function mapSchemas<Each extends AnySchema>(
  schema: Each,
  change: (schema: Schema, isCondition: boolean) => Schema,
  isCondition = false,
): Each {
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
  return change(Object.fromEntries(entries), isCondition) as Each // an object stays one
}
