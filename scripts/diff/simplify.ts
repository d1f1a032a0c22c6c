// Schemas of the same values, written alike. Nothing here follows a reference by itself.

import { isDeepStrictEqual } from 'node:util'
import { isNode, type Node, nodesOf } from './node.js'

/** What a schema stands for; nothing where that cannot be told yet. */
type Resolve = (schema: Node) => Node | undefined

/** Keywords that tell people something and refuse no value. */
export const annotations: ReadonlySet<string> = new Set([
  ...[
    'title',
    'description',
    'example',
    'examples',
    'externalDocs',
    'xml',
    '$comment',
    'default',
    'deprecated',
  ],
  ...['readOnly', 'writeOnly'],
])
/** Those of them that only people read. */
export const words: readonly string[] = [
  ...['title', 'summary', 'description', 'example', 'examples', 'externalDocs', 'xml', '$comment'],
]

/** A schema without what is said of it for people. */
export function wordless(schema: Node): Node {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !words.includes(key)))
}

/** A schema without what refuses no value. */
export function assertionsOf(schema: Node): Node {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !annotations.has(key)))
}

/** Whether a schema accepts anything. */
export function isPlain(schema: Node): boolean {
  return Object.keys(schema).every((key) => annotations.has(key) || key.startsWith('x-'))
}

// The types that each keyword says something of.
const keywordTypes: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    string: ['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'],
    number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    array: [
      'items',
      'prefixItems',
      'minItems',
      'maxItems',
      'uniqueItems',
      'contains',
      'minContains',
      'maxContains',
    ],
    object: [
      ...['properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'required'],
      ...['minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas'],
    ],
  }).flatMap(([type, keywords]) =>
    keywords.map((keyword) => [keyword, type === 'number' ? ['number', 'integer'] : [type]] as const),
  ),
)

const allTypes = ['boolean', 'object', 'array', 'number', 'integer', 'string', 'null']

/** The types of a schema, `integer` beside `number`; all where it names none. */
export function typesOf({ type = allTypes }: Node): string[] {
  const names = [type].flat().map(String)
  return names.includes('number') ? [...new Set([...names, 'integer'])] : names
}

function written(types: readonly string[]): unknown {
  const names = allTypes.filter(
    (type) => types.includes(type) && !(type === 'integer' && types.includes('number')),
  )
  return names.length === 1 ? names[0] : names
}

/** A schema that says the same in the fewest keywords. */
export function simplify(schema: Node, resolve: Resolve): Node {
  const steps = [
    withVariants,
    closed,
    withValues,
    withTypes,
    withIntegers,
    withTightBounds,
    withMapping,
    withoutDefaults,
  ]
  return steps.reduce((node, step) => step(node, resolve), schema)
}

// `const: a` is `enum: [a]`, and values tell their types.
function withValues(schema: Node): Node {
  const { const: only, enum: listed = [only], ...others } = schema
  if (!Array.isArray(listed) || !('const' in schema || 'enum' in schema)) return schema
  const asked = 'const' in schema ? listed.filter((value) => isDeepStrictEqual(value, only)) : listed
  const values = [...new Set(asked)].filter((value) => typesOf(schema).includes(typeOf(value)))
  const types = [...new Set(values.map(typeOf))]
  const isWhole = isDeepStrictEqual(types, ['null']) || (types.join() === 'boolean' && values.length === 2)
  return { ...others, type: written(types), ...(!isWhole && { enum: values }) }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' || typeof value === 'bigint')
    return Number.isInteger(Number(value)) ? 'integer' : 'number'
  return typeof value
}

// Types in one order, and no keyword that says nothing of them.
function withTypes(schema: Node): Node {
  if (schema.type === undefined) return schema
  const isWhole = schema.multipleOf === 1
  const types = typesOf(schema).filter((type) => !(isWhole && type === 'number'))
  const { multipleOf, ...others } = schema
  const kept = Object.entries(isWhole ? others : schema).filter(
    ([key]) => keywordTypes[key]?.some((type) => types.includes(type)) ?? true,
  )
  return types.length >= allTypes.length
    ? Object.fromEntries(kept.filter(([key]) => key !== 'type'))
    : { ...Object.fromEntries(kept), type: written(types) }
}

