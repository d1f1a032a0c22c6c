// Rows that a constraint refused, as errors of the contract.

import { RequestError } from 'contract-engine'
import { violationOf } from './unavailable.js'

/** By the name of a constraint, the code of its violation, or the code and the message for the client. */
export type ConstraintCodes<Code extends string> = Readonly<
  Record<string, Code | readonly [code: Code, message: string]>
>

/**
 * Returns a function for `catch` behind a statement or a transaction, which throws a RequestError for a row
 * that one of these constraints refused. Other errors are thrown on: an unknown violation is a fault, a 500
 * whose log line names the constraint.
 */
export function onConstraint<Code extends string>(codes: ConstraintCodes<Code>): (error: unknown) => never {
  return (cause) => {
    const { code: sqlState = '', constraint = '' } = violationOf(cause) ?? {}
    const known = Object.hasOwn(codes, constraint) ? codes[constraint] : undefined
    if (known === undefined) throw cause
    const [code, message] = typeof known === 'string' ? [known, messageOf(sqlState)] : known
    throw new RequestError(code, message, { cause })
  }
}

// By SQLSTATE. They name no column: what a client calls it is the contract's to say.
const violations: Readonly<Record<string, string>> = {
  '23503': 'This refers to something that does not exist, or is still referred to.',
  '23505': 'There is one with this value already.',
  '23514': 'A value is not allowed here.',
}

function messageOf(sqlState: string): string {
  return violations[sqlState] ?? 'This conflicts with what is stored.'
}
