// Media types as the contract writes them: ranges such as `image/*`, parameters, and the many kinds of JSON.

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
