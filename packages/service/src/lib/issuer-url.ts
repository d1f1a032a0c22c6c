// Checks the URL of an OpenID issuer, and the URLs that it refers to.

import { isLoopback } from './address.js'

/**
 * Reads the URL of an issuer, which has no user, query or fragment. Returns undefined for any other text, and
 * for a URL that cannot be trusted.
 */
export function readIssuerUrl(text: string): URL | undefined {
  return /[?#]/.test(text) ? undefined : readTrustedUrl(text)
}

/**
 * Reads a URL from which keys may be fetched: over TLS, or from this machine, where nobody is in between.
 * Returns undefined for any other.
 */
export function readTrustedUrl(text: unknown): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === ''
  const isLocal = url.hostname === 'localhost' || isLoopback(url.hostname)
  const isTrusted = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)
  return isPlain && isTrusted ? url : undefined
}
