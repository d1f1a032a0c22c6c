// Response headers that are lists. Several parts of a server may add elements to the same list: CORS and a
// handler to `Vary`, a deprecation and a handler to `Link`.

import type { FastifyReply } from 'fastify'
import { elementsOf } from '../../lib/field-values.js'

type Value = string | string[]

// Lists of names, in which no name is repeated.
const names = ['vary', 'allow', 'access-control-expose-headers', 'accept-encoding', 'accept-patch']
// Lists by RFC 9110 (WWW-Authenticate: section 11.6.1), or by their own specification: RFC 8288, RFC 9211,
// Server Timing.
const others = ['link', 'www-authenticate', 'via', 'cache-status', 'server-timing', 'preference-applied']
// Two kinds are missing here. `Cache-Control` and the security headers are lists, but also settings: a
// handler's own value replaces them. `Set-Cookie` is several fields, which Fastify keeps apart (RFC 9110,
// section 5.3).
const lists: ReadonlySet<string> = new Set([...names, ...others])

/**
 * Sets response headers. If a list header is already set, it keeps its elements and gets the new ones,
 * whatever the case of its name; any other header is replaced.
 */
export function addHeaders(reply: FastifyReply, headers: Readonly<Record<string, Value>>): void {
  for (const name in headers) {
    const value = headers[name] as Value // the engine made this object, so it inherits no value
    const key = name.toLowerCase()
    const present = lists.has(key) ? reply.getHeader(key) : undefined
    reply.header(key, present === undefined ? value : merged(key, [present, value].flat().map(String)))
  }
}

function merged(key: string, values: readonly string[]): string {
  if (!names.includes(key)) return [...new Set(values)].join(', ')
  const elements = values.flatMap(elementsOf)
  const keys = elements.map((each) => each.toLowerCase())
  return elements.filter((_, i) => keys.indexOf(keys[i] ?? '') === i).join(', ')
}
