// The URL of a callback, by the request that asked for it.

import { tokensOf, valueAt } from '../../document/pointer.js'
import type { UrlPart } from '../../document/runtime-expressions.js'
import type { RequestParts } from '../request/request-parts.js'

/** What of a request a URL is made of. */
export type Asked = Pick<RequestParts, 'params' | 'query' | 'headers' | 'body'>

/** The URL, if the request has all of its values, and it is one of HTTP that has them as they are. */
export function urlOf(parts: readonly UrlPart[], asked: Asked): URL | undefined {
  const texts = parts.map((part, i) => {
    if ('text' in part) return part.text
    const value = scalarText(valueIn(part, asked))
    if (value === undefined || /\p{Surrogate}/u.test(value)) return undefined
    // The value that it begins with is a URL. Another is a part of one, and must not end its path or its
    // query.
    if (i > 0) return encodeURIComponent(value)
    return removed.test(value) ? undefined : value
  })
  const [first = '', ...others] = texts
  const text = texts.includes(undefined) || leavesPath(first, others.join('')) ? '' : texts.join('')
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}

// What the parser of URLs removes: `ht\ntps:` would be `https:`.
const removed = /[\t\r\n]|^[\0- ]|[\0- ]$/

// Whether a value is a segment that the parser removes with the one before, which cannot be encoded.
function leavesPath(first: string, others: string): boolean {
  const [path = ''] = (first + others).split(/[?#]/)
  const ends = [...path.matchAll(/\/\.{1,2}(?=\/|$)/g)].map(({ 0: dots, index }) => index + dots.length)
  return ends.some((end) => end > first.length)
}

function valueIn({ in: location, at }: Exclude<UrlPart, { text: string }>, asked: Asked): unknown {
  if (location === 'body') return valueAt({ body: asked.body }, ['body', ...tokensOf(at)])
  const values = { path: asked.params, query: asked.query, header: asked.headers }[location]
  return valueAt({ values }, ['values', at])
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : undefined
}
