// Follows local `$ref`s one step at a time. Nothing is expanded, so a recursive schema costs nothing; a walk
// knows by the trail of pairs it came along that it is going in circles.

import type { Comparison } from './comparison.js'
import { DiffError } from './diff-error.js'
import { isNode, type Node, type Pair } from './node.js'
import { lookUp } from './pointer.js'
import { words } from './simplify.js'

/** The mappings under a key. */
export function child(comparison: Comparison, { before, after }: Pair, key: string): Pair {
  return {
    before: resolve(comparison, comparison.before, before[key]),
    after: resolve(comparison, comparison.after, after[key]),
  }
}

/**
 * What a value stands for: always the same object for the same value. An absent one is empty, which is also
 * what the schema `true` says.
 * @throws {DiffError} where a `$ref` leads nowhere.
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
  if (refs.includes($ref)) throw new DiffError(`$ref ${$ref} leads back to itself`)
  const found = comparison.targets.get(document)?.get($ref) ?? lookUp(document, $ref)
  const target = resolve(comparison, document, found, [...refs, $ref])
  // OpenAPI 3.1 lets keywords stand beside a `$ref`.
  const view = Object.keys(siblings).length === 0 ? target : { ...target, ...siblings }
  comparison.views.set(value, view)
  if (view !== target) comparison.sources.set(view, [value, target])
  return view
}

const empty: Node = Object.freeze({})
// The schema `false`, written as one that is a mapping.
const impossible: Node = Object.freeze({ not: true })

/** Whether a walk has been at this pair on its way here. */
export function isOn(trail: readonly Pair[], pair: Pair): boolean {
  return trail.some(({ before, after }) => before === pair.before && after === pair.after)
}

/** Whether both say the same to programs, wherever it is written. */
export function same(
  comparison: Comparison,
  before: unknown,
  after: unknown,
  trail: readonly Pair[] = [],
): boolean {
  const sameInside = (pair: Pair) => (key: string) => {
    const [was, is] = [pair.before[key], pair.after[key]]
    // A field may have such a name, too.
    if (words.includes(key) && !(isNode(was) && isNode(is))) return true
    return same(comparison, was, is, [...trail, pair])
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.length === after.length && before.every((x, i) => same(comparison, x, after[i], trail))
  }
  if (!isNode(before) || !isNode(after)) return before === after
  const pair = {
    before: resolve(comparison, comparison.before, before),
    after: resolve(comparison, comparison.after, after),
  }
  if (isOn(trail, pair)) return true
  return Object.keys({ ...pair.before, ...pair.after }).every(sameInside(pair))
}
