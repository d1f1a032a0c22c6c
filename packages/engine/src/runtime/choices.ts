// Finds the alternatives of an `anyOf` or `oneOf` that a value can match: by the discriminator, or else by
// the type of the value and a property whose allowed values differ in each alternative, as a discriminator
// would name it.

import type { Schema } from '../document/contract.js'
import { type AnySchema, extendedBy, isNode } from '../document/keywords.js'
import { comparable } from './canonical.js'
import type { Resolve } from './references.js'

export interface Choice {
  /** True if no value has two candidates. */
  readonly isSure: boolean
  /** Returns the alternatives that a value can match, by their indexes. */
  candidatesOf(value: unknown): readonly number[]
  /** Returns the alternatives that values of a kind can match, and whether each value matches one at most. */
  among(kind: ValueKind): { readonly candidates: readonly number[]; readonly areExclusive: boolean }
  /**
   * Returns the alternative that a property of the value names, or why it names none. Undefined if no
   * property tells the alternatives apart.
   */
  namedBy(value: unknown): number | TagFault | undefined
}

/** The params of an error about a property that names an alternative. */
export interface TagFault {
  readonly tag: 'no object' | 'missing' | 'unknown'
  readonly property: string
  readonly allowed: readonly unknown[]
}

/**
 * Returns the choice among the alternatives of a schema.
 * @param isCoerced true if texts may become numbers, booleans and null
 */
export function choiceOf(schema: Schema, keyword: string, resolve: Resolve, isCoerced: boolean): Choice {
  const alternatives = schema[keyword] as readonly AnySchema[]
  const tags = tagsOf(schema, alternatives, resolve)
  return tags === undefined ? choiceByValue(alternatives, resolve, isCoerced) : choiceByTag(tags)
}

const none: readonly number[] = []

function choiceByTag(tags: Tags): Choice {
  const { property, values, fallback } = tags
  const byTag = new Map(values.flatMap((each, i) => each.map((value) => [value, [i]] as const)))
  const ofNull = values.flatMap((each, i) => (each.length === 0 ? [i] : [])).slice(0, 1)
  const allowed = values.flat()
  const candidatesOf = (value: unknown) => {
    if (value === null) return ofNull
    return isNode(value) ? (byTag.get(tagText(value[property])) ?? fallback) : none
  }
  return {
    isSure: true,
    candidatesOf,
    among: (kind) => ({ candidates: kind === 'object' ? [...values.keys()] : none, areExclusive: true }),
    namedBy: (value) => {
      if (!isNode(value)) return candidatesOf(value)[0] ?? { tag: 'no object', property, allowed }
      return candidatesOf(value)[0] ?? faultOf(value, property, allowed)
    },
  }
}

function faultOf(
  value: Readonly<Record<string, unknown>>,
  property: string,
  allowed: readonly unknown[],
): TagFault {
  return { tag: value[property] === undefined ? 'missing' : 'unknown', property, allowed }
}

// Compares numbers and booleans by their text, as `mapping` does. The alternative itself checks the type.
function tagText(tag: unknown): string {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof tag) ? `${tag}` : ''
}

/** Kinds of values. */
export type ValueKind = 'object' | 'array' | 'null' | 'scalar'
const kinds: readonly ValueKind[] = ['object', 'array', 'null', 'scalar']

