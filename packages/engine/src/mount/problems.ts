// The problems of a contract or its handlers. They are collected while an application starts, and reported
// all at once.

import type { Contract, Operation } from '../document/contract.js'
import { ContractError, type Problem } from '../document/contract-error.js'
import type { AnySchema } from '../document/keywords.js'
import { problemOf } from '../document/methods.js'

/** A problem. For one that was found when a schema was compiled, a more exact place can be found. */
export type Found = Problem & {
  readonly isOfSchema?: boolean
  /** The other places of the problem, in words. */
  readonly also?: Set<string>
  /** For a problem of a schema: the operations that cannot be served because of it. */
  readonly operations?: Set<string>
}
/** By their texts, so that a problem of several operations is reported once. */
export type Problems = Map<string, Found>

/**
 * Returns the result of a step. If the step throws, it notes the error as a problem of the operation, and
 * returns undefined.
 */
export function collect<Result>(
  operation: Operation,
  { problems }: { readonly problems: Problems },
  run: () => Result,
): Result | undefined {
  try {
    return run()
  } catch (error) {
    const found =
      error instanceof ContractError
        ? error.problems
        : [problemOf(operation, `${operation.id}: ${(error as Error).message}`)]
    for (const { text, at } of found) {
      const known = problems.get(text) ?? { text, at, isOfSchema: true, operations: new Set() }
      problems.set(text, known)
      known.operations?.add(operation.id)
    }
    return undefined
  }
}

/**
 * Notes a problem at a place. A problem is reported once, with all its places unless `isOne` is true.
 * @param place in words
 */
export function note(
  problems: Problems,
  { problem, place, isOne = false }: { readonly problem: string; readonly place: string; isOne?: boolean },
  at: Problem['at'],
): void {
  const known = problems.get(problem)
  const text = `${place}: ${problem}`
  if (known === undefined) problems.set(problem, { text, at, also: new Set() })
  else if (!isOne && known.text !== text) known.also?.add(place)
}

// This many places show where the problem is.
const placesMax = 20

function withPlaces({ text, at, also = new Set() }: Found): Problem {
  if (also.size === 0) return { text, at }
  const shown = [...also].slice(0, placesMax)
  const others = also.size > placesMax ? [`${also.size - placesMax} others`] : []
  return { text: `${text} (and ${[...shown, ...others].join(', ')})`, at }
}

/** Looks for exact places in the document with its references, where a faulty schema is written. */
export async function located(found: readonly Found[], { document }: Contract): Promise<readonly Problem[]> {
  const problems = found.map((each) => (each.isOfSchema ? each : withPlaces(each)))
  const faults = new Set<Problem>(found.slice(0, locatedMax).filter(({ isOfSchema }) => isOfSchema))
  if (faults.size === 0) return problems
  const [{ placeOfFault }, { toOpenApi31 }, { isCompilable }] = [
    await import('../compile/fault-place.js'),
    await import('../compile/source/upgrade.js'),
    await import('../compile/code/compilers.js'),
  ]
  const whole = toOpenApi31(document)
  return problems.map((each) => ({
    ...each,
    at: faults.has(each) ? placeOfFault(whole, each.at, fails) : each.at,
  }))

  function fails(one: object, schema: AnySchema): boolean {
    return !isCompilable(one, schema)
  }
}

// For problems beyond this number, only the operation is named, because to compile its schemas one by one
// takes long.
const locatedMax = 20
