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
])

/**
 * Whether an error says that the database cannot answer for now, rather than that a statement is wrong:
 * a connection that fails, or SQLSTATE 08 (connection), 53 (resources), 57 (operator intervention, which
 * a statement past its time is, too), 25006 (read-only: a replica before its promotion), 25P03 (a transaction past its time).
 */
export function isUnavailable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return (
    typeof code === 'string' && (connectionErrors.has(code) || /^(08|53|57)...$|^25(006|P03)$/.test(code))
  )
}
