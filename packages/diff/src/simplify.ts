// Rewrites schemas that accept the same values to the same form. The caller's function resolves references.

import { isDeepStrictEqual } from 'node:util'
import { keywordTypes as keywordTypesOfEngine, annotations as silentKeywords } from 'contract-engine/tools'
import { filtered, isNode, keyed, type Node, nodesOf } from './node.js'

/** Resolves the reference of a schema; returns undefined while the target is still being normalised. */
type Resolve = (schema: Node) => Node | undefined

const split = (keywords: string) => keywords.split(' ')

/** Keywords that reject no value. */
export const annotations: ReadonlySet<string> = new Set([
  ...silentKeywords,
  ...split('default readOnly writeOnly'),
])
/** Keywords that only people read. */
export const documentationKeywords: readonly string[] = split(
  'title summary description example examples externalDocs xml $comment',
)

/** Returns a schema without its documentation. */
export function withoutDocumentation(schema: Node): Node {
  return filtered(schema, (key) => !documentationKeywords.includes(key))
}

/** Returns a schema without its annotations. */
export function assertionsOf(schema: Node): Node {
  return filtered(schema, (key) => !annotations.has(key))
}

/** True if a schema has no assertions, so that it accepts any value. */
export function acceptsAnything(schema: Node): boolean {
  return Object.keys(schema).every((key) => annotations.has(key) || key.startsWith('x-'))
}

// The type to which each keyword applies. `integer` stands for both kinds of number, because `typesOf` adds
// it to `number`.
export const keywordTypes: ReadonlyMap<string, string> = new Map([
  ...keywordTypesOfEngine,
  ...split('contentEncoding contentMediaType').map((keyword) => [keyword, 'string'] as const),
])

const allTypes = ['boolean', 'object', 'array', 'number', 'integer', 'string', 'null']

/** Returns the types of a schema, with `integer` in addition to `number`; all types if it has no `type`. */
export function typesOf({ type = allTypes }: Node): string[] {
  const names = [type].flat().map(String)
  return names.includes('number') ? [...new Set([...names, 'integer'])] : names
}

// Returns the value of `type` for these types, in a fixed order.
function typeKeyword(types: readonly string[]): unknown {
  const names = allTypes.filter(
    (type) => types.includes(type) && !(type === 'integer' && types.includes('number')),
  )
  return names.length === 1 ? names[0] : names
}

/** Returns an equivalent schema with the fewest keywords. */
export function simplify(schema: Node, resolve: Resolve): Node {
  const steps = [
    ...[simplifyAnyOf, simplifyChoiceOfValues, simplifyUnevaluated, simplifyEnum, simplifyType],
    ...[simplifyIntegerBounds, simplifyBounds, simplifyDiscriminator, omitDefaults],
  ]
  return steps.reduce((node, step) => step(node, resolve), schema)
}

// Replaces `const: a` by `enum: [a]`, and derives the type from the values.
function simplifyEnum(schema: Node): Node {
  const { const: only, enum: listed = [only], ...others } = schema
  if (!Array.isArray(listed) || !('const' in schema || 'enum' in schema)) return schema
  const allowed = 'const' in schema ? listed.filter((value) => isDeepStrictEqual(value, only)) : listed
  const values = [...new Set(allowed)].filter((value) => typesOf(schema).includes(typeOf(value)))
  const types = [...new Set(values.map(typeOf))]
  // The values are all those of the type: null, or true and false.
  const isComplete = types.join() === 'null' || (types.join() === 'boolean' && values.length === 2)
  return { ...others, type: typeKeyword(types), ...(!isComplete && { enum: values }) }
}

