// The keywords that contain schemas, and the walks over them. Every reader of schemas uses them, so that none
// misses what another one finds.

import type { Schema } from './contract.js'

/** A schema, or `true` or `false`. */
export type AnySchema = Schema | boolean

/** The extension of a schema with the exact values, as JSON, of keywords that a double would round. */
export const exactNumbers = 'x-exact-numbers'

/**
 * The same of examples, which assert nothing: what is printed or compiled of a schema does not ask for it.
 */
export const exactExamples = 'x-exact-examples'

/** A keyword that contains schemas. */
export interface SchemaKeyword {
  /** One schema, an array of them, or a map by name. */
  readonly holds: 'one' | 'list' | 'map'
  /** What they are applied to: the value itself, its members (properties, their names, items), or nothing. */
  readonly appliesTo: 'value' | 'members' | 'nothing'
  /** Whether the schemas only decide if others apply. They must not change the value. */
  readonly isCondition: boolean
}

/** The keywords by which a value must match one of several schemas: exactly one, or at least one. */
export const choiceKeywords = ['oneOf', 'anyOf'] as const

export type ChoiceKeyword = (typeof choiceKeywords)[number]

/** The keywords that compose a schema of others, which describe the same value. */
export const composingKeywords = ['allOf', ...choiceKeywords] as const

const table: readonly [string, SchemaKeyword['holds'], SchemaKeyword['appliesTo'], 'condition'?][] = [
  ['allOf', 'list', 'value'],
  ...choiceKeywords.map((keyword) => [keyword, 'list', 'value'] as [string, 'list', 'value']),
  ['then', 'one', 'value'],
  ['else', 'one', 'value'],
  ['dependentSchemas', 'map', 'value'],
  ['if', 'one', 'value', 'condition'],
  ['not', 'one', 'value', 'condition'],
  ['properties', 'map', 'members'],
  ['patternProperties', 'map', 'members'],
  ['additionalProperties', 'one', 'members'],
  ['unevaluatedProperties', 'one', 'members'],
  ['propertyNames', 'one', 'members', 'condition'],
  ['items', 'one', 'members'],
  ['prefixItems', 'list', 'members'],
  ['unevaluatedItems', 'one', 'members'],
  ['contains', 'one', 'members', 'condition'],
  ['$defs', 'map', 'nothing'],
  ['definitions', 'map', 'nothing'],
  ['contentSchema', 'one', 'nothing'],
]

/**
 * The keywords that contain schemas (JSON Schema Core 2020-12, sections 8.2.4, 10 and 11; Validation, section
 * 8.5), by name.
 */
export const schemaKeywords: ReadonlyMap<string, SchemaKeyword> = new Map(
  table.map(([name, holds, appliesTo, condition]) => {
    return [name, { holds, appliesTo, isCondition: condition !== undefined }]
  }),
)

/** The type of value that a keyword is about, as which others are valid by it; `integer` for all numbers. */
export const keywordTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: 'minLength maxLength pattern',
    integer: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    array:
      'items prefixItems unevaluatedItems contains minContains maxContains minItems maxItems uniqueItems',
    object:
      'properties patternProperties additionalProperties unevaluatedProperties propertyNames required ' +
      'dependentRequired dependentSchemas minProperties maxProperties',
  }).flatMap(([type, keywords]) => keywords.split(' ').map((keyword) => [keyword, type] as const)),
)
const ofAnyType: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', 'format', '$ref', '$dynamicRef', ...composingKeywords, 'not'],
  ...['if', 'then', 'else'],
])

/** Whether a value, of a type, may be invalid by a keyword; what Ajv does not know is an annotation. */
export function asserts(keyword: string, type?: string): boolean {
  const about = keywordTypes.get(keyword)
  return ofAnyType.has(keyword) || (about !== undefined && (type === undefined || about === type))
}

/** Keywords by which no value is invalid, changed or written in another way. */
export const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'example', 'examples', 'deprecated', 'externalDocs', 'xml', '$comment'],
])

/** Whether a schema has no other keywords than these, and what says nothing to a validator or a writer. */
export function saysOnly(schema: Schema, keywords: readonly string[]): boolean {
  return Object.keys(schema).every(
    (each) =>
      keywords.includes(each) || annotations.has(each) || (each.startsWith('x-') && each !== exactNumbers),
  )
}

/** The formats of strings that are checked (schemas/formats.ts). */
export const checkedFormats = [
  'date',
  'date-time',
  'time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'url',
  'uri-reference',
  'uri-template',
  'json-pointer',
  'relative-json-pointer',
  'regex',
  'uuid',
  'byte',
  'base64url',
  'http-date',
] as const

/** Keywords of other drafts of JSON Schema, with what to write instead. */
export const ofOtherDrafts: ReadonlyMap<string, string> = new Map([
  ['$recursiveAnchor', '$dynamicAnchor, with a name'],
  ['$recursiveRef', '$dynamicRef, with # and the name of the $dynamicAnchor'],
  ['additionalItems', 'items, and prefixItems for the first ones'],
  ['dependencies', 'dependentRequired or dependentSchemas'],
])

/** A schema directly within another one. */
export interface Subschema extends SchemaKeyword {
  readonly keyword: string
  /** Its name or index, if the keyword holds several. */
  readonly name?: string
  readonly schema: Schema
}

