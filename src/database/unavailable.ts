// Which errors say that the database cannot answer for now.

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
  'ENOENT', // a unix socket whose server is away
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'STATEMENT_ABANDONED',
  'TLS_REFUSED',
])

/** Whether PostgreSQL will not have another connection: SQLSTATE 53 (there are too many), 28000 and 28P01 (not by this login). */
export function isConnectionRefused(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (/^53...$/.test(code) || isLoginRefused(error))
}

/** Whether PostgreSQL does not take the role or its password. */
export function isLoginRefused(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === '28000' || code === '28P01'
}

/** Whether the server takes no TLS, and it was to. */
export function isTlsRefused(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'TLS_REFUSED'
}

/** Whether a statement would write, and the server or its transaction only reads. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006'
}

/**
 * Whether an error says that the database cannot answer for now, rather than that a statement is wrong:
 * a connection that fails, or SQLSTATE 08 (connection), 53 (resources), 57 (operator intervention, which
 * a statement past its time is, too), 28000 and 28P01 (a login that is refused while a password is changed), 25006 (read-only: a replica before its promotion), 25P03 (a transaction past its time),
 * 40001 (a standby that replays what a statement still reads), 40P01 (a deadlock, of which the other transaction goes on).
 */
export function isUnavailable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return (
    typeof code === 'string' &&
    (connectionErrors.has(code) || /^(08|53|57)...$|^25(006|P03)$|^40(001|P01)$|^28(000|P01)$/.test(code))
  )
}
