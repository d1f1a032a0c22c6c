// The schema of error codes, `ErrorCode`.

import type { Problem } from './contract-error.js'

/** The place of the schema of error codes. */
export const errorCodePlace = ['components', 'schemas', 'ErrorCode']

/** The problem of a code that the server sends, and `ErrorCode` does not have. */
export function missingCode(code: string, status: number): Problem {
  const text = `ErrorCode: the enum must contain ${code}, which the server sends with ${status}`
  return { text, at: errorCodePlace }
}
