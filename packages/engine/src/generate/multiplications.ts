// Schemas that are applied many times to the same part of a value, each time by another way: alternatives of
// alternatives that nothing tells apart, or parts of an `allOf` that share theirs. The ways multiply with
// every level of schemas. The server bounds what a value takes in steps (schemas/steps.ts), so that it would
// refuse a long one. Where a schema leads back to itself, doublings.ts reports it.

import type { Schema } from '../document/contract.js'
import type { Pointer, Problem } from '../document/contract-error.js'
import { pointerTo } from '../document/pointer.js'
import { schemaPlaces } from '../document/schema-places.js'
import { stepsOfPart } from '../values/steps.js'
import {
  areTogether,
  createMembers,
  createResolve,
  createWaysThrough,
  isSameMember,
  type Member,
  waysMax,
} from './doublings.js'

// Of one document.
const toldMax = 10
const visitsMax = 100_000

/** A warning for each schema of a contract's specification that is applied so often. */
export function multiplications(document: object): Problem[] {
  const resolve = createResolve(document)
  const places = new Map(
    schemaPlaces(document)
      .toReversed()
      .map(({ schema, at }) => [schema, at] as const),
  )
  const search = new Search(createMembers(resolve))
  const waysThrough = createWaysThrough(resolve)
  for (const schema of places.keys()) search.visit(resolve(schema), 1)
  const wide = [...places.keys()].filter((schema) => waysThrough(schema) > waysMax)
  return [...wide.map((schema) => [schema, waysThrough(schema)] as const), ...search.most]
    .filter(([, times]) => times > stepsOfPart)
    .sort(([, a], [, b]) => b - a)
    .slice(0, toldMax)
    .map(([schema, times]) => warning(places.get(schema) ?? [], times))
}

function warning(at: Pointer, times: number): Problem {
  const text =
    `${pointerTo(at)} is applied in up to ${times} ways to the same value, ` +
    'by the schemas around it or in it: ' +
    'a long body may be refused as request_too_complex. Tell the alternatives apart by a ' +
    'property with a const each'
  return { text, at }
}

class Search {
  /** How often each schema is applied to the same value. */
  readonly most = new Map<Schema, number>()
  readonly #around = new Set<Schema>()
  #visits = 0

  constructor(readonly membersOf: ReturnType<typeof createMembers>) {}

  visit(schema: Schema, times: number): void {
    if (this.#around.has(schema) || times <= (this.most.get(schema) ?? 0)) return
    if (this.#visits++ > visitsMax) return
    this.most.set(schema, times)
    this.#around.add(schema)
    for (const [inner, ways] of waysFrom(this.membersOf(schema).all)) this.visit(inner, times * ways)
    this.#around.delete(schema)
  }
}

// The schemas of members, and by how many ways one value has each.
function waysFrom(members: readonly Member[]): ReadonlyMap<Schema, number> {
  const ways = new Map<Schema, number>()
  for (const one of members) {
    const same = members.filter(
      (other) =>
        other.schema === one.schema && isSameMember(one, other) && areTogether(one.part, other.part, false),
    )
    ways.set(one.schema, Math.max(ways.get(one.schema) ?? 0, same.length))
  }
  return ways
}
