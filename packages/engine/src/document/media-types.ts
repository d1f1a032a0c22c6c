// Media types in the contract: with parameters, as ranges such as `image/*`, and the `+json` types.

/** Whether a name is a media type, a range of them or a pattern. */
export function isMediaType(name: string): boolean {
  return isSuffixPattern(name) || /^(\*\/\*|[^*/\s]+\/(\*|[^*/\s]+))$/.test(essence(name))
}

/** Whether a name is a pattern of types with a suffix, such as `application/*+json`, which ASP.NET writes. */
export function isSuffixPattern(name: string): boolean {
  return /^[^*/\s]+\/\*\+[^*/\s]+$/.test(essence(name))
}

/**
 * A media type by which no other declaration is the same: without blanks, quotes and the order of parameters.
 */
export function normalType(mediaType: string): string {
  const parameters = [...(mediaParameters(mediaType) ?? [])].map((each) => each.join('=')).sort()
  return [essence(mediaType), ...parameters].join(';')
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

/** Whether a media type equals the declared one or is in the declared range, or has the declared suffix. */
export function accepts(declared: string, mediaType: string): boolean {
  const [range, type] = [essence(declared), essence(mediaType)]
  if (range === type || range === '*/*') return true
  const [start = '', end] = range.split('*', 2)
  return end !== undefined && type.startsWith(start) && type.endsWith(end)
}

/** Whether the contract declares a range, such as `image/*`, or a pattern. */
export function isRange(mediaType: string): boolean {
  return mediaType.includes('/*') && (essence(mediaType).endsWith('/*') || isSuffixPattern(mediaType))
}

/**
 * The declaration for a media type: its own, or else the narrowest range that includes it. Of several that
 * differ in their parameters, the one with the most that the media type has, too (OpenAPI 3.1.1, section
 * 4.8.14.3: the most specific key).
 */
export function contentFor<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  mediaType: string,
): Each | undefined {
  // Most clients name it as the contract does.
  for (const each of contents) if (each.mediaType === mediaType && !isRange(mediaType)) return each
  const type = essence(mediaType)
  const inRange = contents.filter((each) => accepts(each.mediaType, type))
  const own = inRange.filter((each) => !isRange(each.mediaType))
  if (own.length > 1) return byParameters(own, mediaType)
  return own[0] ?? inRange.sort(byWidth)[0]
}

function byParameters<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  mediaType: string,
): Each | undefined {
  const given = mediaParameters(mediaType)
  const [found] = contents
    .map((each) => ({ each, declared: [...(mediaParameters(each.mediaType) ?? [])] }))
    .filter(({ declared }) => declared.every(([name, value]) => given?.get(name) === value))
    .sort((a, b) => b.declared.length - a.declared.length)
  return found?.each
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

const parameter = /^([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")$/

/** The parameters of a media type, in lower case (RFC 9110, section 5.6.6); undefined if one is malformed. */
export function mediaParameters(text: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>()
  for (const each of splitAt(text, ';').slice(1)) {
    if (each === '') continue
    const [, key, token, quoted = ''] = parameter.exec(each) ?? []
    if (key === undefined) return undefined
    parameters.set(key.toLowerCase(), (token ?? quoted.replace(/\\(.)/g, '$1')).toLowerCase())
  }
  return parameters
}

/** The parts of a list, without those separators that are in quotes. */
export function splitAt(text: string, separator: ',' | ';'): string[] {
  if (!text.includes('"')) return text.split(separator).map((each) => each.trim())
  const parts: string[] = []
  let [start, isQuoted] = [0, false]
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (isQuoted && character === '\\') i++
    else if (character === '"') isQuoted = !isQuoted
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  return [...parts, text.slice(start).trim()]
}
