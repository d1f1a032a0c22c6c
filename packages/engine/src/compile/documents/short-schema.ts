// Describes a schema in a few words: `string of 1 to 255 characters`. It says less than the schema where
// words would be longer.

import { stringify } from 'lossless-json'
import { choicesOf, composingKeywords } from '../../document/keywords.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { exactly } from '../../runtime/exact-values.js'

// Deeper schemas are rare, and nobody reads them in a line.
const depthMax = 4

// What a schema that is `false` allows.
const nothing = 'nothing'

/**
 * Returns a schema in words. A long schema with a name is represented by its name, and so is a schema that
 * contains itself.
 */
export function shortSchema(schema: unknown, reader: Reader, depth = 0): string {
  if (reader.isFalse(schema)) return nothing
  const { $ref } = nodeOf(schema)
  const target = exactly(reader.node(schema))
  if (typeof $ref === 'string' && (depth === depthMax || isLong(target))) return schemaNameOf($ref)
  if (depth === depthMax) return 'any'
  const inner = (each: unknown) => shortSchema(each, reader, depth + 1)
  const text = ownWords(target, inner)
  return target.default === undefined ? text : `${text}, by default ${json(target.default)}`
}

function schemaNameOf(ref: string): string {
  return decodeURIComponent(ref.slice(ref.lastIndexOf('/') + 1))
}

// More would make a line too long to read.
const valuesMax = 8

function isLong(schema: Node): boolean {
  const { properties, enum: values } = schema
  return (
    properties !== undefined || isComposed(schema) || (Array.isArray(values) && values.length > valuesMax)
  )
}

function isComposed(schema: Node): boolean {
  return composingKeywords.some((keyword) => schema[keyword] !== undefined)
}

type Inner = (schema: unknown) => string

function ownWords(schema: Node, inner: Inner): string {
  const { allOf, type } = schema
  const parts = [
    ...(hasType(schema) ? [typeWords(schema, inner)] : []),
    ...[allOf].filter(Array.isArray).flatMap((each) => each.filter((one) => one !== true).map(inner)),
    ...choicesOf(schema).map((each) => alternatives(each.alternatives.map(inner))),
  ]
  return parts.length > 0 ? parts.join(' and ') : String(type ?? 'any')
}

function alternatives(all: readonly string[]): string {
  return all.filter((each) => each !== nothing).join(' or ') || nothing
}

// `type: object` beside alternatives adds nothing to them.
function hasType(schema: Node): boolean {
  const { type, enum: values, const: value, properties } = schema
  const isShown = type !== 'object' || !isComposed(schema)
  return [isShown ? type : undefined, values, value, properties].some((each) => each !== undefined)
}

function typeWords(schema: Node, inner: Inner): string {
  if (schema.const !== undefined) return json(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map(json).join(' or ')
  const types = [schema.type ?? 'object'].flat().map(String)
  return types.map((type) => (words[type] ?? (() => type))(schema, inner)).join(' or ')
}

const words: Readonly<Record<string, (schema: Node, inner: Inner) => string>> = {
  array: ({ items, minItems, maxItems }, inner) =>
    `array of ${inner(items)}${(minItems ?? maxItems) ? ',' : ''}${range(minItems, maxItems, 'item')}`,
  integer: ({ format, minimum, maximum }) => `${format ?? 'integer'}${range(minimum, maximum)}`,
  number: ({ format, minimum, maximum }) => `${format ?? 'number'}${range(minimum, maximum)}`,
  object: objectWords,
  string: ({ format, minLength, maxLength, 'x-pattern-description': words }) => {
    const type = format === undefined ? 'string' : `string (${format})`
    const pattern = words === undefined ? '' : `, ${words}`
    return type + range(minLength, maxLength, 'character') + pattern
  },
}

function objectWords({ properties, required, additionalProperties: others }: Node, inner: Inner): string {
  const isRequired = new Set(Array.isArray(required) ? required : [])
  const members = Object.entries(nodeOf(properties)).map(
    ([name, of]) => `${name}${isRequired.has(name) ? '' : '?'}: ${inner(of)}`,
  )
  if (typeof others === 'object') members.push(`any other: ${inner(others)}`)
  return members.length > 0 ? `{ ${members.join(', ')} }` : 'object'
}

function range(min: unknown, max: unknown, unit = ''): string {
  if (min === undefined && max === undefined) return ''
  const last = `${max ?? min}${unit && ` ${unit}${String(max ?? min) === '1' ? '' : 's'}`}`
  if (max === undefined) return ` at least ${last}`
  return min === undefined ? ` at most ${last}` : ` from ${min} to ${last}`
}

function json(value: unknown): string {
  return stringify(value) ?? ''
}
