// How often a comparison compares the same pair of schemas. Schemas that each refer twice to the next are met
// in twice as many places at each level: after some places of a pair, what was found of it is repeated.

import type { Found, Spot } from './comparison.js'
import type { Node } from './node.js'
import { isInTrail } from './references.js'

/** In as many places of an operation, a change is told of each, and a pair of schemas compared in each. */
export const placesMax = 10
// How often a pair may be compared: schemas around it, or that it leads back to, may change its effect.
const comparisonsMax = 200
// How often pairs may be met in the trials of an operation, which alternatives within alternatives begin.
const trialStepsMax = 20_000

/** What was found of a pair of schemas. */
interface Outcome {
  readonly found: readonly Found[]
  /** The pairs that led to it and stopped the comparison, because it leads back to them. */
  readonly stops: readonly Spot[]
}

/** What is known of a pair of schemas in an operation. */
interface Known {
  /** How often it was compared. */
  count: number
  /** What was found from then on, by the schemas around it. */
  readonly outcomes: Map<string, Outcome>
}

/** The pairs of schemas that a comparison has met. */
export class Visits {
  readonly #known = new Map<string, Known>()
  /** By operation, of all trials. */
  readonly #trialSteps: Map<string, number>
  readonly #isTrial: boolean

  constructor(of?: Visits) {
    this.#trialSteps = of === undefined ? new Map() : of.#trialSteps
    this.#isTrial = of !== undefined
  }

  /** Those of a trial. */
  ofTrial(): Visits {
    return new Visits(this)
  }

  /**
   * Compares a pair, or repeats what was found of it.
   * @returns false if it would be compared too often
   */
  compare(schema: Spot, compare: () => void): boolean {
    if (this.#isTrial && !this.#mayTry(schema)) return false
    const pair = this.#knownOf(schema)
    const key = keyOf(schema)
    const known = pair.outcomes.get(key)
    if (known?.stops.every((each) => isInTrail(schema.trail, each))) repeat(schema, known)
    else if (pair.count === comparisonsMax) return false
    else {
      pair.count++
      const outcomeOf = beginning(schema)
      compare()
      if (pair.count >= placesMax) pair.outcomes.set(key, outcomeOf())
    }
    return true
  }

  #mayTry({ place }: Spot): boolean {
    const count = this.#trialSteps.get(place) ?? 0
    this.#trialSteps.set(place, count + 1)
    return count < trialStepsMax
  }

  #knownOf(schema: Spot): Known {
    const { place, status } = schema
    const key = JSON.stringify([place, status, keyOf({ ...schema, around: [] })])
    const known = this.#known.get(key) ?? { count: 0, outcomes: new Map() }
    this.#known.set(key, known)
    return known
  }
}

function repeat({ comparison, where }: Spot, { found, stops }: Outcome): void {
  for (const { change, ...each } of found)
    comparison.found.push({ ...each, change: { ...change, where: where + change.where } })
  comparison.recursive.push(...stops)
}

// What was found since.
function beginning({ comparison: { found, recursive }, where, trail }: Spot): () => Outcome {
  const [known, stopped] = [found.length, recursive.length]
  return () => {
    const stops = recursive.slice(stopped).filter((each) => isInTrail(trail, each))
    return { found: gathered(found.slice(known), where.length), stops: distinct(stops) }
  }
}

function distinct(pairs: readonly Spot[]): readonly Spot[] {
  return [...new Map(pairs.map((each) => [keyOf(each), each])).values()]
}

// Each change once, at the first of its places, from within the pair.
function gathered(found: readonly Found[], start: number): Found[] {
  const groups = grouped(found, ({ change: { where: _, ...others } }) => others)
  return groups.flatMap((group) =>
    group.slice(0, 1).map((first) => {
      const change = { ...first.change, where: first.change.where.slice(start) }
      return { ...first, change, places: placesIn(group) }
    }),
  )
}

/** In how many places changes are together. */
export function placesIn(group: readonly Pick<Found, 'places'>[]): number {
  return group.reduce((sum, { places }) => sum + places, 0)
}

/** What the outcome of a comparison of two schemas depends on. */
export function keyOf({ comparison: { ids }, before, after, around, direction, bumpMax }: Spot): string {
  const pairs = [{ before, after }, ...around].map(
    (pair) => `${idOf(ids, pair.before)}-${idOf(ids, pair.after)}`,
  )
  return [direction, bumpMax, ...pairs].join()
}

function idOf(ids: Map<Node, number>, node: Node): number {
  const id = ids.get(node) ?? ids.size
  ids.set(node, id)
  return id
}

/** Groups by what a function returns, in the order of their first members. */
export function grouped<Each>(all: readonly Each[], keyOf: (each: Each) => unknown): Each[][] {
  const groups = new Map<string, Each[]>()
  for (const each of all) {
    const key = JSON.stringify(keyOf(each))
    const group = groups.get(key) ?? []
    group.push(each)
    groups.set(key, group)
  }
  return [...groups.values()]
}
