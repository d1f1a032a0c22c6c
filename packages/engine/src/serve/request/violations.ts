// The error of an invalid request, which names the violations of each part.

import type { ErrorObject } from 'ajv'
import { ownError, RequestError, type Violation } from '../../document/request-error.js'
import { describePlaces, errorAt, joinViolations, shownMax } from '../../runtime/messages.js'

export type WordedViolation = Violation & { readonly sentence: string }

/** Returns the violation of a part as a whole. */
export function violation(part: Violation['in'], detail: string): WordedViolation {
  return { in: part, pointer: '', detail, sentence: `${part} ${detail}` }
}

/**
 * Returns the violations in a part, each with its place.
 * @param needless the places of nulls that may be left out
 */
export function violationsIn(
  part: Violation['in'],
  errors: readonly ErrorObject[],
  needless: ReadonlySet<string> = new Set(),
): WordedViolation[] {
  return describePlaces(part, errors).map(({ pointer, problem, sentence }) => {
    const advice = needless.has(pointer) ? ' (leave it out instead of null)' : ''
    return { in: part, pointer, detail: problem + advice, sentence: sentence + advice }
  })
}

export function invalid(violations: readonly WordedViolation[], areAll = true): RequestError {
  const sentences = violations.map(({ sentence }) => sentence)
  const shown = violations.slice(0, shownMax).map(({ sentence: _, ...each }) => each)
  return ownError('invalid_request', joinViolations(sentences, areAll), { violations: shown })
}

/** Returns the error of a body with a problem at one place. */
export function invalidBody(at: readonly string[], problem: string): RequestError {
  return invalidPlaces([errorAt(at, problem)])
}

/**
 * For handlers: the error of a value that the contract allows, but its store refuses.
 * @param value the body, or an item of it, as the handler received it; for an item, the message says its line
 * @param at the place in the value; empty if it is unknown
 */
export function refusedValue(
  value: object,
  at: readonly string[],
  problem: string,
  cause?: unknown,
): RequestError {
  const { code, message, options } = invalidBody(at, problem)
  return new RequestError(code, message, { ...options, refused: value, cause })
}

/** Returns the error of a body with these errors. */
export function invalidPlaces(errors: readonly ErrorObject[]): RequestError {
  return invalid(violationsIn('body', errors))
}
