// The headers of a reply, where Fastify (5.12.8) keeps them until it sends them: an object by their names in
// lower case. `reply.headers` lists the names of what it is given, and changes the case of each: for ten
// headers, all in lower case, that costs more than to make them. Fastify has no other way, and its symbol has
// no type.

import type { FastifyReply } from 'fastify'
import symbols from 'fastify/lib/symbols.js'

const { kReplyHeaders } = symbols

/** By their names, which are in lower case. None is Set-Cookie, which may come several times. */
export type Headers = Record<string, string>

/** Sets the first headers of a reply, by an object that becomes the reply's own. */
export function beginHeaders(reply: FastifyReply, headers: Headers): void {
  const store = reply as unknown as Store // a field that its type does not have
  store[kReplyHeaders] = Object.assign(headers, store[kReplyHeaders] as Headers) // Fastify makes one
}

/** Sets headers of a reply. */
export function setHeaders(reply: FastifyReply, ...headers: readonly Readonly<Headers>[]): void {
  Object.assign((reply as unknown as Store)[kReplyHeaders] as Headers, ...headers)
}

interface Store {
  [kReplyHeaders]: Headers
}
