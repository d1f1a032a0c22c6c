// The codes of database errors: those of Node, postgres.js and this driver, and PostgreSQL's SQLSTATEs.
// Classifies them: an outage (503), a refused connection, a rejected login.

/** An error with a code. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** The code of an error; empty if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** The different messages of errors, for the log; undefined if there are none. */
export function reasonsOf(errors: Iterable<Error>): string | undefined {
  return [...new Set(Array.from(errors, (each) => each.message || codeOf(each)))].join('; ') || undefined
}

// A connection that cannot be opened is an outage, whatever the code: those of TLS alone are many.
const connectFailures = new WeakSet<object>()

/** Marks the error with which no connection could be opened, and returns it. */
export function connectFailure<Failure extends object>(error: Failure): Failure {
  connectFailures.add(error)
  return error
}

function isConnectFailure(error: unknown): boolean {
  return error instanceof Error && connectFailures.has(error)
}

/** Whether no connection could be opened, or one was lost. SQLSTATEs 08 and 57P: the server ends it. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return connectionCode.test(code) || isConnectFailure(error) || /^(08...|57P..)$/.test(code)
}

// postgres.js's, this driver's, OpenSSL's, and the system's (ECONNREFUSED, EAI_AGAIN, EMFILE), but not Node's
// own (ERR_…).
const connectionCode = /^(CONNECT|E(?!RR_)|ERR_SSL_)|^(STATEMENT_ABANDONED|TLS_REFUSED)$/
const sqlState = /^[0-9A-Z]{5}$/

/** Whether PostgreSQL refuses a connection: SQLSTATE class 53 (too many connections), or a rejected login. */
export function isConnectionRefused(error: unknown): boolean {
  return isConnectionLimit(error) || isLoginRefused(error)
}

/** Whether the server lacks a resource, as all of its connections are taken: SQLSTATE class 53. */
export function isConnectionLimit(error: unknown): boolean {
  return /^53...$/.test(codeOf(error))
}

/** Whether PostgreSQL rejects the role or its password: SQLSTATE 28000, 28P01. */
export function isLoginRefused(error: unknown): boolean {
  return ['28000', '28P01'].includes(codeOf(error))
}

/** Whether the server does not support TLS, and the URL requires it. */
export function isTlsRefused(error: unknown): boolean {
  return codeOf(error) === 'TLS_REFUSED'
}

/** Whether a statement failed because the server or the transaction is read-only: SQLSTATE 25006. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006' && !isConnectFailure(error)
}

/** Whether a statement was cancelled, as by its time limit: SQLSTATE 57014. */
export function isTimedOut(error: unknown): boolean {
  return codeOf(error) === '57014'
}

/** Whether a statement was given a value that its type does not have: SQLSTATE class 22. */
export function isDataException(error: unknown): boolean {
  return /^22...$/.test(codeOf(error))
}

/**
 * A text that PostgreSQL cannot have: with NUL, or with half of a surrogate pair, of which the driver would
 * send another character. The code is the one PostgreSQL has for the former.
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

/** What is wrong with a value that PostgreSQL does not store, in words without the value. */
export function wrongValue(error: unknown): string {
  return wrongValues[codeOf(error)] ?? 'a value of another form'
}

/**
 * Whether waiting may mend the failure of a new connection: its server is starting, down, full or a standby.
 * A rejected login, a database that does not exist or a wrong certificate has to be mended by someone.
 */
export function isTemporary(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(TLS_REFUSED|EPROTO|ERR_SSL_.*)$/.test(code)) return false
  return connectionCode.test(code) || /^(08|25|53|55|57)...$/.test(code)
}

// The SQLSTATEs of a statement that is wrong, or wrong for its data: 21 (cardinality), 22 (data), 23
// (constraint), 44 (check option), 54 (a value or a statement too large), P0 (raised by a trigger), 25P02
// (follows another error of its transaction), 42601 (syntax).
const statementFault = /^(2[123]|44|54|P0)...$|^(25P02|42601)$/

/**
 * Whether the database is unavailable for now, rather than a statement or its data wrong. That is every error
 * of a connection and of PostgreSQL that is not known to be a fault of the statement: a table, a column or a
 * privilege that is missing while a backup is restored or a version replaced, a lock or a timeout, a login
 * rejected while its password is changed, a standby before its promotion.
 */
export function isUnavailable(error: unknown): boolean {
  if (isResponse(error)) return false
  const code = codeOf(error)
  if (connectionCode.test(code) || isConnectFailure(error)) return true
  if (code === '0A000') return isOutdatedPlan(error) // else a statement that PostgreSQL does not support
  return sqlState.test(code) && !statementFault.test(code)
}

// An error of a handler, with an HTTP status. The contract chooses its code, which may look like one of
// these.
function isResponse(error: unknown): boolean {
  return (error as { statusCode?: unknown } | null)?.statusCode !== undefined
}

/** A row that an integrity constraint refused. */
export interface Violation {
  /** SQLSTATE, class 23. */
  readonly code: string
  /** Undefined where PostgreSQL names none: for a null in a `not null` column, say. */
  readonly constraint: string | undefined
}

/** The violation of a constraint that an error is, or undefined. */
export function violationOf(error: unknown): Violation | undefined {
  const code = codeOf(error)
  if (!/^23...$/.test(code) || isResponse(error)) return undefined
  const { constraint_name: constraint } = error as { constraint_name?: string }
  return { code, constraint }
}

/** Whether a statement was planned before its table changed: it has not run, and may be planned again. */
export function isOutdatedPlan(error: unknown): boolean {
  // The message is translated; 0A000 has other causes, too.
  return codeOf(error) === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'
}
