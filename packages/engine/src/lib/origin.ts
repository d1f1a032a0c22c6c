// Where a request says that it was sent: `Host`, and what proxies set. Whether a proxy is trusted is for the
// caller to judge.

import type { IncomingHttpHeaders } from 'node:http'
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

/**
 * Each proxy adds its value behind those that it received: the last is that of the proxy whose word is taken.
 */
export function lastOf(values: string | string[] | undefined): string | undefined {
  const text = String(values ?? '')
  return text.slice(text.lastIndexOf(',') + 1).trim() || undefined
}

/** How the caller reached the proxy, if it says so. */
export function forwardedScheme({
  'x-forwarded-proto': scheme,
}: IncomingHttpHeaders): 'http' | 'https' | undefined {
  const last = lastOf(scheme)?.toLowerCase()
  return last === 'http' || last === 'https' ? last : undefined
}
