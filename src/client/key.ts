// The API key of a request.

/** A key, or what returns it, at once or later. */
export type GivenKey = string | (() => string | Promise<string>)

/**
 * What returns `Authorization` for a key. A key that a function returns is checked at each call.
 * @throws {TypeError} if the key cannot be sent in a header
 */
export function readKey(key: unknown): () => Promise<string> {
  if (typeof key === 'function') return async () => authorization(await key())
  const fixed = authorization(key)
  return async () => fixed
}

// Without the check an unset variable would be sent as `undefined`, and fetch's error for an invalid header
// would contain the key.
function authorization(key: unknown): string {
  if (typeof key === 'string' && /^[!-~]*$/.test(key.trim())) return `Bearer ${key.trim()}`
  throw new TypeError('key must be a string of printable ASCII characters without spaces')
}
