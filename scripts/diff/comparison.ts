// The state of one comparison: two documents, and what was found. A rule that reports a difference claims the
// keys it spoke for; what nobody claimed is documentation.

import type { Node, Pair } from './node.js'
import { normalise, type Tables } from './normalise.js'

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
  /** The place in the document after, as keys and indices; as much of it as is there. */
  readonly at: Path
}

/** The keys and indices that lead to a place. */
export type Path = readonly (string | number)[]

/** Where a rule is looking. */
export interface Spot {
  readonly place: string
  readonly where: string
  /** Of the response it is in. Answers that change alike are told of together. */
  readonly status?: string
  /** The place, where the pair that is reported does not tell it. */
  readonly at?: Path
}

/** Two documents, rewritten alike, and what was found so far. */
export interface Comparison extends Pair, Tables {
  readonly found: { readonly status: string | undefined; readonly change: Change }[]
  /** By mapping, the keys whose difference a rule spoke for. */
  readonly claims: WeakMap<Node, Set<string>>
  /** By mapping with a `$ref`, what it stands for. */
  readonly views: WeakMap<Node, Node>
  /** By mapping of a document as it was parsed. */
  readonly paths: WeakMap<object, Path>
  /** By direction, the schemas that were found to be alike. */
  readonly alike: Readonly<Record<'request' | 'response', WeakMap<Node, WeakSet<Node>>>>
  /** The pairs of schemas that were met again inside of themselves. */
  readonly cut: Pair[]
}

/** Claimed of a mapping that a rule spoke for as a whole: no key of a document. */
export const whole = ''

/** Begins a comparison of two documents as they were parsed. */
export function comparisonOf(documents: Pair): Comparison {
  const [origins, sources, targets] = [new WeakMap(), new WeakMap(), new WeakMap()]
  const tables: Tables = { origins, sources, targets, spellings: new Map() }
  const [before, after] = [normalise(documents.before, tables), normalise(documents.after, tables)]
  const paths = new WeakMap<object, Path>()
  notePaths(paths, documents.before, [], false)
  notePaths(paths, documents.after, [], true)
  return { before, after, ...tables, paths, views: new WeakMap(), ...nothing() }
}

/** Begins a comparison of parts of the same documents, of which nobody is told. */
export function asideOf(comparison: Comparison): Comparison {
  return { ...comparison, ...nothing() }
}

function nothing(): Pick<Comparison, 'found' | 'claims' | 'alike' | 'cut'> {
  const alike = { request: new WeakMap(), response: new WeakMap() }
  return { found: [], claims: new WeakMap(), alike, cut: [] }
}

// What was in a list before may have another index now: of that, the list is all that can be found.
function notePaths(paths: WeakMap<object, Path>, value: unknown, path: Path, isAfter: boolean): void {
  if (typeof value !== 'object' || value === null || paths.has(value)) return
  paths.set(value, path)
  const isList = Array.isArray(value)
  for (const [key, each] of Object.entries(value)) {
    notePaths(paths, each, isList ? (isAfter ? [...path, Number(key)] : path) : [...path, key], isAfter)
  }
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
  const at =
    spot.at ?? pathOf(comparison, pair.after, keys[0]) ?? pathOf(comparison, pair.before, keys[0]) ?? []
  comparison.found.push({ status, change: { bump, place, where, what, at } })
  for (const key of keys) claimBoth(comparison, pair, key)
}

function pathOf(comparison: Comparison, node: Node, key = whole): Path | undefined {
  const written = originsOf(comparison, node)
  const holder = written.find((origin) => key in origin)
  if (holder) return [...(comparison.paths.get(holder) ?? []), key]
  return written[0] && comparison.paths.get(written[0])
}

// What is no part of OpenAPI is as it was written.
function originsOf(comparison: Comparison, node: Node): Node[] {
  const sources = comparison.sources.get(node) ?? []
  const own = comparison.origins.get(node) ?? node
  const written = comparison.paths.has(own) ? [own] : []
  return [...written, ...sources.flatMap((source) => originsOf(comparison, source))]
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
    const key = JSON.stringify([{ ...change, at: [] }, status === undefined])
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
