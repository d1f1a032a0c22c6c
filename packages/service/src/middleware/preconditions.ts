// Operations that change what their client has seen: the contract declares `If-Match`, and 428 where a
// request has to have it, so that no handler can forget to demand it. Whether it holds is for the statement
// that changes the row to say (database/table/changes.ts).

import type { Addition, Around, Operation } from 'contract-engine'
import { preconditionFailed, preconditionRequired } from '../lib/precondition-errors.js'

/** What preconditions add to the responses of operations that declare `If-Match`. */
export const preconditionAddition: Addition = {
  headers: [],
  errors: (operation) => [
    ...(takesIfMatch(operation) ? [preconditionFailed()] : []),
    ...(requiresIfMatch(operation) ? [preconditionRequired()] : []),
  ],
}

/** Refuses a request without `If-Match`, if its operation declares that and 428. */
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

// A safe operation has nothing to lose.
function takesIfMatch({ isSafe, parameters }: Operation): boolean {
  return !isSafe && parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === 'if-match')
}
