// The media type of a response, which decides how its body is read. Unlike the engine's reader, this one
// ignores parameters.

/**
 * Returns the media type that headers name, without parameters and in lower case; empty if they name none.
 */
export function mediaTypeOf(headers: Headers): string {
  return headers.get('Content-Type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/**
 * Returns what is declared for a media type: for the type itself, or else for the narrowest range that
 * includes it, such as `image/*`, `application/*+json` (which ASP.NET writes), or any type.
 */
export function declaredFor<Value>(
  declared: Readonly<Record<string, Value>>,
  type: string,
): Value | undefined {
  if (Object.hasOwn(declared, type)) return declared[type]
  const ranges = Object.keys(declared).filter((range) => includes(range, type))
  const [narrowest] = ranges.sort((a, b) => b.length - a.length)
  return narrowest === undefined ? undefined : declared[narrowest]
}

function includes(range: string, type: string): boolean {
  const [start = '', end] = range.split('*', 2)
  return range === '*/*' || (end !== undefined && type.startsWith(start) && type.endsWith(end))
}
