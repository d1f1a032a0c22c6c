// The error of an invalid request, which names what is wrong with each of its parts.

import type { ErrorObject } from 'ajv'
import { ownError, type RequestError, type Violation } from '../errors.js'
import { describePlaces, errorAt, joinViolations, shownMax } from '../schemas/messages.js'

export type Found = Violation & { readonly sentence: string }

export function violation(
  part: Violation['in'],
  pointer: string,
  detail: string,
  sentence = `${part} ${detail}`,
): Found {
  return { in: part, pointer, detail, sentence }
}

export function invalid(violations: readonly Found[], areAll = true): RequestError {
  const sentences = violations.map(({ sentence }) => sentence)
  const shown = violations.slice(0, shownMax).map(({ sentence: _, ...each }) => each)
  return ownError('invalid_request', joinViolations(sentences, areAll), { violations: shown })
}

/** The error of a body with a problem at one place. */
export function invalidBody(at: readonly string[], problem: string): RequestError {
  return invalidPlaces([errorAt(at, problem)])
}

/** The error of a body with these errors. */
export function invalidPlaces(errors: readonly ErrorObject[]): RequestError {
  const places = describePlaces('body', errors)
  return invalid(
    places.map(({ pointer, problem, sentence }) => violation('body', pointer, problem, sentence)),
  )
}
