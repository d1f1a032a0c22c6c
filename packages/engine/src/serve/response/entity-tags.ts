// Conditional requests (RFC 9110, section 13): a read that declares a 304 has an entity tag, and a client
// that sends it back gets no body while the response would be the same.

import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Operation } from '../../document/contract.js'
import { namesTag } from '../../lib/field-values.js'
import type { SerializedResponse } from './response-serialization.js'

/** Whether the responses of an operation have entity tags: it is a GET or a QUERY that declares a 304. */
export function hasEntityTags({ method, responses }: Operation): boolean {
  return (method === 'GET' || method === 'QUERY') && responses.has('304')
}

/**
 * Stored by its client alone, which asks each time whether it is still the same (RFC 9111, section 5.2.2):
 * `no-cache` says all of it, and some private caches heed `must-revalidate` alone.
 */
export const revalidated = 'private, no-cache, must-revalidate'

export const entityHeaderNames: readonly string[] = ['cache-control', 'etag']

/**
 * The `ETag` and `Cache-Control` of a 200; undefined for other responses. Those of two media types differ,
 * even if their bytes do not (RFC 9110, section 8.8.1). A stream has none: its bytes are not known before
 * they are sent.
 */
export function entityHeaders({ status, headers, body = '' }: SerializedResponse): Headers | undefined {
  if (status !== 200 || body instanceof Readable) return undefined
  return { 'cache-control': revalidated, etag: entityTag(headers, body) }
}

type Headers = Record<string, string | string[]>

// Strong: of the same bytes, the same links and, where `Accept` chooses, the same type. SHA-1 is the fastest
// here, and protects nothing.
function entityTag(headers: SerializedResponse['headers'], body: string | Buffer): string {
  const { link, vary, 'content-type': type } = headers
  const others = [link, vary && type].filter((each) => each !== undefined)
  return `"${hash('sha1', others.length === 0 ? body : [...others, bodyText(body)].join('\n'), 'base64url')}"`
}

// Each byte is a character, since bytes that are no UTF-8 would all be the same one.
function bodyText(body: string | Buffer): string {
  return typeof body === 'string' ? body : body.toString('latin1')
}

/** Whether a client knows a response: its `If-None-Match` names the tag. */
export function isKnownTo(ifNoneMatch: string, { status, headers }: SerializedResponse): boolean {
  return status === 200 && namesTag(ifNoneMatch, String(headers.etag), true)
}
