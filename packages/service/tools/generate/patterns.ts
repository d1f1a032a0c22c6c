// Finds patterns that backtrack, schemas that multiply work, and the operations that would run them.

import type { Contract, Operation } from 'contract-engine'
import { doublings, type Judgements, slowPatterns } from 'contract-engine/generate'
import { type Problem, placesOf } from 'contract-engine/tools'

export interface JudgedPatterns {
  /** Exponential patterns that an implemented operation would run. */
  readonly refused: readonly Problem[]
  /** Exponential patterns that only stubs would run. */
  readonly planned: readonly Problem[]
  /** All other findings. */
  readonly noted: readonly Problem[]
}

/** Judges the patterns and schemas of a contract that may take long. */
export function judgePatterns(
  contract: Contract,
  isWritten: (operation: Operation) => boolean,
  judgements: Judgements,
): JudgedPatterns {
  const found = slowPatterns(contract.document, judgements)
  const exponential = found.filter(({ isExponential }) => isExponential)
  const used = exponential.map((each) => ({ ...each, users: usersOf(contract, each) }))
  const of = (users: readonly Operation[], { text, at }: Problem) =>
    users.slice(0, 1).map(({ id }) => ({ text: `${id}: ${text}`, at }))
  return {
    refused: used.flatMap((each) => of(each.users.filter(isWritten), each)),
    planned: used.flatMap((each) => (each.users.some(isWritten) ? [] : of(each.users, each))),
    noted: [
      ...found.filter(({ isExponential }) => !isExponential),
      ...used.filter(({ users }) => users.length === 0),
      ...doublings(contract.specification),
    ],
  }
}

function usersOf({ document, operations }: Contract, { at }: Problem): Operation[] {
  return [...operations.values()].filter((operation) =>
    placesOf(document, operation).some((place) => isWithin(at, place)),
  )
}

// A pattern is directly in its schema, or in the map of its `patternProperties`.
function isWithin(at: Problem['at'], schema: Problem['at']): boolean {
  return at.length - schema.length <= 2 && schema.every((key, i) => String(key) === String(at[i]))
}
