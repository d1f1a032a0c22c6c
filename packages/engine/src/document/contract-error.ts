// What is wrong with a contract: problems with their places, and the error that reports them.

import { OperatorError } from '../lib/operator-error.js'
import { firstLines } from '../lib/texts.js'

/** The keys that lead to a part of the document. */
export type Pointer = readonly (string | number)[]

/** A problem of the contract: a message that names the place in words, and its location in the document. */
export interface Problem {
  readonly text: string
  readonly at: Pointer
  /** The place of another part that the problem is about, such as the first of two with one name. */
  readonly other?: Pointer
}

// The most lines of a message, so that it does not fill the terminal.
const linesMax = 20

/**
 * The error of a contract that cannot be served. Its message has one line per problem, and says how many more
 * there are.
 */
export class ContractError extends OperatorError {
  override name = 'ContractError'
  /** The problems in the message; empty if the message was given as text that already contains locations. */
  readonly problems: readonly Problem[]

  /** @param lines the problems with their locations, one per line */
  constructor(reason: string | readonly Problem[], lines?: readonly string[]) {
    const all = typeof reason === 'string' ? reason.split('\n') : (lines ?? reason.map(({ text }) => text))
    super(firstLines(all, linesMax).join('\n'))
    this.problems = typeof reason === 'string' ? [] : reason
  }
}

/** The place of the schema with the error codes. */
export const errorCodePlace = ['components', 'schemas', 'ErrorCode']

/** Returns the problem of a code that the server sends, but `ErrorCode` does not list. */
export function missingCode(code: string, status: number): Problem {
  const text = `ErrorCode: the enum must contain ${code}, which the server sends with ${status}`
  return { text, at: errorCodePlace }
}
