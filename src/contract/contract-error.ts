import { OperatorError } from '../operator-error.js'

/** The keys that lead to a part of the document. */
export type Pointer = readonly (string | number)[]

/** What is wrong with the contract, in words that name the place, and where that is. */
export interface Problem {
  readonly text: string
  readonly at: Pointer
}

/** The contract is unusable; the message has one line per problem. */
export class ContractError extends OperatorError {
  override name = 'ContractError'
  /** Those of the message, or none where it says by itself where they are. */
  readonly problems: readonly Problem[]

  constructor(reason: string | readonly Problem[]) {
    super(typeof reason === 'string' ? reason : reason.map(({ text }) => text).join('\n'))
    this.problems = typeof reason === 'string' ? [] : reason
  }
}
