// Reads a request target: its path and its query. A query is read as forms write it: `+` is a blank.
// Validation, keys and links all read it here.

import { splitPair } from './texts.js'

/** Returns the path of a request target, without its query, scheme and host (RFC 9112, section 3.2.2). */
export function requestPath(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** Returns the query of a request target, which has no fragment (RFC 9112, section 3.2). */
export function queryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at + 1)
}

/** Returns the names and values of a query, still encoded: `name=value`, or a name alone. */
export function pairsOf(query: string): string[] {
  return query.split('&').filter((pair) => pair !== '')
}

/** Returns the name in such a pair. */
export function nameIn(pair: string): string {
  return decodedOrSent(splitPair(pair)[0])
}

/** Decodes a text of a form. Returns undefined if it is not UTF-8. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(spaced(text))
  } catch {
    return undefined
  }
}

/**
 * Decodes a text of a form. A text that is not UTF-8 stays encoded, as Fastify leaves it, and validation
 * refuses it.
 */
export function decodedOrSent(text: string): string {
  return decode(text) ?? spaced(text)
}

function spaced(text: string): string {
  return text.includes('+') ? text.replaceAll('+', ' ') : text
}