// Of whole numbers, above 0 is from 1.
function withIntegers(schema: Node): Node {
  const types = typesOf(schema)
  if (types.includes('number') || !types.includes('integer')) return schema
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, ...others } = schema
  const from = [
    ...whole(minimum, Math.ceil),
    ...whole(exclusiveMinimum, (bound) => Math.floor(bound) + 1, 1n),
  ]
  const to = [...whole(maximum, Math.floor), ...whole(exclusiveMaximum, (bound) => Math.ceil(bound) - 1, -1n)]
  return defined({
    ...others,
    minimum: from.sort(ascending).at(-1),
    maximum: to.sort(ascending)[0],
  })
}

function ascending(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : 1
}

// A bound among whole numbers; none where it is no number.
function whole(bound: unknown, round: (bound: number) => number, step = 0n): (number | bigint)[] {
  if (typeof bound === 'bigint') return [bound + step]
  return typeof bound === 'number' ? [round(bound)] : []
}

// Of two bounds on one side, the one that matters.
function withTightBounds(schema: Node): Node {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, ...others } = schema
  const low = [minimum, exclusiveMinimum].every((bound) => bound !== undefined)
    ? Number(exclusiveMinimum) >= Number(minimum)
    : minimum === undefined
  const high = [maximum, exclusiveMaximum].every((bound) => bound !== undefined)
    ? Number(exclusiveMaximum) <= Number(maximum)
    : maximum === undefined
  return defined({
    ...others,
    ...(low ? { exclusiveMinimum } : { minimum }),
    ...(high ? { exclusiveMaximum } : { maximum }),
  })
}

function defined(node: Node): Node {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined))
}

// What an absent keyword means.
const defaults: Readonly<Record<string, readonly unknown[]>> = {
  ...{ minLength: [0], minItems: [0], minProperties: [0], uniqueItems: [false], nullable: [false] },
  ...{ deprecated: [false], readOnly: [false], writeOnly: [false], required: [[]], properties: [{}] },
  ...{
    patternProperties: [{}],
    additionalProperties: [true, {}],
    items: [true, {}],
    propertyNames: [true, {}],
  },
  ...{
    unevaluatedProperties: [true, {}],
    unevaluatedItems: [true, {}],
    allOf: [[]],
    dependentRequired: [{}],
  },
  ...{ dependentSchemas: [{}], prefixItems: [[]], not: [false] },
}

function withoutDefaults(schema: Node): Node {
  const isOpenOnPurpose = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
  const kept = Object.entries(schema).filter(
    ([key, value]) =>
      (isOpenOnPurpose && /^(additionalP|i)/.test(key)) ||
      !defaults[key]?.some((absent) => isDeepStrictEqual(absent, value)),
  )
  const { required, ...others } = Object.fromEntries(kept)
  return Array.isArray(required)
    ? { ...others, required: [...new Set(required)].sort() }
    : Object.fromEntries(kept)
}

// Where nothing else evaluates fields, those left over are those not named.
function closed(schema: Node): Node {
  const { unevaluatedProperties, ...others } = schema
  const others_ = ['allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', '$ref', 'additionalProperties']
  if (unevaluatedProperties === undefined || others_.some((key) => schema[key] !== undefined)) return schema
  return { ...others, additionalProperties: unevaluatedProperties }
}