/** Returns the type of a value; `integer` for a number without a fraction. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' || typeof value === 'bigint')
    return Number.isInteger(Number(value)) ? 'integer' : 'number'
  return typeof value
}

// Sorts the types, replaces `multipleOf: 1` by `integer`, and omits keywords that apply to other types.
function simplifyType(schema: Node): Node {
  if (schema.type === undefined) return schema
  const isInteger = schema.multipleOf === 1
  const types = typesOf(schema).filter((type) => !(isInteger && type === 'number'))
  const isAny = types.length >= allTypes.length
  const kept = filtered(schema, (key) => {
    if ((isInteger && key === 'multipleOf') || (isAny && key === 'type')) return false
    const type = keywordTypes.get(key)
    return type === undefined || types.includes(type)
  })
  return isAny ? kept : { ...kept, type: typeKeyword(types) }
}

// Rounds bounds of integers, and makes exclusive bounds inclusive: `exclusiveMinimum: 0` becomes `minimum:
// 1`.
function simplifyIntegerBounds(schema: Node): Node {
  const types = typesOf(schema)
  if (types.includes('number') || !types.includes('integer')) return schema
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, ...others } = schema
  const low = [
    ...integerBound(minimum, Math.ceil),
    ...integerBound(exclusiveMinimum, (bound) => Math.floor(bound) + 1, 1n),
  ]
  const high = [
    ...integerBound(maximum, Math.floor),
    ...integerBound(exclusiveMaximum, (bound) => Math.ceil(bound) - 1, -1n),
  ]
  return defined({ ...others, minimum: low.sort(ascending).at(-1), maximum: high.sort(ascending)[0] })
}

function ascending(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : 1
}

// Returns the rounded bound; none if it is not a number.
function integerBound(bound: unknown, round: (bound: number) => number, step = 0n): (number | bigint)[] {
  if (typeof bound === 'bigint') return [bound + step]
  return typeof bound === 'number' ? [round(bound)] : []
}

// Keeps the tighter of an inclusive and an exclusive bound.
function simplifyBounds(schema: Node): Node {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, ...others } = schema
  const isLowExclusive = minimum === undefined || Number(exclusiveMinimum) >= Number(minimum)
  const isHighExclusive = maximum === undefined || Number(exclusiveMaximum) <= Number(maximum)
  return defined({
    ...others,
    ...(isLowExclusive ? { exclusiveMinimum } : { minimum }),
    ...(isHighExclusive ? { exclusiveMaximum } : { maximum }),
  })
}

function defined(node: Node): Node {
  return filtered(node, (_, value) => value !== undefined)
}

// Values of keywords that have the same effect as no keyword.
const defaults: Readonly<Record<string, readonly unknown[]>> = {
  ...keyed('minLength minItems minProperties', [0]),
  ...keyed('uniqueItems nullable deprecated readOnly writeOnly not', [false]),
  ...keyed('required allOf prefixItems', [[]]),
  ...keyed('properties patternProperties dependentRequired dependentSchemas', [{}]),
  ...keyed('additionalProperties items propertyNames unevaluatedProperties unevaluatedItems', [true, {}]),
}

function omitDefaults(schema: Node): Node {
  // Beside `unevaluated…`, these keywords have an effect even with their default value.
  const hasUnevaluated = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
  const kept = filtered(
    schema,
    (key, value) =>
      (hasUnevaluated && ['additionalProperties', 'items'].includes(key)) ||
      !defaults[key]?.some((absent) => isDeepStrictEqual(absent, value)),
  )
  const required = Array.isArray(kept.required) ? [...new Set(kept.required)].sort() : []
  return {
    ...filtered(kept, (key, value) => !isImplied(kept, required, key, value)),
    ...(required.length > 0 && { required }),
  }
}

// True if other keywords imply the number of properties: `required`, or the properties of a closed object.
function isImplied(schema: Node, required: readonly unknown[], key: string, value: unknown): boolean {
  const { properties, patternProperties, additionalProperties } = schema
  const isClosed = additionalProperties === false && patternProperties === undefined
  if (key === 'minProperties') return Number(value) <= required.length
  return key === 'maxProperties' && isClosed && Number(value) >= Object.keys(properties ?? {}).length
}

const evaluated = split(
  'properties patternProperties additionalProperties unevaluatedProperties items prefixItems contains ' +
    'unevaluatedItems allOf anyOf oneOf if dependentSchemas $ref',
)

const evaluating = split('allOf anyOf oneOf if dependentSchemas $ref additionalProperties')

// Replaces `unevaluatedProperties` by `additionalProperties`, if no other keyword evaluates properties.
function simplifyUnevaluated(schema: Node): Node {
  const { unevaluatedProperties, ...others } = schema
  if (unevaluatedProperties === undefined || evaluating.some((key) => schema[key] !== undefined))
    return schema
  return { ...others, additionalProperties: unevaluatedProperties }
}

// Expands names of schemas in a mapping to references, and adds implicit ones (OpenAPI 3.1, section 4.8.25).
function simplifyDiscriminator(schema: Node): Node {
  const { discriminator } = schema
  if (!isNode(discriminator)) return schema
  const { mapping, ...others } = discriminator
  const entries = Object.entries(isNode(mapping) ? mapping : {}).map(([value, name]) => {
    return [value, /[/#.]/.test(String(name)) ? name : `#/components/schemas/${name}`] as const
  })
  const mapped = new Set(entries.map(([, ref]) => ref))
  const implicit = nodesOf(schema.oneOf ?? schema.anyOf)
    .filter(({ $ref }) => $ref !== undefined && !mapped.has($ref))
    .map(({ $ref }) => [String(String($ref).split('/').at(-1)), $ref] as const)
  const all = Object.fromEntries([...implicit, ...entries])
  return { ...schema, discriminator: { ...others, mapping: all } }
}

// Flattens a nested `anyOf`, removes duplicates, and uses `oneOf` if no value can match two variants.
function simplifyAnyOf(schema: Node, resolve: Resolve): Node {
  if (!Array.isArray(schema.anyOf) || schema.oneOf !== undefined) return schema
  const { anyOf, ...others } = schema
  const variants = (anyOf as unknown[])
    .flatMap((each) =>
      isNode(each) && Object.keys(each).join() === 'anyOf' ? (each.anyOf as unknown[]) : [each],
    )
    .filter((each, i, all) => all.findIndex((other) => isDeepStrictEqual(other, each)) === i)
  const targets = variants.map((each) => (isNode(each) && resolve(each)) || {})
  const isAny = variants.some((each) => isNode(each) && acceptsAnything(each) && each.$ref === undefined)
  // For `unevaluatedProperties`, even around this schema, it matters which properties the other variants
  // describe.
  if (isAny && !targets.some((each) => evaluated.some((key) => key in each))) return others
  const isDisjoint = areDisjoint(targets)
  return { ...others, [isDisjoint ? 'oneOf' : 'anyOf']: variants }
}

// Replaces a choice of single values, each of which may have a description, by an enum.
function simplifyChoiceOfValues(schema: Node, resolve: Resolve): Node {
  const { anyOf, oneOf = anyOf, ...others } = schema
  if (!Array.isArray(oneOf) || 'enum' in schema || (anyOf && schema.oneOf)) return schema
  const lists = oneOf.map((each) => valuesOnlyOf(isNode(each) ? resolve(each) : undefined))
  const values = lists.flatMap((list) => list ?? [])
  const isUnique = new Set(values).size === values.length
  return lists.includes(undefined) || !isUnique ? schema : { ...others, enum: values }
}

// Returns the values of a normalised schema that only lists values; undefined for any other schema. A lone
// `null` is a type.
function valuesOnlyOf(schema: Node | undefined): unknown[] | undefined {
  const { type, enum: values, ...others } = schema ?? {}
  if (schema === undefined || !Object.keys(others).every((key) => documentationKeywords.includes(key)))
    return undefined
  if (type === 'null') return [null]
  return Array.isArray(values) ? values : undefined
}

/** True if no two of the schemas have a type in common, so that no value matches two of them. */
export function areDisjoint(schemas: readonly Node[]): boolean {
  const types = schemas.flatMap(typesOf)
  return new Set(types).size === types.length
}

