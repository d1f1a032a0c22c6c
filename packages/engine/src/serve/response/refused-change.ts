// A change of which the response is not valid because of what its client has sent. The schema of a patch
// says what may be sent, and not what is left of a resource once it is merged (RFC 7396): a required name is
// removed, or a map has too many. That is told to the client, as it would be of a creation. Otherwise the
// client would get a 500, or each handler would judge what a merge leaves.

import type { ErrorObject } from 'ajv'
import { tokensOf } from '../../document/pointer.js'
import type { RequestError } from '../../document/request-error.js'
import { invalidPlaces } from '../request/violations.js'
import { ResponseError } from './response-validation.js'

/**
 * Returns the error for the client; undefined if the client's patch has not caused the fault.
 * @param body the body of the PATCH
 */
export function refusedChange(error: unknown, body: unknown): RequestError | undefined {
  if (!(error instanceof ResponseError)) return undefined
  const whole = error.errors.at(-1) // follows the errors of its alternatives
  return whole !== undefined && isOfPatch(body, whole) ? invalidPlaces(error.errors) : undefined
}

// True if the patch names the faulty place, or a place within or around it.
function isOfPatch(body: unknown, error: ErrorObject): boolean {
  if (!isObject(body) || Object.keys(body).length === 0) return false
  let at: unknown = body
  for (const name of [...tokensOf(error.instancePath), ...ownName(error)]) {
    if (!isObject(at)) return true
    if (!Object.hasOwn(at, name)) return false
    at = at[name]
  }
  return true
}

// Returns the field that is missing or must be absent, but only of the resource itself: an object within it
// may have been made by the patch. Under a condition, a field is required because of another field.
function ownName({ keyword, instancePath, schemaPath, params }: ErrorObject): string[] {
  if (instancePath !== '' || /\/(then|else|dependentSchemas)\//.test(schemaPath)) return []
  if (keyword === 'required') return [params.missingProperty]
  if (keyword === 'additionalProperties') return [params.additionalProperty]
  return keyword === 'unevaluatedProperties' ? [params.unevaluatedProperty] : []
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
