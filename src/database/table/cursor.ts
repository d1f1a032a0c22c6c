// The cursors of pages: the version of their form (`1`), the filters of the list, and the position of the
// page's last row. One is encoded so that clients do not build cursors and depend on the form.

// The text of a filter that is not set.
const unset = '*'

/** The texts that a cursor contains. */
export interface Position {
  /** Of each filter of the list; null if it is not set. */
  readonly filters: readonly (string | null)[]
  /** Of each field of the list's order. */
  readonly last: readonly string[]
}

/** Writes a cursor. */
export function writeCursor({ filters, last }: Position): string {
  const parts = [filters.map((text) => (text === null ? unset : escaped(text))), last.map(escaped)]
  return Buffer.from(['1', ...parts.map((part) => part.join())].join('|')).toString('base64url')
}

/** Reads a cursor; undefined if it has not the form of one. */
export function readCursor(cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  // Decoding is lenient: accept only what is encoded in the same way.
  if (bytes.toString('base64url') !== cursor) return undefined
  const [version, filters, last, ...more] = bytes.toString().split('|')
  if (version !== '1' || filters === undefined || last === undefined || more.length > 0) return undefined
  try {
    return { filters: filters.split(',').map(unescapedFilter), last: last.split(',').map(unescaped) }
  } catch {
    return undefined // no percent-encoded text
  }
}

function unescapedFilter(text: string): string | null {
  return text === unset ? null : unescaped(text)
}

function unescaped(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text
}

// What most positions consist of needs no encoding.
const plain = /^[\w.-]*$/

function escaped(text: string): string {
  return plain.test(text) ? text : encodeURIComponent(text).replaceAll('*', '%2A')
}
