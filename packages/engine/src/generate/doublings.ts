// Schemas that apply themselves to a part of a value twice, as by two parts of an `allOf`. Each level of a
// value then doubles the work, and a body of some hundred bytes would stop the server. Found like a pattern
// whose backtracking is exponential: two ways from a schema to itself by the same members of a value.

import { referencesIn } from '../document/component-kinds.js'
import type { Schema } from '../document/contract.js'
import type { Pointer, Problem } from '../document/contract-error.js'
import { type AnySchema, schemasIn, subschemasOf } from '../document/keywords.js'
import { toRegExp } from '../document/patterns.js'
import { circularRefs, pointerKeys, pointerTo, resolvePointer } from '../document/pointer.js'
import { type Choice, choiceOf, type Kind } from '../values/choices.js'
import { once } from '../values/once.js'

/** A schema that doubles the work, and its place. */
export interface Doubling extends Problem {
  /** False if it is by alternatives, all but one of which may fail before they reach the part. */
  readonly isExponential: boolean
}

// Of one document. A contract with more is one in which anything contains anything.
const toldMax = 10
const pairsMax = 100_000

/** The doublings of a contract's specification. */
export function doublings(document: object): Doubling[] {
  const refs = referencesIn(document).flatMap(({ ref, kind }) => (kind === 'schemas' ? [ref] : []))
  const resolve = createResolve(document)
  const search: Search = { membersOf: createMembers(resolve), pairs: 0 }
  const found: Doubling[] = []
  for (const ref of circularRefs(document, refs)) {
    for (const { schema, at } of placesIn(resolve({ $ref: ref }), pointerKeys(ref) ?? [])) {
      if (found.length === toldMax) return found
      const certain = doubledMember(schema, search, true)
      const doubled = certain ?? doubledMember(schema, search, false)
      if (doubled !== undefined) found.push(doublingAt(at, doubled, certain !== undefined))
    }
  }
  return found
}

function doublingAt(at: Pointer, { name }: Member, isExponential: boolean): Doubling {
  const members = name === undefined ? 'its members' : `its ${name}`
  const advice = isExponential
    ? 'let it apply itself once'
    : 'tell the alternatives apart by a property with a const each'
  const text =
    `${pointerTo(at)} applies itself to ${members} twice, ` +
    `so that each level of a value doubles the time that validation takes: ${advice}`
  return { text, at, isExponential }
}

// What is in a target of another reference is reported there.
function* placesIn(
  schema: Schema,
  at: Pointer,
): Generator<{ readonly schema: Schema; readonly at: Pointer }> {
  if (typeof schema.$ref === 'string' || !leadsOn(schema)) return
  yield { schema, at }
  for (const { keyword, name, schema: each } of subschemasOf(schema))
    yield* placesIn(each, [...at, keyword, ...(name === undefined ? [] : [name])])
}

type Resolve = (schema: Schema) => Schema

/** Returns a function that follows a `$ref`, also to another one. */
export function createResolve(document: object): Resolve {
  const targets = new Map<string, Schema>()
  const resolve = (schema: Schema): Schema => {
    const { $ref } = schema
    if (typeof $ref !== 'string') return schema
    const target = targets.get($ref) ?? resolvePointer(document, $ref)
    if (typeof target !== 'object' || target === null) return {}
    targets.set($ref, target as Schema)
    return resolve(target as Schema)
  }
  return resolve
}

/** A schema that applies to the same value as another one, by `allOf` and so on. */
interface Part {
  readonly schema: Schema
  /** The alternatives that lead to it, by the `anyOf`, `oneOf` or `if` that has them. */
  readonly chosen: ReadonlyMap<unknown, unknown>
  /** False if alternatives lead to it that a value could match together. */
  readonly isCertain: boolean
}

/** A schema for some members of a value: properties of an object, or items of an array. */
export interface Member {
  readonly kind: Kind
  /** Undefined for all that `accepts` names. */
  readonly name: string | undefined
  readonly accepts: (name: string) => boolean
  readonly schema: Schema
  readonly part: Part
}

