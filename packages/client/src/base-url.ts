// The URL to which the paths of a contract's operations are appended, read as the engine reads it.

/**
 * Returns such a URL in serialized form, without a slash at its end; undefined unless the text is an http or
 * https URL without user, query and fragment. The URL need not end with the prefix of the contract: a gateway
 * may replace it by another path, or remove it.
 */
export function readBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text) || /[?#]/.test(text)) return undefined
  const { protocol, origin, pathname, username, password } = new URL(text)
  const isPlain = /^https?:$/.test(protocol) && username === '' && password === ''
  return isPlain ? origin + pathname.replace(/\/+$/, '') : undefined
}
