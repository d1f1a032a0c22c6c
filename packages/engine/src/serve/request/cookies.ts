// The cookies of a request, for parameters and for the schemes of security alike (RFC 6265, section 4.2).

import type { FastifyRequest } from 'fastify'
import { splitPair } from '../../lib/texts.js'
import { withoutBlanks } from './parameter-text.js'

/**
 * The values of each cookie by its name, both as they were sent. A name is never decoded, and only blanks and
 * tabs around it are not its own: browsers guard `__Host-` by its first octets, so any other writing of such
 * a name may be a cookie that a neighbour's site has set. A text without an equals sign is a cookie without a
 * name.
 */
export function sentCookies({ raw }: FastifyRequest): Map<string, string[]> {
  const { cookie = '' } = raw.headers // a parameter may have changed those of the request
  const sent = new Map<string, string[]>()
  for (const pair of cookie.split(';')) {
    if (!pair.includes('=')) continue
    const [name, value] = splitPair(pair).map(withoutBlanks) as [string, string] // a pair stays a pair
    const others = sent.get(name)
    if (others === undefined) sent.set(name, [value])
    else others.push(value)
  }
  return sent
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
