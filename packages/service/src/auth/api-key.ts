// The format of API keys: the project's prefix, 30 random base62 characters, and a CRC-32 of both in 6 more.
// The checksum rejects a mistyped key without a query, and lets secret scanners recognize a key with
// certainty.

import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { keyPrefixOf, projectName } from '../lib/project-name.js'

const prefix = keyPrefixOf(projectName)
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 30
const checksumLength = 6
const format = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`)

/** Creates a key with about 178 random bits. It is shown once and never stored. */
export function createApiKey(): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('')
  return withChecksum(prefix + random)
}

/** Appends the checksum to a prefix and random characters. */
export function withChecksum(text: string): string {
  return text + checksum(text)
}

/** True if the text has the format of a key and a correct checksum. */
export function isApiKey(text: string): boolean {
  return format.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength))
}

/** True if the text is meant as a key, though it may be mistyped. No token of an issuer begins like a key. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(prefix)
}

/** True if the text may contain a key or a part of one, and so must not be logged. */
export function containsApiKey(text: string): boolean {
  return text.toLowerCase().includes(prefix)
}

/**
 * Returns the hash by which a key is stored and found: SHA-256 in hex. A random key needs no salt or slow
 * hash.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex')
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[rest % alphabet.length] + digits
    rest = Math.floor(rest / alphabet.length)
  }
  return digits
}
