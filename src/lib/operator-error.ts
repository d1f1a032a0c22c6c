import { boundedText } from './bounded-text.js'

/** An error that the operator can fix: the message says how, and is printed without a stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}

/** The text to print for a fatal error: an OperatorError's or PostgreSQL's message, another's stack. */
export function explain(error: Error): string {
  if (error instanceof OperatorError) return error.message
  return error.name === 'PostgresError'
    ? `The database reports: ${boundedText(error.message)}`
    : boundedText(error.stack ?? error.message)
}