function choiceByValue(alternatives: readonly AnySchema[], resolve: Resolve, isCoerced: boolean): Choice {
  const kindOf = (value: unknown): ValueKind => {
    if (value === null) return isCoerced ? 'scalar' : 'null'
    if (typeof value !== 'object') return 'scalar'
    return Array.isArray(value) ? 'array' : 'object'
  }
  const schemas = alternatives.map((each) => (typeof each === 'object' ? resolve(each) : {}))
  const kindsOf = schemas.map((each) => allowedKinds(each, resolve, isCoerced))
  const byKind = new Map(
    kinds.map((kind) => [kind, kindsOf.flatMap((each, i) => (each.has(kind) ? [i] : []))] as const),
  )
  const distinguishing = distinguishingProperty(schemas, resolve)
  const ofObjects = byKind.get('object') ?? none
  const ofObject =
    distinguishing && candidatesByProperty(distinguishing.property, ofObjects, schemas, resolve, isCoerced)
  const among = (kind: ValueKind) => {
    const candidates = byKind.get(kind) ?? none
    const isTold = kind === 'object' && ofObject?.isSure === true
    return { candidates, areExclusive: isTold || candidates.length < 2 }
  }
  return {
    isSure: kinds.every((kind) => among(kind).areExclusive),
    among,
    candidatesOf: (value) => {
      const kind = kindOf(value)
      if (kind === 'object' && ofObject !== undefined) return ofObject.of(value as Record<string, unknown>)
      return byKind.get(kind) ?? none
    },
    namedBy: (value) => {
      if (distinguishing === undefined || ofObject === undefined || !isNode(value)) return undefined
      const [only, ...more] = ofObject.of(value)
      if (only !== undefined) return more.length === 0 ? only : undefined
      return ofObjects.length < 2 ? undefined : faultOf(value, distinguishing.property, distinguishing.values)
    },
  }
}

// By the `type` of the schema itself and of its `allOf`; a schema without one allows any kind.
function allowedKinds(schema: Schema, resolve: Resolve, isCoerced: boolean): ReadonlySet<ValueKind> {
  let allowed = new Set(kinds)
  for (const { type, exactNumber } of extendedBy(schema, resolve)) {
    const types = type === undefined ? (exactNumber as { types?: unknown } | undefined)?.types : type
    const own = new Set(([types ?? []].flat() as string[]).map((each) => kindOfType(each, isCoerced)))
    if (own.size > 0) allowed = new Set([...allowed].filter((each) => own.has(each)))
  }
  return allowed
}

function kindOfType(type: string, isCoerced: boolean): ValueKind {
  if (type === 'object' || type === 'array') return type
  return type === 'null' && !isCoerced ? 'null' : 'scalar'
}

interface CandidatesOfObject {
  readonly isSure: boolean
  of(value: Readonly<Record<string, unknown>>): readonly number[]
}

// Returns the alternatives that allow the value of the property; if the value lacks it, those that do not
// require it. Undefined if the allowed values cannot be compared by a look-up.
function candidatesByProperty(
  property: string,
  ofObjects: readonly number[],
  schemas: readonly Schema[],
  resolve: Resolve,
  isCoerced: boolean,
): CandidatesOfObject | undefined {
  const byTag = new Map<unknown, readonly number[]>()
  for (const i of ofObjects) {
    const values = allowedValues(schemas[i] as Schema, property, resolve)
    if (values?.every((each) => isComparable(each, isCoerced)) !== true) return undefined
    for (const value of values) {
      byTag.set(comparable(value), [...(byTag.get(comparable(value)) ?? none), i])
    }
  }
  const without = ofObjects.filter((i) => !requires(schemas[i] as Schema, property, resolve))
  return {
    isSure: without.length < 2,
    of: (value) => {
      const tag = Object.hasOwn(value, property) ? value[property] : undefined
      return tag === undefined ? without : (byTag.get(comparable(tag)) ?? none)
    },
  }
}

function isComparable(value: unknown, isCoerced: boolean): boolean {
  return isCoerced ? typeof value === 'string' : typeof value !== 'object' || value === null
}

function requires(schema: Schema, property: string, resolve: Resolve): boolean {
  return [...extendedBy(schema, resolve)].some(({ required = [] }) =>
    (required as readonly string[]).includes(property),
  )
}

interface Tags {
  readonly property: string
  /** The values of each alternative; empty for `type: null`. */
  readonly values: readonly (readonly string[])[]
  /** The alternative of values whose property is absent or has another value (`defaultMapping`), if any. */
  readonly fallback: readonly number[]
}

