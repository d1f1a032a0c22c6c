// The error of an invalid request, which names what is wrong with each of its parts.

import type { ErrorObject } from 'ajv'
import { ownError, RequestError, type Violation } from '../../document/request-error.js'
import { describePlaces, errorAt, joinViolations, shownMax } from '../../runtime/messages.js'

export type WordedViolation = Violation & { readonly sentence: string }

/** What is wrong with a part as a whole. */
export function violation(part: Violation['in'], detail: string): WordedViolation {
  return { in: part, pointer: '', detail, sentence: `${part} ${detail}` }
}

/**
 * What is wrong in a part, each with its place.
 * @param needless the places of nulls that need not be there
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

/** The error of a body with a problem at one place. */
export function invalidBody(at: readonly string[], problem: string): RequestError {
  return invalidPlaces([errorAt(at, problem)])
}

/**
 * For handlers: the error of a value that the contract allows, and what stores it does not.
 * @param value the body, or an item of it, as the handler has got it: the message then has its line
 * @param at where it is in the value; empty if that is not known
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

/** The error of a body with these errors. */
export function invalidPlaces(errors: readonly ErrorObject[]): RequestError {
  return invalid(violationsIn('body', errors))
}
