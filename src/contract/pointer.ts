// References within a document: JSON pointers (RFC 6901) in the fragment of a URL.

/** What a `$ref` of the document leads to; undefined where that is nothing, or in another file. */
export function lookUp(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  return ref.slice(2).split('/').reduce<unknown>(memberOf, document)
}

function memberOf(at: unknown, token: string): unknown {
  const key = unescapePointer(token)
  if (typeof at !== 'object' || at === null || key === undefined || !Object.hasOwn(at, key)) return undefined
  return (at as Record<string, unknown>)[key]
}

/** A key as it is, of a pointer's part; undefined where that is no URL's. */
export function unescapePointer(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
