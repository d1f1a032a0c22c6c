// Translates violations of constraints to errors of the contract.

import { RequestError } from 'contract-engine'
import { violationOf } from './unavailable.js'

/** By name of a constraint: the error code of its violation, or the code and the message for the client. */
export type ConstraintCodes<Code extends string> = Readonly<
  Record<string, Code | readonly [code: Code, message: string]>
>

/**
 * Returns a function for the `catch` of a statement or a transaction. It throws a RequestError if one of
 * these constraints refused a row, and rethrows other errors: the violation of an unknown constraint is a
 * bug, and becomes a 500 whose log line names the constraint.
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

// By SQLSTATE. The messages name no column, because clients know only the contract's names.
const violations: Readonly<Record<string, string>> = {
  '23503': 'This refers to something that does not exist, or is still referred to.',
  '23505': 'There is one with this value already.',
  '23514': 'A value is not allowed here.',
}

function messageOf(sqlState: string): string {
  return violations[sqlState] ?? 'This conflicts with what is stored.'
}
