// The URL of a callback, by the request that asked for it.

import { tokensOf, valueAt } from '../contract/pointer.js'
import type { UrlPart } from '../contract/runtime-expressions.js'
import type { RequestParts } from '../request/request-parts.js'

/** What of a request a URL is made of. */
export type Asked = Pick<RequestParts, 'params' | 'query' | 'headers' | 'body'>

/** The URL, if the request has all of its values, and it is one of HTTP. */
export function urlOf(parts: readonly UrlPart[], asked: Asked): URL | undefined {
  const texts = parts.map((part, i) => {
    if ('text' in part) return part.text
    const value = textOf(valueIn(part, asked))
    // The value that it begins with is a URL. Another is a part of one, and must not end its path or its
    // query.
    return i === 0 || value === undefined ? value : encodeURIComponent(value)
  })
  const text = texts.includes(undefined) ? '' : texts.join('')
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}

function valueIn({ in: location, at }: Exclude<UrlPart, { text: string }>, asked: Asked): unknown {
  if (location === 'body') return valueAt({ body: asked.body }, ['body', ...tokensOf(at)])
  const values = { path: asked.params, query: asked.query, header: asked.headers }[location]
  return valueAt({ values }, ['values', at])
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : undefined
}
