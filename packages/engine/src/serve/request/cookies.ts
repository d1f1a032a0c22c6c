// The cookies of a request, read for parameters and for security schemes alike (RFC 6265, section 4.2).

import type { FastifyRequest } from 'fastify'
import { splitPair, textsByName } from '../../lib/texts.js'
import { withoutBlanks } from './parameter-text.js'

/**
 * Returns the values of each cookie by its name, both as they were sent. It never decodes a name, and strips
 * only blanks and tabs: browsers guard `__Host-` by its exact octets, so a differently written name may
 * belong to a cookie that a neighbouring site has set. A text without an equals sign is a cookie without a
 * name, and is left out.
 */
export function sentCookies({ raw }: FastifyRequest): Map<string, string[]> {
  const { cookie = '' } = raw.headers // the parameters may have replaced `request.headers`
  const pairs = cookie.split(';').filter((pair) => pair.includes('='))
  // The cast: mapping a pair yields a pair.
  return textsByName(pairs.map((pair) => splitPair(pair).map(withoutBlanks) as [string, string]))
}

/**
 * Decodes the text of a cookie, or of an element in it. Returns undefined if it is not UTF-8, or contains
 * NUL.
 */
export function decodeCookie(sent: string): string | undefined {
  try {
    const text = decodeURIComponent(withoutBlanks(sent))
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