/** Unwraps a choice that has one variant, or one variant and null. */
export function unwrapChoice(schema: Node, resolve: Resolve): Node {
  for (const keyword of ['anyOf', 'oneOf']) {
    const { [keyword]: list, allOf = [], ...others } = schema
    const variants = nodesOf(list)
    if (!Array.isArray(list) || variants.length !== list.length) continue
    const [first, second] = variants.filter((each) => !isNull(each))
    if (first === undefined || second !== undefined) continue
    const target = resolve(first)
    // If two variants of a `oneOf` accept null, it refuses null.
    if (keyword === 'oneOf' && variants.length > 1 && target && typesOf(target).includes('null')) continue
    const only = variants.length > 1 ? nullable(target) : target?.default === undefined ? first : target
    // The default is left out: the service does not fill in the default of an alternative.
    if (only && others.discriminator === undefined)
      return { ...others, allOf: [...(allOf as unknown[]), filtered(only, (key) => key !== 'default')] }
  }
  return schema
}

function isNull(schema: Node): boolean {
  return schema.type === 'null'
}

const beyondTypes = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']

function nullable(schema: Node | undefined): Node | undefined {
  if (schema?.type === undefined || beyondTypes.some((key) => schema[key] !== undefined)) return undefined
  const values = schema.enum
  return {
    ...schema,
    type: typeKeyword([...typesOf(schema), 'null']),
    ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
  }
}

