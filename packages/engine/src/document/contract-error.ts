// What is wrong with a contract: problems with their places, and the error that reports them.

import { OperatorError } from '../lib/operator-error.js'
import { firstLines } from '../lib/texts.js'

/** The keys that lead to a part of the document. */
export type Pointer = readonly (string | number)[]

/** A problem of the contract: a message that names the place in words, and its location in the document. */
export interface Problem {
  readonly text: string
  readonly at: Pointer
  /** The place of what it is about as well, such as the first of two of a name. */
  readonly other?: Pointer
}

// What follows from the first fills no terminal.
const linesMax = 20

/** The contract cannot be served. The message has one line per problem, and says how many more there are. */
export class ContractError extends OperatorError {
  override name = 'ContractError'
  /** The problems in the message; empty if the message was given as text that already contains locations. */
  readonly problems: readonly Problem[]

  /** @param lines the problems with their locations, a line each */
  constructor(reason: string | readonly Problem[], lines?: readonly string[]) {
    const all = typeof reason === 'string' ? reason.split('\n') : (lines ?? reason.map(({ text }) => text))
    super(firstLines(all, linesMax).join('\n'))
    this.problems = typeof reason === 'string' ? [] : reason
  }
}

/** The place of the schema of error codes. */
export const errorCodePlace = ['components', 'schemas', 'ErrorCode']

/** The problem of a code that the server sends, and `ErrorCode` does not have. */
export function missingCode(code: string, status: number): Problem {
  const text = `ErrorCode: the enum must contain ${code}, which the server sends with ${status}`
  return { text, at: errorCodePlace }
}