/** A schema with `change` applied to each schema directly within it, except `true` and `false`. */
export function mapSubschemas(schema: Schema, change: (subschema: Subschema) => Schema): Schema {
  const changed = changedMembers(schema, (value, key) => {
    const keyword = String(key)
    const known = schemaKeywords.get(keyword)
    if (known === undefined || typeof value !== 'object' || value === null) return value
    if (known.holds === 'one') return isNode(value) ? change({ ...known, keyword, schema: value }) : value
    return changedMembers(value, (each, name) =>
      isNode(each) ? change({ ...known, keyword, name: String(name), schema: each }) : each,
    )
  })
  return changed as Schema // an object stays one
}

/** The schemas directly within a schema, except `true` and `false`. */
export function subschemasOf(schema: Schema): Subschema[] {
  const found: Subschema[] = []
  mapSubschemas(schema, (each) => {
    found.push(each)
    return each.schema
  })
  return found
}

/** The schemas directly within one of several, by some keywords. */
export function subschemasBy(schemas: readonly Schema[], keywords: readonly string[]): Subschema[] {
  return schemas.flatMap(subschemasOf).filter(({ keyword }) => keywords.includes(keyword))
}

/**
 * A schema and those within it at any depth, innermost first, except `true` and `false`.
 * @param isEntered whether to go into a subschema; by default into each
 */
export function schemasIn(schema: AnySchema, isEntered = (_: Subschema) => true): Schema[] {
  if (typeof schema !== 'object') return []
  const inner = subschemasOf(schema).filter(isEntered)
  return [...inner.flatMap((each) => schemasIn(each.schema, isEntered)), schema]
}

/** A keyword of a schema by which a value must match one of several, and these. */
export interface SchemaChoice {
  readonly keyword: ChoiceKeyword
  readonly alternatives: readonly AnySchema[]
}

/** The choices of a schema. */
export function choicesOf(schema: Schema): SchemaChoice[] {
  return choiceKeywords.flatMap((keyword) => {
    const alternatives = schema[keyword]
    return Array.isArray(alternatives) && alternatives.length > 0 ? [{ keyword, alternatives }] : []
  })
}

/** The alternatives of all choices of a schema; `true` and `false` read as empty. */
export function alternativesOf(schema: Schema): Schema[] {
  return choicesOf(schema).flatMap(({ alternatives }) =>
    alternatives.map((each) => (isNode(each) ? each : {})),
  )
}

/** Whether a keyword is that of a choice. */
export function isChoice(keyword: unknown): keyword is ChoiceKeyword {
  return choiceKeywords.some((each) => each === keyword)
}

/** A schema and those within it that describe the same value, as in `allOf` and `then`; no conditions. */
export function schemasOfValue(schema: Schema): Schema[] {
  return schemasIn(schema, ({ appliesTo, isCondition }) => appliesTo === 'value' && !isCondition)
}

/**
 * A schema and those that its `allOf` leads to, depth first, each once. Without recursion: a chain of
 * references has any length.
 * @param resolve follows a `$ref`
 */
export function* extendedBy<Each extends Schema>(
  schema: Each,
  resolve: (schema: Each) => Each,
): Generator<Each> {
  const seen = new Set<Each>()
  const pending = [schema]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const part = resolve(next)
    if (seen.has(part)) continue
    seen.add(part)
    yield part
    if (Array.isArray(part.allOf)) pending.push(...part.allOf.toReversed())
  }
}

/** How a schema is applied to a value. */
export interface Applied {
  /** As, or in, a condition: it must not change the value. */
  readonly isCondition: boolean
  /** Below a schema that asks which properties or items of the same value were not evaluated. */
  readonly isAsked: boolean
}

/** That of a schema by itself. */
export const applied: Applied = { isCondition: false, isAsked: false }

/**
 * A copy of a schema with `change` applied to each schema within it, innermost first, and to itself.
 * @param change its second argument is how the schema is applied
 */
export function mapSchemas<Each extends AnySchema>(
  schema: Each,
  change: (schema: Schema, how: Applied) => Schema,
  how = applied,
): Each {
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = mapSubschemas(schema, (each) => mapSchemas(each.schema, change, appliedIn(schema, each, how)))
  return change(inner, how) as Each // an object stays one
}

// What `not` evaluates does not count (JSON Schema Core 2020-12, section 10.2.1.4).
function appliedIn(schema: Schema, { keyword, appliesTo, isCondition }: Subschema, how: Applied): Applied {
  const isOfValue = appliesTo === 'value' && keyword !== 'not'
  return {
    isCondition: how.isCondition || isCondition,
    isAsked: isOfValue && (how.isAsked || asksForUnevaluated(schema)),
  }
}

/** Whether a schema asks which properties or items were not evaluated. */
export function asksForUnevaluated(schema: Schema): boolean {
  return schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
}

/**
 * An object or array with `change` applied to each member or item: a copy, or the same one if nothing in it
 * is replaced.
 */
export function changedMembers(
  value: object,
  change: (each: unknown, key: string | number) => unknown,
): object {
  let copy: Record<string | number, unknown> | undefined
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const each = (value as typeof copy & object)[key]
    const changed = change(each, key)
    if (changed === each) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as typeof copy & object // indexed alike
    copy[key] = changed
  }
  return copy ?? value
}

/** The same of an object. */
export function mapValues(
  value: object,
  change: (each: unknown, key: string) => unknown,
): Readonly<Record<string, unknown>> {
  return changedMembers(value, (each, key) => change(each, String(key))) as Record<string, unknown>
}

/** Whether a value is an object, such as a schema that is not `true` or `false`. */
export function isNode(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