type Intersect = (a: unknown, b: unknown) => unknown

const higher: Intersect = (a, b) => (Number(a) > Number(b) ? a : b)
const lower: Intersect = (a, b) => (Number(a) < Number(b) ? a : b)
const shared: Intersect = (a, b) =>
  Array.isArray(a) && Array.isArray(b) ? a.filter((x) => b.some((y) => isDeepStrictEqual(x, y))) : undefined

// Functions that combine two values of a keyword to one that requires both; undefined if there is none.
const intersections: Readonly<Record<string, Intersect>> = {
  ...keyed('minimum exclusiveMinimum minLength minItems minProperties', higher),
  ...keyed('maximum exclusiveMaximum maxLength maxItems maxProperties', lower),
  enum: shared,
  patternProperties: bothByName,
  required: (a, b) => [...new Set([a, b].flat())],
  type: (a, b) => {
    const types = typesOf({ type: a }).filter((type) => typesOf({ type: b }).includes(type))
    return types.length === 0 ? undefined : typeKeyword(types)
  },
  properties: bothByName,
}

function bothByName(a: unknown, b: unknown): unknown {
  if (!isNode(a) || !isNode(b)) return undefined
  return Object.fromEntries(Object.keys({ ...a, ...b }).map((name) => [name, bothOf(a[name], b[name])]))
}

function bothOf(a: unknown, b: unknown): unknown {
  if (a === undefined || b === undefined || isDeepStrictEqual(a, b)) return a ?? b
  const isInline = isNode(a) && isNode(b) && a.$ref === undefined && b.$ref === undefined
  return (isInline && intersect(a, b)) || { allOf: [a, b] }
}

/**
 * Returns a schema of the values that both accept, with the annotations of the first; undefined if a single
 * schema cannot express it.
 */
export function intersect(a: Node, b: Node): Node | undefined {
  if (isAffected(a, b, dependent) || isAffected(b, a, { ...dependent, ...unevaluated })) return undefined
  const result: Record<string, unknown> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    if (a[key] === undefined) result[key] = value
    else if (!isDeepStrictEqual(a[key], value) && !annotations.has(key) && !key.startsWith('x-')) {
      result[key] = intersections[key]?.(a[key], value)
      if (result[key] === undefined) return undefined
    }
  }
  return result
}

const ofObject = split('properties patternProperties')
const applied = split('allOf anyOf oneOf if dependentSchemas')
// For each keyword, the keywords that change its effect.
const dependent: Readonly<Record<string, readonly string[]>> = {
  additionalProperties: ofObject,
  items: ['prefixItems'],
  ...keyed('then else', ['if']),
  if: split('then else'),
  ...keyed('minContains maxContains', ['contains']),
  contains: split('minContains maxContains'),
  discriminator: split('anyOf oneOf'),
}
// In the schema around an `allOf`, these keywords see what the members evaluate; in a member, they do not see
// the rest.
const unevaluated: typeof dependent = {
  unevaluatedProperties: [...ofObject, ...applied, 'additionalProperties'],
  unevaluatedItems: [...applied, ...split('items prefixItems contains')],
}

/**
 * True if a schema has a keyword whose effect depends on which other keywords evaluate properties or items.
 */
export function isUnevaluating(schema: Node | undefined): boolean {
  return Object.keys(unevaluated).some((key) => schema?.[key] !== undefined)
}

function isAffected(schema: Node, by: Node, keywords: typeof dependent): boolean {
  return Object.entries(keywords).some(
    ([key, others]) => schema[key] !== undefined && others.some((other) => by[other] !== undefined),
  )
}
