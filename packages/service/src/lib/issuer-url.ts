// The URL of an OpenID issuer, and those that it refers to.

import { isLoopback } from './address.js'

/**
 * The URL of an issuer: without a user, a query and a fragment. Undefined if it is none, or not to be
 * trusted.
 */
export function readIssuerUrl(text: string): URL | undefined {
  return /[?#]/.test(text) ? undefined : readTrustedUrl(text)
}

/**
 * A URL from which keys may be fetched: over TLS, or from the machine itself, where nobody is in between.
 * Undefined for any other.
 */
export function readTrustedUrl(text: unknown): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === ''
  const isLocal = url.hostname === 'localhost' || isLoopback(url.hostname)
  const isTrusted = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)
  return isPlain && isTrusted ? url : undefined
}