// Names of schemas stand for references to them, and need not be said (OpenAPI 3.1, section 4.8.25).
function withMapping(schema: Node): Node {
  const { discriminator } = schema
  if (!isNode(discriminator) || !isNode(discriminator.mapping)) return schema
  const { mapping, ...others } = discriminator
  const entries = Object.entries(mapping as Node)
    .map(([value, name]) => [value, /[/#.]/.test(String(name)) ? name : `#/components/schemas/${name}`])
    .filter(([value, ref]) => ref !== `#/components/schemas/${value}`)
  return {
    ...schema,
    discriminator: { ...others, ...(entries.length > 0 && { mapping: Object.fromEntries(entries) }) },
  }
}

// `oneOf` where no value can be of two variants, each variant once.
function withVariants(schema: Node, resolve: Resolve): Node {
  if (!Array.isArray(schema.anyOf) || schema.oneOf !== undefined) return schema
  const { anyOf, ...others } = schema
  const variants = (anyOf as unknown[])
    .flatMap((each) =>
      isNode(each) && Object.keys(each).join() === 'anyOf' ? (each.anyOf as unknown[]) : [each],
    )
    .filter((each, i, all) => all.findIndex((other) => isDeepStrictEqual(other, each)) === i)
  if (variants.some((each) => isNode(each) && isPlain(each) && each.$ref === undefined)) return others
  const isDisjoint = areDisjoint(variants.map((each) => (isNode(each) && resolve(each)) || {}))
  return { ...others, [isDisjoint ? 'oneOf' : 'anyOf']: variants }
}

/** Whether the types alone tell that no value is of two of the schemas. */
export function areDisjoint(schemas: readonly Node[]): boolean {
  const types = schemas.flatMap(typesOf)
  return new Set(types).size === types.length
}

/** A choice of one, and a choice between a schema and null, as no choice. */
export function withoutChoice(schema: Node, resolve: Resolve): Node {
  for (const keyword of ['anyOf', 'oneOf']) {
    const { [keyword]: list, allOf = [], ...others } = schema
    const variants = nodesOf(list)
    if (!Array.isArray(list) || variants.length !== list.length) continue
    const [first, second] = variants.filter((each) => !isNull(each))
    if (first === undefined || second !== undefined) continue
    const only = variants.length === 1 ? first : nullable(resolve(first))
    if (only && others.discriminator === undefined)
      return { ...others, allOf: [...(allOf as unknown[]), only] }
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
    type: written([...typesOf(schema), 'null']),
    ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
  }
}

type Both = (a: unknown, b: unknown) => unknown

const higher: Both = (a, b) => (Number(a) > Number(b) ? a : b)
const lower: Both = (a, b) => (Number(a) < Number(b) ? a : b)
const shared: Both = (a, b) =>
  Array.isArray(a) && Array.isArray(b) ? a.filter((x) => b.some((y) => isDeepStrictEqual(x, y))) : undefined

// By keyword, what two of it come to.
const intersections: Readonly<Record<string, Both>> = {
  ...{
    minimum: higher,
    exclusiveMinimum: higher,
    minLength: higher,
    minItems: higher,
    minProperties: higher,
  },
  ...{ maximum: lower, exclusiveMaximum: lower, maxLength: lower, maxItems: lower, maxProperties: lower },
  enum: shared,
  required: (a, b) => [...new Set([a, b].flat())],
  type: (a, b) => {
    const types = typesOf({ type: a }).filter((type) => typesOf({ type: b }).includes(type))
    return types.length === 0 ? undefined : written(types)
  },
  properties: (a, b) =>
    isNode(a) && isNode(b)
      ? Object.fromEntries(Object.keys({ ...a, ...b }).map((name) => [name, bothOf(a[name], b[name])]))
      : undefined,
}

function bothOf(a: unknown, b: unknown): unknown {
  if (a === undefined || b === undefined || isDeepStrictEqual(a, b)) return a ?? b
  const isInline = isNode(a) && isNode(b) && a.$ref === undefined && b.$ref === undefined
  return (isInline && intersect(a, b)) || { allOf: [a, b] }
}

/** The schema of what both accept; nothing where one schema cannot say it. What is said of it is the first one's. */
export function intersect(a: Node, b: Node): Node | undefined {
  if ((isClosed(a) && b.properties !== undefined) || (isClosed(b) && a.properties !== undefined))
    return undefined
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

// Such keywords look at what stands beside them.
function isClosed(schema: Node): boolean {
  return ['additionalProperties', 'unevaluatedProperties', 'if'].some((key) => schema[key] !== undefined)
}