interface Members {
  readonly all: readonly Member[]
  readonly unnamed: readonly Member[]
  /** Those of a name, and the unnamed, which may have it. */
  readonly byName: ReadonlyMap<string, readonly Member[]>
}

interface Search {
  readonly membersOf: (schema: Schema) => Members
  pairs: number
}

// A member to which a schema applies two schemas that both lead back to it by the same members.
function doubledMember(schema: Schema, search: Search, isCertain: boolean): Member | undefined {
  const members = search.membersOf(schema)
  for (const [one, other] of commonMembers(members, members, isCertain))
    if (one !== other && leadBack(one.schema, other.schema, schema, search, isCertain)) return one
  return undefined
}

function leadBack(some: Schema, others: Schema, to: Schema, search: Search, isCertain: boolean): boolean {
  const seen = new Map<Schema, Set<Schema>>()
  const pending = [[some, others] as const]
  for (const [one, other] of pending) {
    if (one === to && other === to) return true
    const known = seen.get(one) ?? new Set()
    if (known.has(other)) continue
    seen.set(one, known.add(other))
    if (search.pairs++ > pairsMax) return false
    const common = commonMembers(search.membersOf(one), search.membersOf(other), isCertain)
    for (const [a, b] of common) pending.push([a.schema, b.schema])
  }
  return false
}

// The pairs of members that one value can have.
function* commonMembers(some: Members, others: Members, isCertain: boolean): Generator<[Member, Member]> {
  for (const one of some.all) {
    const same = one.name === undefined ? others.all : (others.byName.get(one.name) ?? others.unnamed)
    for (const other of same)
      if (isSameMember(one, other) && areTogether(one.part, other.part, isCertain)) yield [one, other]
  }
}

/** Whether two may be the same member of a value. */
export function isSameMember({ kind, name, accepts }: Member, other: Member): boolean {
  if (kind !== other.kind) return false
  if (name !== undefined) return other.name === name || other.accepts(name)
  return other.name === undefined || accepts(other.name)
}

/** Whether both may apply to one value; if `isCertain`, whether they always do. */
export function areTogether(one: Part, other: Part, isCertain: boolean): boolean {
  if (isCertain && !(one.isCertain && other.isCertain)) return false
  for (const [alternatives, choice] of one.chosen)
    if (other.chosen.has(alternatives) && other.chosen.get(alternatives) !== choice) return false
  return true
}

/** Returns a function that finds the members of a schema, and of those that it applies to the same value. */
export function createMembers(resolve: Resolve): (schema: Schema) => Members {
  const among = createAmong(resolve)
  const own = { object: once(membersOfObject), array: once(membersOfArray) }
  const waysThrough = createWaysThrough(resolve)
  const partsOfKind = (schema: Schema, kind: keyof typeof own) =>
    partsOf(schema, kind, resolve, among).filter((part) => own[kind](part.schema).length > 0)
  return once((schema) => {
    if (waysThrough(schema) > waysMax) return grouped([])
    const all = (['object', 'array'] as const).flatMap((kind) =>
      partsOfKind(schema, kind).flatMap((part) =>
        own[kind](part.schema).map((each) => ({ ...each, kind, part, schema: resolve(each.schema) })),
      ),
    )
    return grouped(all)
  })
}

/** To enumerate. A schema with more is reported for that (multiplications.ts). */
export const waysMax = 1_000

/** Returns a function that counts the ways from a schema to those that it applies to the same value. */
export function createWaysThrough(resolve: Resolve): (schema: Schema) => number {
  const waysThrough: (schema: Schema) => number = once((schema) =>
    subschemasOf(schema)
      .filter(({ appliesTo }) => appliesTo === 'value')
      .reduce((sum, each) => sum + waysThrough(resolve(each.schema)), 1),
  )
  return waysThrough
}

function grouped(all: readonly Member[]): Members {
  const unnamed = all.filter(({ name }) => name === undefined)
  const byName = new Map<string, Member[]>()
  for (const each of all) {
    if (each.name === undefined) continue
    const same = byName.get(each.name)
    if (same === undefined) byName.set(each.name, [each, ...unnamed])
    else same.push(each)
  }
  return { all, unnamed, byName }
}

