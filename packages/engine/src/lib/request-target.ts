// A request target: its path, and its query, as forms write it: `+` is a blank. Validation, keys and links
// read it here.

import { splitPair } from './texts.js'

/** The path of a request target, without its query, scheme and host (RFC 9112, section 3.2.2). */
export function requestPath(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** The query of a request target, which has no fragment (RFC 9112, section 3.2). */
export function queryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at + 1)
}

/** The names and values of a query, still written as a form: `name=value`, or a name alone. */
export function pairsOf(query: string): string[] {
  return query.split('&').filter((pair) => pair !== '')
}

/** The name in such a pair. */
export function nameIn(pair: string): string {
  return decodedOrSent(splitPair(pair)[0])
}

/** A text of a form. Undefined if it is not UTF-8. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(spaced(text))
  } catch {
    return undefined
  }
}

/**
 * The same, but for what is not UTF-8, which validation refuses: that stays encoded, as Fastify leaves it.
 */
export function decodedOrSent(text: string): string {
  return decode(text) ?? spaced(text)
}

function spaced(text: string): string {
  return text.includes('+') ? text.replaceAll('+', ' ') : text
}
