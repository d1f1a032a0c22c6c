// Where a request says that it was sent: in `Host`, and in the headers that proxies set. The caller decides
// if a proxy is trusted.

import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'

// RFC 9110, section 7.2, and RFC 3986, section 3.2.2: a name, which may be empty, or an address, and a port.
// A user is not allowed.
const authority = /^(?:\[([\da-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i
// A DNS name, a colon and a port.
const lengthMax = 253 + 1 + 5

/** True if a text is a host with an optional port. */
export function isAuthority(text: string): boolean {
  const [whole, ipv6] = authority.exec(text) ?? []
  return whole !== undefined && (ipv6 === undefined || isIPv6(ipv6))
}

/**
 * Returns the origin of an authority in serialized form, without a default port: `https://store.example`.
 * Undefined if the text is no authority, or is longer than DNS allows.
 */
export function originOf(scheme: 'http' | 'https', text: string): string | undefined {
  const url = `${scheme}://${text}`
  return text.length <= lengthMax && isAuthority(text) && URL.canParse(url) ? new URL(url).origin : undefined
}

/**
 * Returns the last value of a header. Each proxy adds its value behind those that it received, so the last
 * value is from the trusted proxy.
 */
export function lastOf(values: string | string[] | undefined): string | undefined {
  const text = String(values ?? '')
  return text.slice(text.lastIndexOf(',') + 1).trim() || undefined
}

/** Returns the scheme by which the caller reached the proxy, if the proxy says so. */
export function forwardedScheme({
  'x-forwarded-proto': scheme,
}: IncomingHttpHeaders): 'http' | 'https' | undefined {
  const last = lastOf(scheme)?.toLowerCase()
  return last === 'http' || last === 'https' ? last : undefined
}
