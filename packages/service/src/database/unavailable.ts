// Classifies database errors by their codes: an outage (503), a refused connection, a rejected login, wrong
// data. The codes are those of Node, postgres.js and this driver, and PostgreSQL's SQLSTATEs.

/** Makes an error with a code. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** Returns the code of an error, or an empty text. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** Joins the distinct messages of errors for the log. Returns undefined if there are none. */
export function reasonsOf(errors: Iterable<Error>): string | undefined {
  return [...new Set(Array.from(errors, (each) => each.message || codeOf(each)))].join('; ') || undefined
}

// If no connection can be opened, that is an outage, whatever the code: TLS alone has many.
const connectFailures = new WeakSet<object>()

/** Marks an error as the reason why no connection could be opened, and returns it. */
export function connectFailure<Failure extends object>(error: Failure): Failure {
  connectFailures.add(error)
  return error
}

function isConnectFailure(error: unknown): boolean {
  return error instanceof Error && connectFailures.has(error)
}

/** True if no connection could be opened, or one was lost. SQLSTATEs 08 and 57P: the server ends it. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return connectionCode.test(code) || isConnectFailure(error) || /^(08...|57P..)$/.test(code)
}

// The codes of postgres.js, this driver, OpenSSL and the system (ECONNREFUSED, EAI_AGAIN, EMFILE), but not
// Node's own (ERR_…).
const connectionCode = /^(CONNECT|E(?!RR_)|ERR_SSL_)|^(STATEMENT_ABANDONED|TLS_REFUSED)$/
const sqlState = /^[0-9A-Z]{5}$/

/** True if PostgreSQL refuses a connection: SQLSTATE class 53 (too many connections), or a rejected login. */
export function isConnectionRefused(error: unknown): boolean {
  return isConnectionLimit(error) || isLoginRefused(error)
}

/** True if the server lacks a resource, such as a free connection: SQLSTATE class 53. */
export function isConnectionLimit(error: unknown): boolean {
  return /^53...$/.test(codeOf(error))
}

/** True if PostgreSQL rejects the role or its password: SQLSTATE 28000, 28P01. */
export function isLoginRefused(error: unknown): boolean {
  return ['28000', '28P01'].includes(codeOf(error))
}

/** True if the URL requires TLS and the server does not support it. */
export function isTlsRefused(error: unknown): boolean {
  return codeOf(error) === 'TLS_REFUSED'
}

/** True if a statement failed because the server or the transaction is read-only: SQLSTATE 25006. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006' && !isConnectFailure(error)
}

/** True if a statement was cancelled, for example by its time limit: SQLSTATE 57014. */
export function isTimedOut(error: unknown): boolean {
  return codeOf(error) === '57014'
}

/** True if a statement got a value that its type does not allow: SQLSTATE class 22. */
export function isDataException(error: unknown): boolean {
  return /^22...$/.test(codeOf(error))
}

/**
 * The error of a text that PostgreSQL cannot store: with NUL, or with half of a surrogate pair, for which the
 * driver would send another character. The code is PostgreSQL's for NUL.
 */
export class UnstorableText extends Error {
  override name = 'UnstorableText'
  readonly code = '22021'

  constructor() {
    super('a text has NUL or half of a surrogate pair, which PostgreSQL cannot store')
  }
}

const wrongValues: Readonly<Record<string, string>> = {
  '22001': 'a text that is too long',
  '22003': 'a number out of range',
  '22007': 'a date or time out of range',
  '22008': 'a date or time out of range',
  '22015': 'a duration out of range',
  '22021': 'a character that no text can have', // NUL, or half of a surrogate pair
  '22P05': 'a character that no text can have',
}

/** Says in words, without the value, why PostgreSQL does not store it. */
export function wrongValue(error: unknown): string {
  return wrongValues[codeOf(error)] ?? 'a value of another form'
}

/**
 * True if waiting may help after the failure of a new connection: the server is starting, down, full or a
 * standby. A rejected login, a missing database or a wrong certificate needs an operator.
 */
export function isTemporary(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(TLS_REFUSED|EPROTO|ERR_SSL_.*)$/.test(code)) return false
  return connectionCode.test(code) || /^(08|25|53|55|57)...$/.test(code)
}

// The SQLSTATEs for faults of a statement or its data: 21 (cardinality), 22 (data), 23 (constraint), 44
// (check option), 54 (a value or a statement too large), P0 (raised by a trigger), 25P02 (follows another
// error of its transaction), 42601 (syntax).
const statementFault = /^(2[123]|44|54|P0)...$|^(25P02|42601)$/

/**
 * True if the database is unavailable for now, false if a statement or its data is wrong. Every error of a
 * connection or of PostgreSQL counts as unavailable unless it is a known fault of the statement: a table,
 * column or privilege may be missing while a backup is restored or a version replaced, a statement may time
 * out or wait for a lock, a login may fail while its password changes, and a standby may not have been
 * promoted yet.
 */
export function isUnavailable(error: unknown): boolean {
  if (isResponse(error)) return false
  const code = codeOf(error)
  if (connectionCode.test(code) || isConnectFailure(error)) return true
  if (code === '0A000') return isOutdatedPlan(error) // otherwise PostgreSQL does not support the statement
  return sqlState.test(code) && !statementFault.test(code)
}

// True for an error of a handler, with an HTTP status. The contract chooses its code, which may look like a
// SQLSTATE.
function isResponse(error: unknown): boolean {
  return (error as { statusCode?: unknown } | null)?.statusCode !== undefined
}

/** The violation of an integrity constraint. */
export interface Violation {
  /** SQLSTATE, class 23. */
  readonly code: string
  /** Undefined where PostgreSQL names no constraint, for example for a null in a `not null` column. */
  readonly constraint: string | undefined
}

/** Returns the violation if an error is one, otherwise undefined. */
export function violationOf(error: unknown): Violation | undefined {
  const code = codeOf(error)
  if (!/^23...$/.test(code) || isResponse(error)) return undefined
  const { constraint_name: constraint } = error as { constraint_name?: string }
  return { code, constraint }
}

/**
 * True if a statement's plan is older than a change of its table. The statement has not run, and may be
 * repeated.
 */
export function isOutdatedPlan(error: unknown): boolean {
  // The message is translated; 0A000 has other causes, too.
  return codeOf(error) === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'
}
