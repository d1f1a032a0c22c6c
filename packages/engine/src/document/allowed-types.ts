// The types that a schema allows, as far as its keywords show: they decide how the text of a parameter or of
// a form's field is read.

import { choicesOf } from './keywords.js'
import { type Node, nodesOf } from './reader.js'

type Types = readonly string[]

/** The keywords that show that a schema without a type means objects. */
export const ofObjects: readonly string[] = [
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['required', 'dependentRequired', 'dependentSchemas'],
]
/** The same for arrays. */
export const ofArrays: readonly string[] = ['items', 'prefixItems', 'unevaluatedItems']

/**
 * The types that a dereferenced schema allows; undefined for any. Conditions and what depends on them are not
 * considered.
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

/** The types that one of several schemas allows; undefined for any. */
export function unionOf(types: readonly (Types | undefined)[]): Types | undefined {
  const known = types.filter((each) => each !== undefined)
  return known.length < types.length ? undefined : [...new Set(known.flat())]
}

// Every integer is a number.
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
