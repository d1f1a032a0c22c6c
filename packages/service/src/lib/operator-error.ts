import { OperatorError } from 'contract-engine/lib/operator-error'

export { OperatorError }

/** The text to print for a fatal error: an OperatorError's or PostgreSQL's message, another's stack. */
export function explain(error: Error): string {
  if (error instanceof OperatorError) return error.message
  return error.name === 'PostgresError'
    ? `The database reports: ${boundedText(error.message)}`
    : boundedText(error.stack ?? error.message)
}

const textMax = 4_096

/** A text for a message, or its beginning and its length: what others say may be of any length. */
export function boundedText(text: string): string {
  if (text.length <= textMax) return text
  return `${text.slice(0, textMax)}… (${text.length.toLocaleString('en')} characters)`
}
