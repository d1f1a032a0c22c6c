// Media types in the contract: with parameters, as ranges such as `image/*`, and the `+json` types.

/** Whether a name is a media type or a media type range. */
export function isMediaType(name: string): boolean {
  return /^(\*\/\*|[^*/\s]+\/(\*|[^*/\s]+))$/.test(essence(name))
}

/** The media type without parameters, in lower case. */
export function essence(mediaType: string): string {
  const end = mediaType.indexOf(';')
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase()
}

/** Whether a body of this media type is JSON (RFC 6839, section 3.1). */
export function isJson(mediaType: string): boolean {
  return /^application\/([^;]+\+)?json$/.test(essence(mediaType))
}

/** Whether a media type equals the declared one or is in the declared range. */
export function accepts(declared: string, mediaType: string): boolean {
  const [range, type] = [essence(declared), essence(mediaType)]
  return range === type || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}

/** Whether the contract declares a range, such as `image/*`. */
export function isRange(mediaType: string): boolean {
  return mediaType.includes('/*') && essence(mediaType).endsWith('/*')
}

/** The declaration for a media type: its own, or else the narrowest range that includes it. */
export function contentFor<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  mediaType: string,
): Each | undefined {
  // Most clients name it as the contract does.
  for (const each of contents) if (each.mediaType === mediaType && !isRange(mediaType)) return each
  const type = essence(mediaType)
  const inRange = contents.filter((each) => accepts(each.mediaType, type))
  return inRange.find((each) => !isRange(each.mediaType)) ?? inRange.sort(byWidth)[0]
}

/** The declaration for a response's `Content-Type`; without the header, the only one or the first JSON. */
export function responseContent<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  contentType: string | undefined,
): Each | undefined {
  if (contentType !== undefined) return isRange(contentType) ? undefined : contentFor(contents, contentType)
  const [first] = contents.length === 1 ? contents : contents.filter(({ mediaType }) => isJson(mediaType))
  return first !== undefined && !isRange(first.mediaType) ? first : undefined
}

// `image/*` before `*/*`.
function byWidth(a: { readonly mediaType: string }, b: { readonly mediaType: string }): number {
  return b.mediaType.length - a.mediaType.length
}

/** Whether the `charset`, if any, is UTF-8 or its subset ASCII. */
export function isUtf8(contentType: string): boolean {
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  return /^(utf-?8|us-ascii)$/i.test(charset) // `utf8` is not registered, but common
}

/** The elements of a list with commas, such as the value of a header. */
export function elementsOf(list: string): string[] {
  return list.split(',').map((each) => each.trim())
}
