// Parameters whose text could not be kept as it was sent. PostgreSQL's text holds no NUL, and what is no UTF-8 is left as it is by
// the query parser: `%FF` would be taken for three characters. The router refuses a path that is no UTF-8 by itself.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'

/** Whether a URL may hold such parameters; most URLs have nothing that is encoded. */
export function mayHoldUnfitText(url: string): boolean {
  return url.includes('%') && (url.includes('%00') || decode(queryOf(url)) === undefined)
}

/** What is wrong with the texts of a part of the request, in the form of Ajv's errors. */
export function unfitTexts({ params, url }: FastifyRequest, httpPart: string): ErrorObject[] {
  if (httpPart === 'params') return unfit(Object.entries(params as object))
  if (httpPart === 'querystring') return unfit(queryOf(url).split('&').map(readPair))
  return []
}

function unfit(parameters: [name: string, value: unknown][]): ErrorObject[] {
  return parameters
    .filter(([, value]) => value === undefined || String(value).includes('\0'))
    .map(([name]) => ({
      instancePath: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      schemaPath: '',
      keyword: 'text',
      params: {},
      message: 'must be percent-encoded UTF-8 without NUL',
    }))
}

// As the router splits a URL and the query parser its query.
function queryOf(url: string): string {
  return /[?#](.*)$/s.exec(url)?.[1] ?? ''
}

function readPair(pair: string): [name: string, value: string | undefined] {
  const [name = '', value = ''] = pair.split(/=(.*)/s, 2)
  return [decode(name) ?? name, decode(value)]
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
