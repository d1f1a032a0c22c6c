// Parameters with invalid text. PostgreSQL's text type cannot contain NUL, and the query parser leaves
// invalid UTF-8 undecoded: `%FF` would become three characters. The router itself refuses a path that is not
// UTF-8.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { decode, nameIn, pairsOf, queryOf } from '../../lib/request-target.js'
import { splitPair } from '../../lib/texts.js'
import { errorAt } from '../../runtime/messages.js'

/** Whether a URL may contain such text. Fast for most URLs, which have no percent sign. */
export function mayContainInvalidText(url: string): boolean {
  return url.includes('%') && (url.includes('%00') || decode(queryOf(url)) === undefined)
}

/** The invalid texts of a part of the request, in the form of Ajv's errors. */
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
 * The errors of parameters that `reported` does not name: the schema has nothing to add about a parameter
 * that could not be read.
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
 * A text without the blanks and tabs around it (RFC 9110, section 5.5, and RFC 6265, section 5.2).
 * ECMAScript's `trim` takes more; a pattern would take quadratic time.
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

// Beyond ASCII the encoding of a header is unknown (RFC 9110, section 5.5).
const ascii = /^[\x20-\x7e]*$/

/** Creates the check of a client's own `X-Request-Id`: whether the contract's schema allows it, in ASCII. */
export function createRequestIdCheck({
  requestId,
  functions,
}: Pick<Contract, 'requestId' | 'functions'>): (id: string) => boolean {
  const validate = functions().judge(requestId)
  return (id) => ascii.test(id) && validate(id)
}
