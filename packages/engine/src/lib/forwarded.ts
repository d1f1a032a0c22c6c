// Headers that proxies set. Whether a request has them from a trusted one is for the caller to judge.

import type { IncomingHttpHeaders } from 'node:http'

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
