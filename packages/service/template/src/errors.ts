// The team's own error body. A contract needs one if its errors are neither { code, message, status } nor
// problems (RFC 9457).

import type { ErrorBodyOf } from 'contract-engine'
import type { ErrorBody } from '../generated/operations.js'

/**
 * Makes the body of an error. The engine makes the body if this is undefined, or returns undefined.
 */
export const errorBody: ErrorBodyOf<ErrorBody> | undefined = undefined
