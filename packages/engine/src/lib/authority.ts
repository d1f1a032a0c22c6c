// The authority of a request, as `Host` and `X-Forwarded-Host` have it.

import { isIPv6 } from 'node:net'

// RFC 9110, section 7.2, and RFC 3986, section 3.2.2: a name, which may be empty, or an address, and a port.
// It has no user.
const authority = /^(?:\[([\da-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i
// A name of the DNS, a colon and a port.
const lengthMax = 253 + 1 + 5

/** Whether a text is a host with an optional port. */
export function isAuthority(text: string): boolean {
  const [whole, ipv6] = authority.exec(text) ?? []
  return whole !== undefined && (ipv6 === undefined || isIPv6(ipv6))
}

/**
 * The origin of an authority as URLs are serialized, without a default port: `https://store.example`.
 * Undefined if it is no authority, or longer than any that the DNS knows.
 */
export function originOf(scheme: 'http' | 'https', text: string): string | undefined {
  const url = `${scheme}://${text}`
  return text.length <= lengthMax && isAuthority(text) && URL.canParse(url) ? new URL(url).origin : undefined
}
