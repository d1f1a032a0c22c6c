// Finds schemas that apply themselves to a part of a value twice: by alternatives that nothing tells apart,
// or by two parts of an `allOf`. Each level of a value then doubles the work. The server bounds the steps
// (runtime/steps.ts), so it would refuse a deep value. Without a warning, a client would be the first to find
// out.

import { referencesIn } from '../document/component-kinds.js'
import type { Schema } from '../document/contract.js'
import type { Pointer, Problem } from '../document/contract-error.js'
import { choiceKeywords, type Subschema, schemasIn, subschemasOf } from '../document/keywords.js'
import { circularRefs, pointerKeys, pointerTo } from '../document/pointer.js'
import { Reader } from '../document/reader.js'
import { choiceOf } from '../runtime/choices.js'
import { once } from '../runtime/once.js'
import type { Resolve } from '../runtime/references.js'

// The limit for one document: with more such schemas, anything in the contract contains anything.
const toldMax = 10

/** Returns a warning for each such schema in a contract's specification. */
export function doublings(document: object): Problem[] {
  const reader = new Reader(document)
  const resolve: Resolve = (schema) => reader.node(schema)
  const refs = referencesIn(document).flatMap(({ ref, kind }) => (kind === 'schemas' ? [ref] : []))
  const referring = referringTo(refs, resolve)
  const found: Problem[] = []
  for (const ref of circularRefs(document, refs)) {
    const doubled = createDoubled(leadingTo(ref, referring), resolve)
    for (const [schema, at] of placesIn(resolve({ $ref: ref }), pointerKeys(ref) ?? [])) {
      if (found.length === toldMax) return found
      const [member] = doubled(schema)
      if (member !== undefined) found.push({ text: sentence(at, member), at })
    }
  }
  return found
}

function sentence(at: Pointer, member: string): string {
  return (
    `${pointerTo(at)} applies itself to its ${member} twice, so that each level of a value doubles the time ` +
    'that validation takes, and a deep one is refused as request_too_complex: ' +
    'tell alternatives apart by a property with a const each, and let other parts apply it once'
  )
}

// Skips the target of another reference, which is reported by itself.
function* placesIn(schema: Schema, at: Pointer): Generator<readonly [Schema, Pointer]> {
  if (typeof schema.$ref === 'string') return
  yield [schema, at]
  for (const { keyword, name, schema: each } of subschemasOf(schema))
    yield* placesIn(each, [...at, keyword, ...(name === undefined ? [] : [name])])
}

/** By the name of a member that leads back to a reference: how often one value may be checked for it. */
type Ways = ReadonlyMap<string, number>

// Returns a function that names the members through which a schema leads to one of the references twice.
function createDoubled(refs: ReadonlySet<string>, resolve: Resolve): (schema: Schema) => string[] {
  const leadsBack = once((schema) => refsIn(schema).some((ref) => refs.has(ref)))
  const waysOf: (schema: Schema) => Ways = once((schema) => {
    const parts = subschemasOf(schema)
    const members = (isOwn: (keyword: string) => boolean): Ways => {
      const own = parts.filter(({ keyword, appliesTo }) => appliesTo === 'members' && isOwn(keyword))
      return new Map(own.filter((each) => leadsBack(each.schema)).map((each) => [memberName(each), 1]))
    }
    const own = [members((each) => each !== 'contains'), members((each) => each === 'contains')]
    const by = (...keywords: readonly string[]) =>
      parts.filter(({ keyword }) => keywords.includes(keyword)).map((each) => waysOf(resolve(each.schema)))
    const chosen = choiceKeywords.map((keyword) =>
      united(by(keyword), areExclusive(schema, keyword, resolve) ? Math.max : sum),
    )
    const branches = united(by('then', 'else'), Math.max)
    return united([...own, ...by('allOf', 'if', 'not', 'dependentSchemas'), ...chosen, branches], sum)
  })
  return (schema) => [...waysOf(schema)].flatMap(([member, ways]) => (ways > 1 ? [member] : []))
}

function united(all: readonly Ways[], unite: (a: number, b: number) => number): Ways {
  const ways = new Map<string, number>()
  for (const [member, count] of all.flatMap((each) => [...each]))
    ways.set(member, unite(ways.get(member) ?? 0, count))
  return ways
}

function sum(a: number, b: number): number {
  return a + b
}

function memberName({ keyword, name }: Subschema): string {
  if (keyword === 'properties') return String(name)
  if (keyword === 'prefixItems') return `item ${name}`
  return /items|contains/i.test(keyword) ? 'items' : 'other members'
}

// A discriminator that maps to no alternative counts as exclusive: compiling the schema will refuse it.
function areExclusive(schema: Schema, keyword: string, resolve: Resolve): boolean {
  if (schema[keyword] === undefined) return true
  try {
    const { among } = choiceOf(schema, keyword, resolve, false)
    return among('object').areExclusive && among('array').areExclusive
  } catch {
    return true
  }
}

// Maps each reference to the references whose targets contain it.
function referringTo(refs: readonly string[], resolve: Resolve): ReadonlyMap<string, readonly string[]> {
  const referring = new Map<string, string[]>()
  const reached = new Set(refs) // a Set also iterates over what is added meanwhile
  for (const ref of reached)
    for (const each of refsIn(resolve({ $ref: ref }))) {
      reached.add(each)
      referring.set(each, [...(referring.get(each) ?? []), ref])
    }
  return referring
}

function leadingTo(ref: string, referring: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const refs = new Set([ref])
  for (const one of refs) for (const each of referring.get(one) ?? []) refs.add(each)
  return refs
}

function refsIn(schema: Schema): string[] {
  return schemasIn(schema).flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []))
}
