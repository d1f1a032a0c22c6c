// Writes flat objects as CSV (RFC 4180): a whole array, or the rows of a stream one by one.

import { createRequire } from 'node:module'
import type { Content } from '../../document/contract.js'
import { parametersOf } from '../../document/media-types.js'
import { OperatorError } from '../../lib/operator-error.js'
import { utf8Fault } from '../../runtime/text.js'
import { bySchema, inUtf8, type ServedKind, Unwritable } from '../kind.js'

// papaparse is required instead of imported: only contracts with CSV load it, and others need not install it.
// In a bundle in CommonJS, `import.meta` is empty.
const require = createRequire(import.meta.url ?? __filename)

/** The part of papaparse that is used. */
interface Papaparse {
  unparse(
    lines: readonly (readonly unknown[])[],
    options: { readonly newline: string; readonly quotes: (value: unknown) => boolean },
  ): string
}

export const csv: ServedKind = {
  isText: true,
  isOfValue: true,
  streams: undefined,
  receivedAs: 'text',
  sent: {
    typeOf: (mediaType) => withHeader(inUtf8(mediaType)),
    check: bySchema,
    writer(content) {
      const { header, rows } = createCsvWriter(content)
      return (body) => header + writable(() => rows(body as readonly Row[])) // the value has been checked
    },
  },
}

/**
 * Returns how the rows of a stream are written: the text before them, and the writer of a row.
 * @throws {Unwritable}
 */
export function rowFraming(content: Content): { readonly start: string; frame(item: unknown): string } {
  const { header, rows } = createCsvWriter(content)
  return { start: header, frame: (item) => writable(() => rows([item as Row])) } // the value has been checked
}

function writable(write: () => string): string {
  try {
    return write()
  } catch (error) {
    throw new Unwritable(`cannot be written as CSV: ${(error as Error).message}`)
  }
}

// The CSV has a header row unless the contract says otherwise.
function withHeader(mediaType: string): string {
  return parametersOf(mediaType).has('header') ? mediaType : `${mediaType}; header=present`
}

type Row = Readonly<Record<string, unknown>>

/** Writes rows that the schema allows. */
export interface CsvWriter {
  /** The row with the names of the columns, unless the media type has `header=absent`. */
  readonly header: string
  rows(rows: readonly Row[]): string
}

/**
 * Creates the writer of a media type: it writes a row for each object. A field that is absent or null is
 * empty, and an empty string is `""`. Nothing is altered, not even a text that a spreadsheet may take for a
 * formula.
 * @returns a writer that throws for a field without a column, and for text that UTF-8 cannot hold
 * @throws {OperatorError} if papaparse is not installed
 */
export function createCsvWriter({ columns = [], mediaType }: Content): CsvWriter {
  const { unparse } = loadPapaparse()
  const known = new Set(columns)
  const isEmpty = (value: unknown) => value === ''
  const textOf = (lines: readonly (readonly unknown[])[]) => {
    if (lines.length === 0) return ''
    const text = unparse(lines, { newline: '\r\n', quotes: isEmpty })
    const fault = utf8Fault(text)
    if (fault !== undefined) throw new Error(`text ${fault}`)
    return `${text}\r\n`
  }
  return {
    header: parametersOf(mediaType).get('header') === 'absent' ? '' : textOf([columns]),
    rows: (rows) => textOf(rows.map((row) => toLine(row, columns, known))),
  }
}

function loadPapaparse(): Papaparse {
  try {
    return require('papaparse')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause
    throw new OperatorError(
      'text/csv needs papaparse, which is not installed: npm install --save-prod papaparse@5',
      {
        cause,
      },
    )
  }
}

function toLine(row: Row, columns: readonly string[], known: ReadonlySet<string>): unknown[] {
  for (const name of Object.keys(row))
    if (!known.has(name) && row[name] !== undefined)
      throw new Error(`the field ${name} has no column: its schema does not declare it`)
  // An empty line would be no row.
  const absent = columns.length === 1 ? '' : null
  return columns.map((name) => (Object.hasOwn(row, name) ? (row[name] ?? absent) : absent))
}
