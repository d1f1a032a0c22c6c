// The state of one comparison: two documents, and what was found. A rule that reports a difference claims the
// keys it spoke for; what nobody claimed is documentation.

import type { Node, Pair } from './node.js'

/** The part of the version that a change must raise; `major` is a breaking change. */
export type Bump = 'major' | 'minor' | 'patch'

/** From the most to the least. */
export const bumps: readonly Bump[] = ['major', 'minor', 'patch']

/** One difference, as a caller of the API would look for it. */
export interface Change {
  readonly bump: Bump
  /** The operation, `GET /pets`, or the part of the document. */
  readonly place: string
  /** Inside of it: `query.limit`, `200 400 body.status`; empty for the whole. */
  readonly where: string
  readonly what: string
}

/** Where a rule is looking. */
export interface Spot {
  readonly place: string
  readonly where: string
  /** Of the response it is in. Answers that change alike are told of together. */
  readonly status?: string
}

/** Two documents, and what was found so far. */
export interface Comparison extends Pair {
  readonly found: { readonly status: string | undefined; readonly change: Change }[]
  /** By mapping, the keys whose difference a rule spoke for. */
  readonly claims: WeakMap<Node, Set<string>>
  /** By mapping with a `$ref`, what it stands for. */
  readonly views: WeakMap<Node, Node>
  /** The mappings that such a view was put together from. */
  readonly sources: WeakMap<Node, readonly Node[]>
}

/** The documents cannot be compared; the message says why, in one line. */
export class DiffError extends Error {
  override name = 'DiffError'
}

/** Claimed of a mapping that a rule spoke for as a whole: no key of a document. */
export const whole = ''

/** Begins a comparison. */
export function comparisonOf({ before, after }: Pair): Comparison {
  const [claims, views, sources] = [new WeakMap(), new WeakMap(), new WeakMap()]
  return { before, after, found: [], claims, views, sources }
}

/** Reports a difference, and claims the keys of the pair that it speaks for. */
export function report(
  comparison: Comparison,
  spot: Spot,
  bump: Bump,
  what: string,
  pair: Pair,
  ...keys: readonly string[]
): void {
  const { place, where, status } = spot
  comparison.found.push({ status, change: { bump, place, where, what } })
  for (const key of keys) claimBoth(comparison, pair, key)
}

/** Keeps a key from being told of as documentation, on both sides. */
export function claimBoth(comparison: Comparison, { before, after }: Pair, key: string): void {
  claim(comparison, before, key)
  claim(comparison, after, key)
}

/** As `claimBoth`, on one side. */
export function claim(comparison: Comparison, node: Node, key: string): void {
  for (const source of comparison.sources.get(node) ?? []) claim(comparison, source, key)
  comparison.claims.set(node, (comparison.claims.get(node) ?? new Set()).add(key))
}

/** Whether a rule spoke for a key on either side. */
export function isClaimed({ claims }: Comparison, { before, after }: Pair, key: string): boolean {
  return claims.get(before)?.has(key) === true || claims.get(after)?.has(key) === true
}

/** What was found: each difference once, the worst first. */
export function changesOf({ found }: Comparison): Change[] {
  const merged = new Map<string, { change: Change; statuses: Set<string> }>()
  for (const { change, status } of found) {
    const key = JSON.stringify([change, status === undefined])
    const entry = merged.get(key) ?? { change, statuses: new Set() }
    if (status !== undefined) entry.statuses.add(status)
    merged.set(key, entry)
  }
  return [...merged.values()].map(withStatuses).sort(compareChanges)
}

function withStatuses({ change, statuses }: { change: Change; statuses: Set<string> }): Change {
  return { ...change, where: [...statuses, change.where].filter((part) => part !== '').join(' ') }
}

function compareChanges(a: Change, b: Change): number {
  const keyOf = (change: Change) => [bumps.indexOf(change.bump), change.place, change.where, change.what]
  const [x, y] = [JSON.stringify(keyOf(a)), JSON.stringify(keyOf(b))]
  // By code unit: the same order in every locale.
  return x < y ? -1 : Number(x > y)
}
