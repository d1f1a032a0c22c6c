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

/** Reads a cursor; undefined if `writeCursor` has not written it. */
export function readCursor(cursor: string): Position | undefined {
  const [, filters, last] = Buffer.from(cursor, 'base64url').toString().split('|')
  if (filters === undefined || last === undefined) return undefined
  try {
    const position = {
      filters: filters.split(',').map((text) => (text === unset ? null : decodeURIComponent(text))),
      last: last.split(',').map(decodeURIComponent),
    }
    // Decoding is lenient: accept only a cursor that is written in the same way.
    return writeCursor(position) === cursor ? position : undefined
  } catch {
    return undefined // no percent-encoded text
  }
}

function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll('*', '%2A')
}
