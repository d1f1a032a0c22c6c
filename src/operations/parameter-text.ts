// Parameters whose text could not be kept as it was sent. PostgreSQL's text holds no NUL, and what is no UTF-8 is left as it is by
// the query parser: `%FF` would be taken for three characters. The router refuses a path that is no UTF-8 by itself.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import { fault } from '../schemas/messages.js'

/** Whether a URL may hold such parameters; most URLs have nothing that is encoded. */
export function mayContainInvalidText(url: string): boolean {
  return url.includes('%') && (url.includes('%00') || decode(queryOf(url)) === undefined)
}

/** What is wrong with the texts of a part of the request, in the form of Ajv's errors. */
export function invalidTexts({ params, url }: FastifyRequest, httpPart: string): ErrorObject[] {
  if (httpPart === 'params') return unfit(Object.entries(params as object))
  if (httpPart === 'querystring') return unfit(queryOf(url).split('&').map(readPair))
  return []
}

function unfit(parameters: [name: string, value: unknown][]): ErrorObject[] {
  return parameters
    .filter(([, value]) => value === undefined || holdsNul(value))
    .map(([name]) => fault([name], invalidText))
}

function holdsNul(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return String(value).includes('\0')
  return Object.entries(value).flat().some(holdsNul)
}

/** What is said of a parameter that is no text. */
export const invalidText = 'must be percent-encoded UTF-8 without NUL'

/** Errors of other parameters than those that were not read: of these their schemas have nothing to say. */
export function exceptFor(
  errors: readonly ErrorObject[],
  parameterErrors: readonly ErrorObject[],
): readonly ErrorObject[] {
  if (parameterErrors.length === 0) return errors
  const parameterOf = ({ instancePath }: ErrorObject) => instancePath.split('/')[1] ?? ''
  const parameters = new Set(parameterErrors.map(parameterOf))
  return errors.filter((each) => !parameters.has(parameterOf(each)))
}

/** The query of a URL, split off as the router does. */
export function queryOf(url: string): string {
  return /[?#](.*)$/s.exec(url)?.[1] ?? ''
}

function readPair(pair: string): [name: string, value: string | undefined] {
  const [name = '', value = ''] = pair.split(/=(.*)/s, 2)
  return [decode(name) ?? name, decode(value)]
}

/** A text of a query as the query parser decodes it; undefined where it is no UTF-8. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
