// The URL of a contract's operations, to which their paths are appended, as the engine reads it.

/**
 * Reads such a URL, as URLs are serialized and without a slash at its end. It need not end with the prefix of
 * the contract: a gateway may have another path, or none, in its place. Undefined unless it is an http or
 * https URL without user, query and fragment.
 */
export function readBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text) || /[?#]/.test(text)) return undefined
  const { protocol, origin, pathname, username, password } = new URL(text)
  const isPlain = /^https?:$/.test(protocol) && username === '' && password === ''
  return isPlain ? origin + pathname.replace(/\/+$/, '') : undefined
}
