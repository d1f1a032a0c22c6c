// Writes arrays of flat objects as CSV (RFC 4180).

import { createRequire } from 'node:module'
import type { Content } from '../document/contract.js'
import { utf8Fault } from '../values/text.js'
import { bySchema, inUtf8, type Kind, Unwritable } from './kind.js'

// Required, and not imported: it is loaded for contracts with CSV alone.
const require = createRequire(import.meta.url)

/** The part of papaparse that is used. */
interface Papaparse {
  unparse(
    lines: readonly (readonly unknown[])[],
    options: { readonly newline: string; readonly quotes: (value: unknown) => boolean },
  ): string
}

export const csv: Kind = {
  isText: true,
  isOfValue: true,
  streams: undefined,
  receivedAs: 'text',
  sent: {
    typeOf: (mediaType) => withHeader(inUtf8(mediaType)),
    check: ({ schema }, compile) => bySchema(schema, compile),
    writer(content) {
      const write = createCsvWriter(content)
      return (body) => {
        try {
          return write(body as readonly Row[]) // as checked
        } catch (error) {
          throw new Unwritable(`cannot be written as CSV: ${(error as Error).message}`)
        }
      }
    },
  },
}

// It has a header row unless the contract says otherwise.
function withHeader(mediaType: string): string {
  return /;\s*header=/i.test(mediaType) ? mediaType : `${mediaType}; header=present`
}

type Row = Readonly<Record<string, unknown>>

/** Writes a value that the schema allows. */
export type WriteCsv = (rows: readonly Row[]) => string

/**
 * Creates the writer of a media type: a row with the names of its columns, unless it has `header=absent`,
 * then a row for each object. A field that is absent or null is empty, and an empty text is `""`. Nothing is
 * altered: not even a text that a spreadsheet may take for a formula.
 * @returns a function that throws for a field without a column, and for text that UTF-8 cannot hold
 */
export function createCsvWriter({ columns = [], mediaType }: Content): WriteCsv {
  const { unparse }: Papaparse = require('papaparse')
  const known = new Set(columns)
  const isEmpty = (value: unknown) => value === ''
  const header = /;\s*header="?absent/i.test(mediaType) ? [] : [[...columns]]
  return (rows) => {
    const lines = rows.map((row) => toLine(row, columns, known))
    const all = [...header, ...lines]
    if (all.length === 0) return ''
    const text = unparse(all, { newline: '\r\n', quotes: isEmpty })
    const fault = utf8Fault(text)
    if (fault !== undefined) throw new Error(`text ${fault}`)
    return `${text}\r\n`
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
