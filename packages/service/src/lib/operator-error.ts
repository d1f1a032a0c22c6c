import { OperatorError } from 'contract-engine/lib/operator-error'
import { boundedText } from './bounded-text.js'

export { OperatorError }

/** The text to print for a fatal error: an OperatorError's or PostgreSQL's message, another's stack. */
export function explain(error: Error): string {
  if (error instanceof OperatorError) return error.message
  return error.name === 'PostgresError'
    ? `The database reports: ${boundedText(error.message)}`
    : boundedText(error.stack ?? error.message)
}
