// The state of a comparison: two documents, and the changes found so far. A rule that reports a change claims
// the keys that it covers; a difference in an unclaimed key is a change of the documentation.

import type { Node, Pair } from './node.js'
import { normalise, type Tables } from './normalise.js'

/** The part of the version that a change requires to raise; `major` is a breaking change. */
export type Bump = 'major' | 'minor' | 'patch'

/** The bumps, from the most to the least significant. */
export const bumps: readonly Bump[] = ['major', 'minor', 'patch']

/** One change. */
export interface Change {
  readonly bump: Bump
  /** The operation, such as `GET /pets`, or the top-level part of the document. */
  readonly place: string
  /**
   * The location within the place, such as `query.limit` or `200 400 body.status`; empty for the whole place.
   */
  readonly where: string
  readonly what: string
  /** The location in the second document, or the longest part of it that exists. */
  readonly at: Path
}

/** The keys and indices that lead from the root of a document to a part. */
export type Path = readonly string[]

/** `request` if clients send the values of a schema, `response` if they read them. */
type Direction = 'request' | 'response'

/** The two mappings that a rule compares, and their location. */
export interface Spot extends Pair {
  readonly comparison: Comparison
  readonly place: string
  readonly where: string
  readonly direction: Direction
  /** The status of the response. A change in several responses is reported once, with all their statuses. */
  readonly status?: string
  /** The path, if it cannot be found from the mappings. */
  readonly at?: Path
  /** The pairs of schemas on the way to this one. */
  readonly trail: readonly Pair[]
  /** The schemas around this one that describe the same value, as through `allOf`; the outermost is first. */
  readonly around: readonly Pair[]
  /** The most significant bump that a change here can require. */
  readonly bumpMax?: Bump
}

/** Two normalised documents, and the findings so far. */
export interface Comparison extends Tables {
  readonly documents: Pair
  /** The time of the comparison: a sunset may have passed. */
  readonly nowMs: number
  readonly found: { readonly status: string | undefined; readonly change: Change }[]
  /** Claimed keys, by mapping. */
  readonly claims: WeakMap<Node, Set<string>>
  /** Resolved mappings, by mapping with a `$ref`. */
  readonly views: WeakMap<Node, Node>
  /** Paths, by mapping of a parsed document. */
  readonly paths: WeakMap<object, Path>
  /** Pairs of schemas without a difference, by direction. */
  readonly unchanged: Readonly<Record<Direction, WeakMap<Node, WeakSet<Node>>>>
  /** Pairs of schemas at which the comparison stopped because they are recursive. */
  readonly recursive: Pair[]
}

/** Claims a mapping as a whole, since no key of a document is empty. */
export const wholeNode = ''

/** Starts a comparison of two parsed documents, at their roots. */
export function rootOf(parsed: Pair, nowMs: number): Spot {
  const [origins, sources, targets] = [new WeakMap(), new WeakMap(), new WeakMap()]
  const tables: Tables = { origins, sources, targets, spellings: new Map() }
  const documents = { before: normalise(parsed.before, tables), after: normalise(parsed.after, tables) }
  const paths = new WeakMap<object, Path>()
  for (const [document, isAfter] of [[parsed.before, false] as const, [parsed.after, true] as const]) {
    // Components come first, so that a part which is also elsewhere has its path in the components.
    collectPaths(paths, document.components, ['components'], isAfter)
    collectPaths(paths, document, [], isAfter)
  }
  const comparison = { documents, nowMs, ...tables, paths, views: new WeakMap(), ...noFindings() }
  return { comparison, ...documents, place: '', where: '', direction: 'request', trail: [], around: [] }
}

/** Returns the same spot in a trial comparison, whose changes are not reported. */
export function trialOf(spot: Spot): Spot {
  return { ...spot, comparison: { ...spot.comparison, ...noFindings() } }
}

function noFindings(): Pick<Comparison, 'found' | 'claims' | 'unchanged' | 'recursive'> {
  const unchanged = { request: new WeakMap(), response: new WeakMap() }
  return { found: [], claims: new WeakMap(), unchanged, recursive: [] }
}

// An item of a list in the first document may have another index in the second, so its path ends at the list.
function collectPaths(paths: WeakMap<object, Path>, value: unknown, path: Path, isAfter: boolean): void {
  if (typeof value !== 'object' || value === null || paths.has(value)) return
  paths.set(value, path)
  const isEnd = Array.isArray(value) && !isAfter
  for (const [key, each] of Object.entries(value)) {
    collectPaths(paths, each, isEnd ? path : [...path, key], isAfter)
  }
}

