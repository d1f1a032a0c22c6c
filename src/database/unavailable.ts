// The codes of database errors: those of Node, postgres.js and this driver, and PostgreSQL's SQLSTATEs. Classifies
// them: an outage (503), a refused connection, a rejected login.

/** An error with a code. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** The code of an error; empty if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

const connectionErrors = new Set([
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // a unix socket whose server is down
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'STATEMENT_ABANDONED',
  'TLS_REFUSED',
])

/** Whether PostgreSQL refuses a connection: SQLSTATE class 53 (too many connections), or a rejected login. */
export function isConnectionRefused(error: unknown): boolean {
  return /^53...$/.test(codeOf(error)) || isLoginRefused(error)
}

/** Whether PostgreSQL rejects the role or its password: SQLSTATE 28000, 28P01. */
export function isLoginRefused(error: unknown): boolean {
  return ['28000', '28P01'].includes(codeOf(error))
}

/** Whether the server does not support TLS, and the URL requires it. */
export function isTlsRefused(error: unknown): boolean {
  return codeOf(error) === 'TLS_REFUSED'
}

/** Whether a write failed because the server or the transaction is read-only: SQLSTATE 25006. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006'
}

/**
 * Whether the database is unavailable for now, rather than a statement wrong: a connection that fails, or one of these SQLSTATEs.
 * - 08 (connection exception), 53 (insufficient resources), 57 (operator intervention, which includes statement_timeout)
 * - 28000, 28P01: a login rejected while its password is being changed
 * - 25006: read-only, as a standby is before its promotion
 * - 25P03: idle_in_transaction_session_timeout
 * - 40001: a standby cancelled the statement to replay a conflicting change
 * - 40P01: deadlock; the other transaction goes on
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  return connectionErrors.has(code) || /^(08|53|57)...$|^25(006|P03)$|^40(001|P01)$|^28(000|P01)$/.test(code)
}
