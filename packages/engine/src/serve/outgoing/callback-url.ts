// The URL of a callback, made from the request that asked for it.

import { tokensOf, valueAt } from '../../document/pointer.js'
import type { UrlPart } from '../../document/runtime-expressions.js'
import type { RequestParts } from '../request/request-parts.js'

/** The parts of a request from which a URL can be made. */
export type Asked = Pick<RequestParts, 'params' | 'query' | 'headers' | 'body'>

/**
 * Returns the URL. It is undefined if the request lacks a value, if the URL is not of HTTP, or if the parser
 * of URLs would change a value.
 */
export function urlOf(parts: readonly UrlPart[], asked: Asked): URL | undefined {
  const texts = parts.map((part, i) => {
    if ('text' in part) return part.text
    const value = scalarText(valueIn(part, asked))
    if (value === undefined || /\p{Surrogate}/u.test(value)) return undefined
    // A value at the beginning is a URL itself. Any other value is part of a URL, and must not end its path
    // or its query.
    if (i > 0) return encodeURIComponent(value)
    return removed.test(value) ? undefined : value
  })
  const [first = '', ...others] = texts
  const text = texts.includes(undefined) || leavesPath(first, others.join('')) ? '' : texts.join('')
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}

// The parser of URLs removes these characters: `ht\ntps:` would become `https:`.
const removed = /[\t\r\n]|^[\0- ]|[\0- ]$/

// True if a value is a segment `.` or `..`: the parser would remove it, `..` with the segment before it, and
// these segments cannot be encoded.
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
