// Demands `If-Match` where the contract declares it together with 428. Otherwise each handler would have to
// demand it, and a handler that forgets would lose changes. The statement that changes the row compares the
// entity tag (database/table/changes.ts).

import type { Addition, Around, Operation } from 'contract-engine'
import { preconditionFailed, preconditionRequired } from '../lib/precondition-errors.js'

/** The errors that preconditions add to the responses of operations that declare `If-Match`. */
export const preconditionAddition: Addition = {
  headers: [],
  errors: (operation) => [
    ...(takesIfMatch(operation) ? [preconditionFailed()] : []),
    ...(requiresIfMatch(operation) ? [preconditionRequired()] : []),
  ],
}

/** Refuses a request without `If-Match`, if its operation declares both that header and 428. */
export function requireIfMatch<Resource>(): Around<Resource> {
  return (respond, operation) => {
    if (!requiresIfMatch(operation)) return respond
    return (request, reply, resource) => {
      if (request.headers['if-match'] === undefined) return Promise.reject(preconditionRequired())
      return respond(request, reply, resource)
    }
  }
}

function requiresIfMatch(operation: Operation): boolean {
  return takesIfMatch(operation) && operation.responses.has('428')
}

// Not for safe operations, which change nothing.
function takesIfMatch({ isSafe, parameters }: Operation): boolean {
  return !isSafe && parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === 'if-match')
}
