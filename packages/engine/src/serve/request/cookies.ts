// The cookies of a request, for parameters and for the schemes of security alike (RFC 6265, section 4.2).

import type { FastifyRequest } from 'fastify'
import { splitPair, textsByName } from '../../lib/texts.js'
import { withoutBlanks } from './parameter-text.js'

/**
 * The values of each cookie by its name, both as they were sent. A name is never decoded, and only blanks and
 * tabs around it are not its own: browsers guard `__Host-` by its first octets, so any other writing of such
 * a name may be a cookie that a neighbour's site has set. A text without an equals sign is a cookie without a
 * name.
 */
export function sentCookies({ raw }: FastifyRequest): Map<string, string[]> {
  const { cookie = '' } = raw.headers // a parameter may have changed those of the request
  const pairs = cookie.split(';').filter((pair) => pair.includes('='))
  // Still a pair.
  return textsByName(pairs.map((pair) => splitPair(pair).map(withoutBlanks) as [string, string]))
}

/** The text of a cookie, or of an element of one. Undefined if it is not UTF-8, or has NUL. */
export function decodeCookie(sent: string): string | undefined {
  try {
    const text = decodeURIComponent(withoutBlanks(sent))
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