// The schemas that apply to the same value, and conditions, which are validated, too.
function partsOf(
  given: Schema,
  kind: Kind,
  resolve: Resolve,
  among: Among,
  { chosen, isCertain }: Omit<Part, 'schema'> = { chosen: new Map(), isCertain: true },
): Part[] {
  const schema = resolve(given)
  const by = (each: unknown, of?: unknown, choice?: unknown, isSure = true) =>
    typeof each !== 'object' || each === null
      ? []
      : partsOf(each as Schema, kind, resolve, among, {
          chosen: of === undefined ? chosen : new Map(chosen).set(of, choice),
          isCertain: isCertain && isSure,
        })
  const { allOf = [], if: condition, not, dependentSchemas = {} } = schema
  const parts = [...(allOf as AnySchema[]), condition, not, ...Object.values(dependentSchemas as object)]
  return [
    { schema, chosen, isCertain },
    ...parts.flatMap((each) => by(each)),
    ...(condition === undefined ? [] : ['then', 'else']).flatMap((each) => by(schema[each], condition, each)),
    ...['anyOf', 'oneOf'].flatMap((keyword) => {
      const alternatives = schema[keyword] as readonly AnySchema[] | undefined
      if (alternatives === undefined) return []
      const { candidates, areExclusive } = among(schema, keyword, kind)
      return candidates.flatMap((i) =>
        by(alternatives[i], areExclusive ? alternatives : undefined, i, areExclusive),
      )
    }),
  ]
}

type Among = (schema: Schema, keyword: string, kind: Kind) => ReturnType<Choice['among']>

// A discriminator that maps to no alternative is refused when the schema is compiled.
function createAmong(resolve: Resolve): Among {
  const choice = (keyword: string) =>
    once((schema: Schema): Choice | undefined => {
      try {
        return choiceOf(schema, keyword, resolve, false)
      } catch {
        return undefined
      }
    })
  const choices: Readonly<Record<string, ReturnType<typeof choice>>> = {
    anyOf: choice('anyOf'),
    oneOf: choice('oneOf'),
  }
  return (schema, keyword, kind) =>
    choices[keyword]?.(schema)?.among(kind) ?? { candidates: [], areExclusive: true }
}

type OwnMember = Pick<Member, 'name' | 'accepts' | 'schema'>

function membersOfObject(schema: Schema): OwnMember[] {
  const patterns = Object.keys((schema.patternProperties ?? {}) as object).map((each) => toRegExp(each, 'u'))
  const isOther = (name: string) =>
    !Object.hasOwn((schema.properties ?? {}) as object, name) && !patterns.some((each) => each.test(name))
  return membersBy(schema, {
    properties: () => false,
    patternProperties: (name, pattern) => toRegExp(pattern, 'u').test(name),
    additionalProperties: isOther,
    unevaluatedProperties: isOther,
  })
}

function membersOfArray(schema: Schema): OwnMember[] {
  const { length } = (schema.prefixItems ?? []) as readonly unknown[]
  const isOther = (name: string) => Number(name) >= length
  return membersBy(schema, {
    prefixItems: () => false,
    items: isOther,
    unevaluatedItems: isOther,
    contains: () => true,
  })
}

// Only those that lead to a reference: others lead back to no schema.
function membersBy(
  schema: Schema,
  accepts: Readonly<Record<string, (name: string, pattern: string) => boolean>>,
): OwnMember[] {
  return subschemasOf(schema).flatMap(({ keyword, name = '', schema: each }) => {
    const isAccepted = accepts[keyword]
    if (isAccepted === undefined || !leadsOn(each)) return []
    const isNamed = keyword === 'properties' || keyword === 'prefixItems'
    return [
      { name: isNamed ? name : undefined, accepts: (one: string) => isAccepted(one, name), schema: each },
    ]
  })
}

function leadsOn(schema: Schema): boolean {
  return schemasIn(schema).some(({ $ref }) => typeof $ref === 'string')
}
