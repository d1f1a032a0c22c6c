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
 * The error that the client is told; undefined of a fault that is not of what it has sent.
 * @param body of a PATCH
 */
export function refusedChange(error: unknown, body: unknown): RequestError | undefined {
  if (!(error instanceof ResponseError)) return undefined
  const whole = error.errors.at(-1) // of alternatives, theirs come before
  return whole !== undefined && isOfPatch(body, whole) ? invalidPlaces(error.errors) : undefined
}

// Whether a patch names what is wrong, or something within it or around it.
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

// The field that should be there, or should not. Only of the resource itself: a patch may have made an object
// within it. Under a condition a field is asked for because of another.
function ownName({ keyword, instancePath, schemaPath, params }: ErrorObject): string[] {
  if (instancePath !== '' || /\/(then|else|dependentSchemas)\//.test(schemaPath)) return []
  if (keyword === 'required') return [params.missingProperty]
  if (keyword === 'additionalProperties') return [params.additionalProperty]
  return keyword === 'unevaluatedProperties' ? [params.unevaluatedProperty] : []
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
