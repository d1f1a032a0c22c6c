// Patterns that backtrack, schemas that multiply their work, and the operations that would run them.

import type { Contract, Operation } from 'contract-engine'
import { doublings, type Judgements, slowPatterns } from 'contract-engine/generate'
import { type Problem, placesOf } from 'contract-engine/tools'

export interface JudgedPatterns {
  /** Exponential ones of operations that are implemented. */
  readonly refused: readonly Problem[]
  /** Exponential ones of stubs. */
  readonly planned: readonly Problem[]
  /** All others. */
  readonly noted: readonly Problem[]
}

/** The patterns and schemas of a contract that may take long. */
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
