// What is wrong with a contract: problems with their places, and the error that reports them.

import { OperatorError } from '../lib/operator-error.js'

/** The keys that lead to a part of the document. */
export type Pointer = readonly (string | number)[]

/** A problem of the contract: a message that names the place in words, and its location in the document. */
export interface Problem {
  readonly text: string
  readonly at: Pointer
}

/** The contract cannot be served. The message has one line per problem. */
export class ContractError extends OperatorError {
  override name = 'ContractError'
  /** The problems in the message; empty if the message was given as text that already contains locations. */
  readonly problems: readonly Problem[]

  /** @param lines the problems with their locations, a line each */
  constructor(reason: string | readonly Problem[], lines?: readonly string[]) {
    super(typeof reason === 'string' ? reason : (lines ?? reason.map(({ text }) => text)).join('\n'))
    this.problems = typeof reason === 'string' ? [] : reason
  }
}
