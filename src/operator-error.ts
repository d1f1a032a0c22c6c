/** Something that whoever runs the service can mend: the message says what and how, and needs no stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}

/** What whoever runs a program is told of its end. What PostgreSQL says needs no stack, nor does what they can mend; the rest is our fault. */
export function explain(error: Error): string {
  if (error instanceof OperatorError) return error.message
  return error.name === 'PostgresError'
    ? `The database says: ${error.message}`
    : (error.stack ?? error.message)
}
