// What a comparison is made of: its place in both documents, what was found, and what it knows.

import type { Node, Pair, Pairs } from './node.js'
import type { Tables } from './normalise.js'

/** The part of the version that a change requires to be raised; `major` is a breaking change. */
export type Bump = 'major' | 'minor' | 'patch'

/** One change. */
export interface Change {
  readonly bump: Bump
  /** The operation, such as `GET /pets`, or the top-level part of the document. */
  readonly place: string
  /** The location in it, such as `query.limit` or `200 400 body.status`; empty for all of it. */
  readonly where: string
  readonly what: string
  /** The location in the second document, or the longest part of it that exists. */
  readonly at: Path
}

/** Keys and indices from the root of a document. */
export type Path = readonly string[]

/** Whether clients send the values of a schema, or read them. */
type Direction = 'request' | 'response'

/** What a rule compares: two mappings, and where they are. */
export interface Spot extends Pair {
  readonly comparison: Comparison
  readonly place: string
  readonly where: string
  readonly direction: Direction
  /** The response's status. A change in several responses is reported once, with all statuses. */
  readonly status?: string
  /** The path, if it does not follow from the mappings. */
  readonly at?: Path
  /** The pairs of schemas that lead here. */
  readonly trail: readonly Pair[]
  /** The schemas around this one that describe the same value, as by `allOf`; the outermost first. */
  readonly around: readonly Pair[]
  /** The most that a change here can require. */
  readonly bumpMax?: Bump
}

/** A change, and in how many places of its operation it is: `where` is the first. */
export interface Found {
  readonly status: string | undefined
  readonly change: Change
  readonly places: number
}

/** How often pairs of schemas were compared: visits.ts. */
export interface PairVisits {
  /** Compares a pair, or repeats what was found of it. False if it would be compared too often. */
  compare(schema: Spot, compare: () => void): boolean
  /** Those of a trial. */
  ofTrial(): PairVisits
}

/** Two normalised documents, and what was found so far. */
export interface Comparison extends Tables {
  readonly documents: Pair
  /** The time at which the effects are compared: a sunset may have passed. */
  readonly nowMs: number
  readonly found: Found[]
  /** Claimed keys, by mapping. */
  readonly claims: WeakMap<Node, Set<string>>
  /** Resolved mappings, by mapping with a `$ref`. */
  readonly views: WeakMap<Node, Node>
  /** Paths, by mapping of a parsed document. */
  readonly paths: WeakMap<object, Path>
  /** Pairs of schemas without a difference, by direction. */
  readonly unchanged: Readonly<Record<Direction, Pairs>>
  /** Pairs of schemas at which the comparison stopped because they are recursive. */
  readonly recursive: Spot[]
  readonly visits: PairVisits
  /** Whether pairs of schemas are compatible, by what they were compared as. */
  readonly verdicts: Map<string, boolean>
  /** Pairs that are the same but for their documentation, and those that are not. */
  readonly same: Pairs
  readonly different: Pairs
  /** A number of each schema that was compared. */
  readonly ids: Map<Node, number>
}
