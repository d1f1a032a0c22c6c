import { OperatorError } from '../../operator-error.js'

/** The embedded server cannot run; the message says what to do. */
export class EmbeddedError extends OperatorError {
  override name = 'EmbeddedError'
}

/** The alternatives to a data directory in which the embedded server cannot run. */
export const elsewhere = 'Set DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL server.'
