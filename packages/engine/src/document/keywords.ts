// The keywords that contain schemas, and the walks over schemas. Every reader of schemas uses them, so that
// none misses what another one finds.

import type { Schema } from './contract.js'

/** A schema, or `true` or `false`. */
export type AnySchema = Schema | boolean

/** The extension of a schema that has, as JSON, the exact values of keywords that a double would round. */
export const exactNumbers = 'x-exact-numbers'

/**
 * The extension that has the exact values of examples. Examples assert nothing, so neither printed nor
 * compiled functions read it.
 */
export const exactExamples = 'x-exact-examples'

/** A keyword that contains schemas. */
export interface SchemaKeyword {
  /** One schema, an array of them, or a map by name. */
  readonly holds: 'one' | 'list' | 'map'
  /**
   * What the schemas apply to: the value itself, its members (properties, their names, items), or nothing.
   */
  readonly appliesTo: 'value' | 'members' | 'nothing'
  /** True if the schemas only decide whether others apply. They must not change the value. */
  readonly isCondition: boolean
}

/** The keywords by which a value must match one of several schemas: exactly one, or at least one. */
export const choiceKeywords = ['oneOf', 'anyOf'] as const

export type ChoiceKeyword = (typeof choiceKeywords)[number]

/** The keywords that compose a schema from others, which describe the same value. */
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

/**
 * The type of value that each keyword is about (values of other types are valid by it); `integer` for all
 * numbers.
 */
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

/**
 * True if a keyword may make a value invalid, of the given type or of any. Ajv treats unknown keywords as
 * annotations.
 */
export function asserts(keyword: string, type?: string): boolean {
  const about = keywordTypes.get(keyword)
  return ofAnyType.has(keyword) || (about !== undefined && (type === undefined || about === type))
}

/** Keywords that neither make a value invalid, nor change it or how it is written. */
export const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'example', 'examples', 'deprecated', 'externalDocs', 'xml', '$comment'],
])

/** True if a schema has only these keywords, besides those that say nothing to a validator or a writer. */
export function saysOnly(schema: Schema, keywords: readonly string[]): boolean {
  return Object.keys(schema).every(
    (each) =>
      keywords.includes(each) || annotations.has(each) || (each.startsWith('x-') && each !== exactNumbers),
  )
}

/** The formats of strings that are checked (runtime/formats.ts). */
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

/** Returns a schema with `change` applied to each schema directly within it, except `true` and `false`. */
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
  return changed as Schema // an object stays an object
}

/** Returns the schemas directly within a schema, except `true` and `false`. */
export function subschemasOf(schema: Schema): Subschema[] {
  const found: Subschema[] = []
  mapSubschemas(schema, (each) => {
    found.push(each)
    return each.schema
  })
  return found
}

/** Returns the schemas that are directly within one of several schemas, by some keywords. */
export function subschemasBy(schemas: readonly Schema[], keywords: readonly string[]): Subschema[] {
  return schemas.flatMap(subschemasOf).filter(({ keyword }) => keywords.includes(keyword))
}

/**
 * Returns a schema and the schemas within it at any depth, innermost first, except `true` and `false`.
 * @param isEntered true if a subschema is searched; by default, each is
 */
export function schemasIn(schema: AnySchema, isEntered = (_: Subschema) => true): Schema[] {
  if (typeof schema !== 'object') return []
  const inner = subschemasOf(schema).filter(isEntered)
  return [...inner.flatMap((each) => schemasIn(each.schema, isEntered)), schema]
}

/** A keyword by which a value must match one of several schemas, with those schemas. */
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

/** Returns the alternatives of all choices of a schema; `true` and `false` are returned as empty schemas. */
export function alternativesOf(schema: Schema): Schema[] {
  return choicesOf(schema).flatMap(({ alternatives }) =>
    alternatives.map((each) => (isNode(each) ? each : {})),
  )
}

/** True if a keyword is `oneOf` or `anyOf`. */
export function isChoice(keyword: unknown): keyword is ChoiceKeyword {
  return choiceKeywords.some((each) => each === keyword)
}

/**
 * Returns a schema and the schemas within it that describe the same value, as in `allOf` and `then`; no
 * conditions.
 */
export function schemasOfValue(schema: Schema): Schema[] {
  return schemasIn(schema, ({ appliesTo, isCondition }) => appliesTo === 'value' && !isCondition)
}

/**
 * Yields a schema, and the schemas that its `allOf` leads to, depth first, each once. It loops instead of
 * recursing, because a chain of references may have any length.
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
  /** True as a condition, or within one: the schema must not change the value. */
  readonly isCondition: boolean
  /** True below a schema that asks which properties or items of the same value were not evaluated. */
  readonly isAsked: boolean
}

/** How a schema is applied by itself. */
export const applied: Applied = { isCondition: false, isAsked: false }

/**
 * Returns a copy of a schema with `change` applied to each schema within it, innermost first, and then to
 * itself.
 * @param change its second argument is how the schema is applied
 */
export function mapSchemas<Each extends AnySchema>(
  schema: Each,
  change: (schema: Schema, how: Applied) => Schema,
  how = applied,
): Each {
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = mapSubschemas(schema, (each) => mapSchemas(each.schema, change, appliedIn(schema, each, how)))
  return change(inner, how) as Each // an object stays an object
}

// What `not` evaluates does not count (JSON Schema Core 2020-12, section 10.2.1.4).
function appliedIn(schema: Schema, { keyword, appliesTo, isCondition }: Subschema, how: Applied): Applied {
  const isOfValue = appliesTo === 'value' && keyword !== 'not'
  return {
    isCondition: how.isCondition || isCondition,
    isAsked: isOfValue && (how.isAsked || asksForUnevaluated(schema)),
  }
}

/** True if a schema asks which properties or items were not evaluated. */
export function asksForUnevaluated(schema: Schema): boolean {
  return schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
}

/**
 * Returns an object or array with `change` applied to each member or item: a copy, or the same object if
 * nothing is replaced.
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
    // a string or number indexes both
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as typeof copy & object
    copy[key] = changed
  }
  return copy ?? value
}

/** Does the same as `changedMembers` for an object. */
export function mapValues(
  value: object,
  change: (each: unknown, key: string) => unknown,
): Readonly<Record<string, unknown>> {
  return changedMembers(value, (each, key) => change(each, String(key))) as Record<string, unknown>
}

/** True if a value is an object, such as a schema other than `true` and `false`. */
export function isNode(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
