// Media types of the contract and of messages: with parameters, as ranges such as `image/*`, and the `+json`
// types.

import { readParameters } from '../lib/field-values.js'

/** True if a name is a media type, a range of media types or a pattern. */
export function isMediaType(name: string): boolean {
  return isSuffixPattern(name) || /^(\*\/\*|[^*/\s]+\/(\*|[^*/\s]+))$/.test(essence(name))
}

/** True if a name is a pattern of types with a suffix, such as `application/*+json`, which ASP.NET writes. */
export function isSuffixPattern(name: string): boolean {
  return /^[^*/\s]+\/\*\+[^*/\s]+$/.test(essence(name))
}

/**
 * Returns the form of a media type that is equal for equal declarations: without blanks and quotes, and with
 * its parameters sorted.
 */
export function normalType(mediaType: string): string {
  const parameters = [...parametersOf(mediaType)].map((each) => each.join('=')).sort()
  return [essence(mediaType), ...parameters].join(';')
}

/** Returns the media type without parameters, in lower case. */
export function essence(mediaType: string): string {
  const end = mediaType.indexOf(';')
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase()
}

/** Returns the parameters of a media type, names and values in lower case. */
export function parametersOf(mediaType: string): Map<string, string> {
  return new Map([...readParameters(mediaType).values].map(([name, value]) => [name, value.toLowerCase()]))
}

/** True if a body of this media type is JSON (RFC 6839, section 3.1). */
export function isJson(mediaType: string): boolean {
  return /^application\/([^;]+\+)?json$/.test(essence(mediaType))
}

/** True if a media type is the declared one, or in the declared range, or has the declared suffix. */
export function accepts(declared: string, mediaType: string): boolean {
  const [range, type] = [essence(declared), essence(mediaType)]
  if (range === type || range === '*/*') return true
  const [start = '', end] = range.split('*', 2)
  return end !== undefined && type.startsWith(start) && type.endsWith(end)
}

/** True if a declared media type is a range, such as `image/*`, or a pattern. */
export function isRange(mediaType: string): boolean {
  return mediaType.includes('/*') && (essence(mediaType).endsWith('/*') || isSuffixPattern(mediaType))
}

/**
 * Returns the declaration for a media type: its own, or else the narrowest range that includes it. If several
 * differ only in their parameters, returns the one with the most parameters that the media type has, too
 * (OpenAPI 3.1.1, section 4.8.14.3: the most specific key).
 */
export function contentFor<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  mediaType: string,
): Each | undefined {
  // A shortcut: most clients write the media type as the contract does.
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
  const given = parametersOf(mediaType)
  const [found] = contents
    .map((each) => ({ each, declared: [...parametersOf(each.mediaType)] }))
    .filter(({ declared }) => declared.every(([name, value]) => given.get(name) === value))
    .sort((a, b) => b.declared.length - a.declared.length)
  return found?.each
}

/**
 * Returns the declaration for a response's `Content-Type`; without the header, the only declaration or the
 * first of JSON.
 */
export function responseContent<Each extends { readonly mediaType: string }>(
  contents: readonly Each[],
  contentType: string | undefined,
): Each | undefined {
  if (contentType !== undefined) return isRange(contentType) ? undefined : contentFor(contents, contentType)
  const [first] = contents.length === 1 ? contents : contents.filter(({ mediaType }) => isJson(mediaType))
  return first !== undefined && !isRange(first.mediaType) ? first : undefined
}

// Sorts `image/*` before `*/*`.
function byWidth(a: { readonly mediaType: string }, b: { readonly mediaType: string }): number {
  return b.mediaType.length - a.mediaType.length
}

/** True if the `charset`, if any, is UTF-8 or its subset ASCII. */
export function isUtf8(mediaType: string): boolean {
  const { values, fault } = readParameters(mediaType)
  if (fault === 'repeated' || fault === 'quotes') return false
  return /^(utf-?8|us-ascii)$/i.test(values.get('charset') ?? 'utf-8') // `utf8` is not registered, but common
}

/** Says why a `Content-Type` is ambiguous: another reader may find another parameter in it. */
export function ambiguityOf(contentType: string): string | undefined {
  const { fault } = readParameters(contentType)
  if (fault === 'repeated') return 'it has a parameter twice'
  return fault === 'quotes' ? 'it has a quotation mark in the wrong place' : undefined
}