/** Reports a change, and claims the keys that it covers. */
export function report(spot: Spot, bump: Bump, what: string, ...keys: readonly string[]): void {
  const { comparison, place, where, status, bumpMax = 'major' } = spot
  const pathIn = (node: Node) => pathOf(comparison, node, keys[0])
  const at = spot.at ?? pathIn(spot.after) ?? pathIn(spot.before) ?? []
  const most = bumps.indexOf(bump) < bumps.indexOf(bumpMax) ? bumpMax : bump
  comparison.found.push({ status, change: { bump: most, place, where, what, at } })
  claim(spot, ...keys)
}

/** Returns the path of a key in a normalised mapping, or of the mapping if it lacks the key. */
export function pathOf(comparison: Comparison, node: Node, key = wholeNode): Path | undefined {
  const origins = originsOf(comparison, node)
  const holder = origins.find((origin) => key in origin)
  if (holder) return [...(comparison.paths.get(holder) ?? []), key]
  return origins[0] && comparison.paths.get(origins[0])
}

// Parts that OpenAPI does not know are not normalised, so they are their own origin.
function originsOf(comparison: Comparison, node: Node): Node[] {
  const sources = comparison.sources.get(node) ?? []
  const own = comparison.origins.get(node) ?? node
  const parsed = comparison.paths.has(own) ? [own] : []
  return [...parsed, ...sources.flatMap((source) => originsOf(comparison, source))]
}

/** Claims keys in both documents. */
export function claim({ comparison, before, after }: Spot, ...keys: readonly string[]): void {
  for (const key of keys) {
    claimIn(comparison, before, key)
    claimIn(comparison, after, key)
  }
}

// Claims a key of a mapping, and of the mappings from which it was merged.
function claimIn(comparison: Comparison, node: Node, key: string): void {
  for (const source of comparison.sources.get(node) ?? []) claimIn(comparison, source, key)
  comparison.claims.set(node, (comparison.claims.get(node) ?? new Set()).add(key))
}

/** True if a key is claimed in either document. */
export function isClaimed({ comparison, before, after }: Spot, key: string): boolean {
  return [before, after].some((node) => comparison.claims.get(node)?.has(key))
}

/** Returns the changes without duplicates, breaking changes first. */
export function changesOf({ comparison }: Spot): Change[] {
  const merged = new Map<string, { change: Change; statuses: Set<string> }>()
  for (const { change, status } of comparison.found) {
    const key = JSON.stringify([{ ...change, at: [] }, status === undefined])
    const entry = merged.get(key) ?? { change, statuses: new Set() }
    if (status !== undefined) entry.statuses.add(status)
    merged.set(key, entry)
  }
  return withoutRepeated([...merged.values()]).sort(compareChanges)
}

interface Merged {
  readonly change: Change
  readonly statuses: ReadonlySet<string>
}

// Merges a change that appears in the errors of all operations, such as a new code, if the document contains
// it only once.
function withoutRepeated(all: readonly Merged[]): Change[] {
  const groups = new Map<string, Merged[]>()
  for (const each of all) {
    const { place, ...others } = each.change
    const key = JSON.stringify(isOfErrors(each) ? others : [place, others, [...each.statuses]])
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length === 1) return group.map(withStatuses)
    const what = `${first.change.what}, in the errors of ${group.length} operations`
    return [{ ...first.change, place: 'errors', what }]
  })
}

function isOfErrors({ change, statuses }: Merged): boolean {
  const isShared = change.at[0] === 'components'
  return isShared && statuses.size > 0 && [...statuses].every((status) => /^(?:[45]|default$)/.test(status))
}

function withStatuses({ change, statuses }: Merged): Change {
  return { ...change, where: [...statuses, change.where].filter((part) => part !== '').join(' ') }
}

function compareChanges(a: Change, b: Change): number {
  const keyOf = (change: Change) => [bumps.indexOf(change.bump), change.place, change.where, change.what]
  const [x, y] = [JSON.stringify(keyOf(a)), JSON.stringify(keyOf(b))]
  // Compares by code unit, which gives the same order in every locale.
  return x < y ? -1 : Number(x > y)
}
