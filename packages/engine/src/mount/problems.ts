// What a contract or its handlers lack: collected while an application starts, and told all at once.

import type { Contract, Operation } from '../document/contract.js'
import { ContractError, type Problem } from '../document/contract-error.js'
import type { AnySchema } from '../document/keywords.js'
import { problemOf } from '../document/methods.js'

/** A problem; one that was found when a schema was compiled may be located more exactly. */
export type Found = Problem & {
  readonly isOfSchema?: boolean
  /** Where else it is, in words. */
  readonly also?: Set<string>
  /** Of a schema: the operations that it keeps from being served. */
  readonly operations?: Set<string>
}
/** By their text, so that a problem of several operations is reported once. */
export type Problems = Map<string, Found>

/** The result of a step, or undefined: its error becomes a problem of the operation. */
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

/** Notes a problem of a place, once, with all its places unless it is one. @param place in words */
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

// Enough to see where they are.
const placesMax = 20

function withPlaces({ text, at, also = new Set() }: Found): Problem {
  if (also.size === 0) return { text, at }
  const shown = [...also].slice(0, placesMax)
  const others = also.size > placesMax ? [`${also.size - placesMax} others`] : []
  return { text: `${text} (and ${[...shown, ...others].join(', ')})`, at }
}

/** In the document with its references, which say where a faulty schema is written. */
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

// Of more problems, the operation is named: compiling its schemas one by one takes long.
const locatedMax = 20
