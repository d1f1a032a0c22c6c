// Refuses parameters with invalid text: NUL, which PostgreSQL's type `text` cannot contain, and invalid
// UTF-8. The query parser leaves invalid UTF-8 undecoded: `%FF` would become three characters. The router
// itself refuses a path that is not UTF-8.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { decode, nameIn, pairsOf, queryOf } from '../../lib/request-target.js'
import { splitPair } from '../../lib/texts.js'
import { errorAt } from '../../runtime/messages.js'

/** True if a URL may contain such text. Fast for most URLs, which have no percent sign. */
export function mayContainInvalidText(url: string): boolean {
  return url.includes('%') && (url.includes('%00') || decode(queryOf(url)) === undefined)
}

/** Returns the invalid texts of a part of the request, in the form of Ajv's errors. */
export function invalidTexts({ params, url }: FastifyRequest, httpPart: string): ErrorObject[] {
  if (httpPart === 'params') return unfit(Object.entries(params as object))
  if (httpPart === 'querystring') return unfit(pairsOf(queryOf(url)).map(readPair))
  return []
}

function unfit(parameters: [name: string, value: unknown][]): ErrorObject[] {
  return parameters
    .filter(([, value]) => value === undefined || containsNul(value))
    .map(([name]) => errorAt([name], invalidText))
}

function containsNul(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return String(value).includes('\0')
  return Object.entries(value).flat().some(containsNul)
}

/** The message for a parameter with invalid text. */
export const invalidText = 'must be percent-encoded UTF-8 without NUL'

/**
 * Returns the errors of those parameters that `reported` does not name: about a parameter that could not be
 * read, its schema has nothing to add.
 */
export function exceptFor(
  errors: readonly ErrorObject[],
  reported: readonly ErrorObject[],
): readonly ErrorObject[] {
  if (reported.length === 0) return errors
  const parameterOf = ({ instancePath }: ErrorObject) => instancePath.split('/')[1] ?? ''
  const parameters = new Set(reported.map(parameterOf))
  return errors.filter((each) => !parameters.has(parameterOf(each)))
}

function readPair(pair: string): [name: string, value: string | undefined] {
  return [nameIn(pair), decode(splitPair(pair)[1])]
}

/**
 * Returns a text without the blanks and tabs around it (RFC 9110, section 5.5, and RFC 6265, section 5.2).
 * ECMAScript's `trim` removes other characters, too; a regular expression would take quadratic time.
 */
export function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

// The encoding of a header beyond ASCII is unknown (RFC 9110, section 5.5).
const ascii = /^[\x20-\x7e]*$/

/**
 * Creates the check of a client's own `X-Request-Id`: true if it is ASCII and the contract's schema allows
 * it.
 */
export function createRequestIdCheck({
  requestId,
  functions,
}: Pick<Contract, 'requestId' | 'functions'>): (id: string) => boolean {
  const validate = functions().judge(requestId)
  return (id) => ascii.test(id) && validate(id)
}
