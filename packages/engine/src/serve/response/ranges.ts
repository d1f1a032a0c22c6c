// Finds the part of a representation that a download asks for: a single range of bytes (RFC 9110, section
// 14). Several ranges would need multipart/byteranges, which players and download managers do not ask for;
// the whole is sent then, as section 14.2 allows.

/** The headers of a request that ask for a part. */
export interface RangeHeaders {
  readonly range?: string | undefined
  readonly 'if-range'?: string | undefined
}

interface Whole {
  readonly status: 200
  /** `start` is the first byte, and `end` follows the last one. */
  readonly start: 0
  readonly end: number
  readonly headers: { readonly 'Accept-Ranges': 'bytes'; readonly 'Content-Length': number }
}

interface Part {
  readonly status: 206
  readonly start: number
  readonly end: number
  readonly headers: Whole['headers'] & { readonly 'Content-Range': string }
}

interface Unsatisfiable {
  readonly status: 416
  readonly headers: { readonly 'Accept-Ranges': 'bytes'; readonly 'Content-Range': string }
}

/** What a handler sends: the status, which bytes, and headers that the contract declares. */
export type Range = Whole | Part | Unsatisfiable

/** The validators with which `If-Range` is compared. */
export interface Validators {
  /** A strong entity tag, as it is sent: `"v1"`. */
  readonly etag?: string
  readonly lastModified?: Date
}

/**
 * Returns the part of a representation that a request asks for: the whole (200), a range (206), or none,
 * because the range begins beyond the end (416).
 * @param length the length of the whole, in bytes
 */
export function rangeOf(headers: RangeHeaders, length: number, validators: Validators = {}): Range {
  const asked = isCurrent(headers['if-range'], validators) ? headers.range : undefined
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(asked ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return whole(length)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return whole(length) // invalid, so ignored
  const start = first === '' ? Math.max(0, length - Number(last)) : Number(first)
  const end = first === '' || last === '' ? length : Math.min(Number(last) + 1, length)
  if (start >= length || start >= end)
    return { status: 416, headers: { ...accepts, 'Content-Range': `bytes */${length}` } }
  const sent = { 'Content-Length': end - start, 'Content-Range': `bytes ${start}-${end - 1}/${length}` }
  return { status: 206, start, end, headers: { ...accepts, ...sent } }
}

const accepts = { 'Accept-Ranges': 'bytes' } as const

function whole(length: number): Whole {
  return { status: 200, start: 0, end: length, headers: { ...accepts, 'Content-Length': length } }
}

// Compares strongly, or by the exact time (section 13.1.5).
function isCurrent(ifRange: string | undefined, { etag, lastModified }: Validators): boolean {
  if (ifRange === undefined) return true
  if (ifRange.startsWith('"')) return ifRange === etag
  return ifRange === lastModified?.toUTCString()
}
