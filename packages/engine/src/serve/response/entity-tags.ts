// Conditional requests (RFC 9110, section 13). A read that declares a 304 has an entity tag. A client that
// sends the tag back gets no body as long as the response would be the same.

import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Operation } from '../../document/contract.js'
import { namesTag } from '../../lib/field-values.js'
import type { SerializedResponse } from './response-serialization.js'

/** True if the responses of an operation have entity tags: it is a GET or a QUERY that declares a 304. */
export function hasEntityTags({ method, responses }: Operation): boolean {
  return (method === 'GET' || method === 'QUERY') && responses.has('304')
}

/**
 * Only the client itself may store the response, and must revalidate it each time (RFC 9111, section 5.2.2).
 * `no-cache` would be enough, but some private caches heed only `must-revalidate`.
 */
export const revalidated = 'private, no-cache, must-revalidate'

export const entityHeaderNames: readonly string[] = ['cache-control', 'etag']

/**
 * Returns the `ETag` and `Cache-Control` of a 200; undefined for other responses. Two media types have
 * different tags, even for equal bytes (RFC 9110, section 8.8.1). A stream has no tag, since its bytes are
 * not known before they are sent.
 */
export function entityHeaders({ status, headers, body = '' }: SerializedResponse): Headers | undefined {
  if (status !== 200 || body instanceof Readable) return undefined
  return { 'cache-control': revalidated, etag: entityTag(headers, body) }
}

type Headers = Record<string, string | string[]>

// Makes a strong tag: it stands for the same bytes, the same links and, if `Accept` chooses, the same type.
// SHA-1 is the fastest hash here, and has nothing to protect.
function entityTag(headers: SerializedResponse['headers'], body: string | Buffer): string {
  const { link, vary, 'content-type': type } = headers
  const others = [link, vary && type].filter((each) => each !== undefined)
  return `"${hash('sha1', others.length === 0 ? body : [...others, bodyText(body)].join('\n'), 'base64url')}"`
}

// Maps each byte to a character: as UTF-8, all invalid bytes would become the same character.
function bodyText(body: string | Buffer): string {
  return typeof body === 'string' ? body : body.toString('latin1')
}

/** True if the client already has the response: its `If-None-Match` names the tag. */
export function isKnownTo(ifNoneMatch: string, { status, headers }: SerializedResponse): boolean {
  return status === 200 && namesTag(ifNoneMatch, String(headers.etag), true)
}