// Returns undefined if a value maps to several alternatives, or an alternative has no value. Then all
// alternatives are validated.
function tagsOf(
  { discriminator }: Schema,
  schemas: readonly AnySchema[],
  resolve: Resolve,
): Tags | undefined {
  const { propertyName, branches, mapping = {}, defaultMapping } = (discriminator ?? {}) as Discriminator
  if (propertyName === undefined || branches === undefined) return undefined
  const mapped = branches.flatMap((branch) => branch.mapped)
  const lost = Object.keys(mapping).find((value) => !mapped.includes(value))
  if (lost !== undefined)
    throw new Error(
      `the discriminator ${propertyName} maps ${lost} to ${mapping[lost]}, ` +
        'which is not one of its alternatives',
    )
  const fallback = branches.flatMap(({ isDefault }, i) => (isDefault === true ? [i] : []))
  if (defaultMapping !== undefined && fallback.length === 0)
    throw new Error(
      `the discriminator ${propertyName} has the defaultMapping ${defaultMapping}, ` +
        'which is not one of its alternatives',
    )
  const values = schemas.map((schema, i) =>
    valuesOf(resolve(schema as Schema), propertyName, branches[i], resolve),
  )
  const all = values.flatMap((each) => each ?? [])
  const isSure = new Set(all).size === all.length && values.every((each) => each !== undefined)
  return isSure && all.length > 0
    ? { property: propertyName, values: values as string[][], fallback }
    : undefined
}

interface Discriminator {
  readonly propertyName?: string
  readonly branches?: readonly Branch[]
  readonly mapping?: Readonly<Record<string, string>>
  readonly defaultMapping?: string
}

interface Branch {
  readonly mapped: readonly string[]
  readonly name?: string
  readonly isDefault?: true
}

// Returns the values from the discriminator's mapping, else from the property's enum or const, else the
// schema's name.
function valuesOf(
  schema: Schema,
  property: string,
  branch: Branch | undefined,
  resolve: Resolve,
): readonly string[] | undefined {
  if (schema.type === 'null') return []
  if (branch !== undefined && branch.mapped.length > 0) return branch.mapped
  const own = allowedValues(schema, property, resolve)
  if (own !== undefined) return own.filter((each) => each !== null).map(String)
  return branch?.name === undefined ? undefined : [branch.name]
}

interface DistinguishingProperty {
  readonly property: string
  readonly values: readonly unknown[]
}

// Finds the property that a discriminator would name: each alternative allows other values for it.
function distinguishingProperty(
  schemas: readonly Schema[],
  resolve: Resolve,
): DistinguishingProperty | undefined {
  const all = schemas.filter(isOfObjects)
  const names = all.flatMap((schema) => Object.keys((schema.properties as object | undefined) ?? {}))
  for (const property of new Set(names)) {
    const values = all.map((schema) => allowedValues(schema, property, resolve))
    const flat = values.flatMap((each) => each ?? [])
    if (values.every((each) => each !== undefined) && new Set(flat).size === flat.length)
      return { property, values: flat }
  }
  return undefined
}

function isOfObjects({ type, exactNumber }: Schema): boolean {
  return type === undefined ? exactNumber === undefined : [type].flat().includes('object')
}

// Returns the values that a schema and its `allOf` allow for a property: other subschemas may not apply.
// Undefined if any value is allowed.
function allowedValues(schema: Schema, property: string, resolve: Resolve): readonly unknown[] | undefined {
  for (const { properties } of extendedBy(schema, resolve)) {
    const given = (properties as Record<string, Schema> | undefined)?.[property]
    const own = given && resolve(given)
    const rules = (own?.exactNumber ?? own) as Pick<Schema, 'const' | 'enum'> | undefined
    if (rules?.const !== undefined) return [rules.const]
    if (Array.isArray(rules?.enum)) return rules.enum
  }
  return undefined
}
