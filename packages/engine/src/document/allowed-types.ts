// Finds the types that a schema allows, as far as its keywords tell: they decide how the text of a parameter
// or of a form's field is read.

import { choicesOf } from './keywords.js'
import { type Node, nodesOf } from './reader.js'

type Types = readonly string[]

/** Keywords by which a schema without a type describes objects. */
export const ofObjects: readonly string[] = [
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['required', 'dependentRequired', 'dependentSchemas'],
]
/** Keywords by which a schema without a type describes arrays. */
export const ofArrays: readonly string[] = ['items', 'prefixItems', 'unevaluatedItems']

/**
 * Returns the types that a dereferenced schema allows; undefined if it allows any. Conditions, and schemas
 * that depend on them, are not considered.
 */
export function allowedTypes(schema: Node): Types | undefined {
  if (schema.type !== undefined) return [schema.type].flat() as string[]
  if (schema.const !== undefined) return [typeOf(schema.const)]
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOf))]
  const choices = choicesOf(schema).map(({ alternatives }) => nodesOf(alternatives))
  const all = [
    ...nodesOf(schema.allOf).map(allowedTypes),
    ...choices.map((each) => unionOf(each.map(allowedTypes))),
  ]
  const known = all.filter((each) => each !== undefined)
  if (known.length > 0) return known.reduce(both)
  if (ofObjects.some((keyword) => keyword in schema)) return ['object']
  return ofArrays.some((keyword) => keyword in schema) ? ['array'] : undefined
}

/** Returns the types that at least one of several schemas allows; undefined if one of them allows any. */
export function unionOf(types: readonly (Types | undefined)[]): Types | undefined {
  const known = types.filter((each) => each !== undefined)
  return known.length < types.length ? undefined : [...new Set(known.flat())]
}

// Returns the types that both allow. Every integer is a number.
function both(a: Types, b: Types): Types {
  const isIn = (type: string, types: Types) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  return [...new Set([...a.filter((type) => isIn(type, b)), ...b.filter((type) => isIn(type, a))])]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
