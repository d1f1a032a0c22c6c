// Response headers that are lists. Several parts of a server may each have elements for one: CORS and a
// handler for `Vary`, a deprecation and a handler for `Link`.

import type { FastifyReply } from 'fastify'
import { elementsOf } from '../../lib/field-values.js'

type Value = string | string[]

// Lists of names, in which one is not repeated.
const names = ['vary', 'allow', 'access-control-expose-headers', 'accept-encoding', 'accept-patch']
// Lists by RFC 9110 (WWW-Authenticate: section 11.6.1) or by their own: RFC 8288, RFC 9211, Server Timing.
const others = ['link', 'www-authenticate', 'via', 'cache-status', 'server-timing', 'preference-applied']
// Cache-Control and the security headers are lists, too, but a setting: a handler's own replaces it.
// Set-Cookie is several fields, which Fastify keeps apart (RFC 9110, section 5.3).
const lists: ReadonlySet<string> = new Set([...names, ...others])

/**
 * Sets response headers. One that is a list and is set already keeps its elements, whatever the case of its
 * name; any other is replaced.
 */
export function addHeaders(reply: FastifyReply, headers: Readonly<Record<string, Value>>): void {
  for (const name in headers) {
    const value = headers[name] as Value // an object of ours: it inherits none
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
