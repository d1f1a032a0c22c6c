// Media types as the contract writes them: ranges such as `image/*`, parameters, and the many kinds of JSON.

/** Whether it is a media type, or a range of them. */
export function isMediaType(name: string): boolean {
  return /^(\*\/\*|[^*/\s]+\/(\*|[^*/\s]+))$/.test(essence(name))
}

/** Without parameters, in lower case. */
export function essence(mediaType: string): string {
  const end = mediaType.indexOf(';')
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase()
}

/** Whether a body of the type is JSON (RFC 6839, section 3.1). */
export function isJson(mediaType: string): boolean {
  return /^application\/([^;]+\+)?json$/.test(essence(mediaType))
}

/** Whether a type is what the contract declares, or in the range that it declares. */
export function accepts(declared: string, mediaType: string): boolean {
  const [range, type] = [essence(declared), essence(mediaType)]
  return range === type || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}

/** Whether the contract names a range of types, such as `image/*`, and not a type. */
export function isRange(mediaType: string): boolean {
  return essence(mediaType).endsWith('/*')
}

/** What is declared of a type: for itself, or for the range that it is in. */
export function declaredFor<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  mediaType: string,
): Each | undefined {
  const type = essence(mediaType)
  const inRange = contents.filter((each) => accepts(each.mediaType, type))
  return inRange.find((each) => !isRange(each.mediaType)) ?? inRange.sort(byWidth)[0]
}

/** The one of an answer that goes by a `Content-Type`; without it the first of JSON, or the only one. */
export function answeredBy<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  contentType: string | undefined,
): Each | undefined {
  if (contentType !== undefined) return isRange(contentType) ? undefined : declaredFor(contents, contentType)
  const [first] = contents.length === 1 ? contents : contents.filter(({ mediaType }) => isJson(mediaType))
  return first !== undefined && !isRange(first.mediaType) ? first : undefined
}

// `image/*` before `*/*`.
function byWidth(a: { readonly mediaType: string }, b: { readonly mediaType: string }): number {
  return b.mediaType.length - a.mediaType.length
}

/** Whether its text, as far as a `charset` says, is UTF-8, of which ASCII is a part. */
export function isUtf8(contentType: string): boolean {
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  return /^(utf-8|us-ascii)$/i.test(charset)
}
