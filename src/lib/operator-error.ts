/** An error that the operator can fix: the message says how, and is printed without a stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}

/** The text to print for a fatal error: the message of an OperatorError or a PostgreSQL error, the stack of any other. */
export function explain(error: Error): string {
  if (error instanceof OperatorError) return error.message
  return error.name === 'PostgresError'
    ? `The database reports: ${error.message}`
    : (error.stack ?? error.message)
}
