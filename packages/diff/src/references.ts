// Resolves local `$ref`s lazily, so that recursive schemas need no expansion. A comparison detects recursion
// by its trail, which has the pairs on the way.

import { resolvePointer } from 'contract-engine/tools'
import type { Comparison, Spot } from './comparison.js'
import { isNode, type Node, type Pair } from './node.js'
import { documentationKeywords } from './simplify.js'

/** Returns the spot of the values under a key. */
export function child(spot: Spot, key: string, where = spot.where): Spot {
  return inside(spot, spot.before[key], spot.after[key], where)
}

/** Returns the spot of two values inside this one. */
export function inside(spot: Spot, before: unknown, after: unknown, where = spot.where): Spot {
  return { ...spot, where, ...resolveBoth(spot.comparison, before, after) }
}

/** Returns the spot of a part at the top level of the documents. */
export function partOf(root: Spot, key: string): Spot {
  return { ...child(root, key), place: key }
}

function resolveBoth(comparison: Comparison, before: unknown, after: unknown): Pair {
  const { documents } = comparison
  return {
    before: resolve(comparison, documents.before, before),
    after: resolve(comparison, documents.after, after),
  }
}

/**
 * Resolves a value to a mapping, which is the same object for the same value. An absent value resolves to an
 * empty mapping, like the schema `true`.
 */
export function resolve(
  comparison: Comparison,
  document: Node,
  value: unknown,
  refs: readonly string[] = [],
): Node {
  if (value === false) return impossible
  if (!isNode(value)) return empty
  const { $ref, ...siblings } = value
  if (typeof $ref !== 'string') return value
  const known = comparison.views.get(value)
  if (known) return known
  const isEndless = refs.includes($ref)
  const found = comparison.targets.get(document)?.get($ref) ?? resolvePointer(document, $ref)
  if (isEndless || found === undefined) return value // in a document that was read, such a value is data
  const target = resolve(comparison, document, found, [...refs, $ref])
  // OpenAPI 3.1 allows keywords beside a `$ref`.
  const view = Object.keys(siblings).length === 0 ? target : { ...target, ...siblings }
  comparison.views.set(value, view)
  if (view !== target) comparison.sources.set(view, [value, target])
  return view
}

const empty: Node = Object.freeze({})
// Stands for the schema `false`.
const impossible: Node = Object.freeze({ not: true })

/** True if the trail already has this pair, with the same schemas around it. */
export function isInTrail(trail: readonly Passed[], pair: Passed): boolean {
  return trail.some((passed) => isSamePair(passed, pair) && isSameAround(passed, pair))
}

/** A pair of schemas, and the schemas around it that describe the same value. */
type Passed = Pair & Partial<Pick<Spot, 'around'>>

function isSamePair(one: Pair, other: Pair): boolean {
  return one.before === other.before && one.after === other.after
}

function isSameAround({ around: ones = [] }: Passed, { around: others = [] }: Passed): boolean {
  return ones.length === others.length && ones.every((one, i) => isSamePair(one, others[i] ?? one))
}

/** True if two values are equal when references are resolved and documentation is ignored. */
export function same(
  comparison: Comparison,
  before: unknown,
  after: unknown,
  trail: readonly Pair[] = [],
): boolean {
  const sameInside = (pair: Pair) => (key: string) => {
    const [was, is] = [pair.before[key], pair.after[key]]
    // If both are mappings, the key is the name of a property.
    if (documentationKeywords.includes(key) && !(isNode(was) && isNode(is))) return true
    return same(comparison, was, is, [...trail, pair])
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.length === after.length && before.every((x, i) => same(comparison, x, after[i], trail))
  }
  if (!isNode(before) || !isNode(after)) return before === after
  const pair = resolveBoth(comparison, before, after)
  if (isInTrail(trail, pair)) return true
  return Object.keys({ ...pair.before, ...pair.after }).every(sameInside(pair))
}
