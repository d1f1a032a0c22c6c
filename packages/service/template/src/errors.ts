// An own form of errors, for a contract that declares neither { code, message, status } nor problems (RFC
// 9457).

import type { ErrorBodyOf } from 'contract-engine'
import type { ErrorBody } from '../generated/operations.js'

/**
 * Makes the body of an error; one that is undefined is left to the engine. Undefined if the contract needs
 * none.
 */
export const errorBody: ErrorBodyOf<ErrorBody> | undefined = undefined
