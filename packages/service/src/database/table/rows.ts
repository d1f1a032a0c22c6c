// Converts rows between PostgreSQL and the objects of a contract. Every statement asks for the text of each
// column, or for JSON with this text, so that a value is the same wherever it is read.

import { refusedValue } from 'contract-engine'
import type { Sql } from '../database.js'
import { prepared } from '../driver/sql.js'
import { readJson } from '../driver/values.js'
import { isDataException, UnstorableText, wrongValue } from '../unavailable.js'
import { type AnyColumns, type Field, readStored, type Stored, type StoredValue } from './columns.js'

/** The texts of a row's fields, by the names that `selected` gives them. */
export type Texts = Readonly<Record<string, string | null>>

/** Returns the fields of a list of columns, in its order. */
export function fieldsOf(columns: AnyColumns): Field[] {
  return Object.entries(columns).map(([name, codec]) => ({
    name,
    column: identifier(codec.column ?? name),
    selectedAs: `text of ${name}`,
    codec,
  }))
}

/** Quotes an identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Returns the select list for the texts of fields. */
export function selected(fields: readonly Field[]): string {
  return fields.map(({ column, selectedAs }) => `${column}::text as ${identifier(selectedAs)}`).join(', ')
}

/** Returns the SQL expression for a field of `rows` within JSON. */
export function inJson({ column, codec }: Field): string {
  return codec.isInteger ? `rows.${column}` : `rows.${column}::text`
}

/** Reads rows that a statement has selected by `selected`. */
export function readRows<Row>(fields: readonly Field[], rows: readonly Texts[]): Row[] {
  const texts = fields.map(({ selectedAs }) => rows.map((row) => row[selectedAs] ?? null))
  return readStored(fields, texts)
}

/** Reads a row from a JSON list of its values. */
export function readRow<Row>(fields: readonly Field[], json: string): Row {
  const values = parseStored<readonly StoredValue[]>(json, areExact)
  const [row] = readStored<Row>(
    fields,
    values.map((value) => [value]),
  )
  return row as Row // each list has one value
}

/** Rows, and their stored values. */
export interface Columns<Row> {
  readonly rows: Row[]
  readonly stored: Stored
}

/** Reads rows from JSON with a list of values for each field, null if there are no rows. */
export function readColumns<Row>(fields: readonly Field[], json: string): Columns<Row> {
  const stored = parseStored<Stored>(json, (parsed) =>
    fields.every(({ codec }, i) => !codec.isInteger || areExact(parsed[i] ?? [])),
  )
  return { rows: readStored(fields, stored), stored }
}

// Parses again if JSON.parse may have rounded an integer: the rounded value is beyond 2^53, too.
function parseStored<Parsed>(json: string, isWhole: (parsed: Parsed) => boolean): Parsed {
  const parsed = JSON.parse(json) as Parsed
  return isWhole(parsed) ? parsed : (readJson(json) as Parsed)
}

function areExact(values: readonly StoredValue[]): boolean {
  for (const value of values) if (typeof value === 'number' && !Number.isSafeInteger(value)) return false
  return true
}

/**
 * Resolves with true if PostgreSQL reads a text as a value of a type. If so, a stored row has caused the data
 * exception of a statement with this value.
 */
export function canRead(sql: Sql, type: string, text: string | null): Promise<boolean> {
  return sql.unsafe(`select 1 where $1::text::${type} is not null`, [text], prepared).then(
    () => true,
    (error) => !isDataException(error),
  )
}

/** Writes the text of each field of a row, for the JSON of a statement. */
export function writeRow(fields: readonly Field[], row: Readonly<Record<string, unknown>>): Texts {
  const texts: Record<string, string | null> = {}
  for (const field of fields) texts[field.name] = writeField(field, row)
  return texts
}

/**
 * Writes the text of a field of a row.
 * @throws {RequestError} `invalid_request` if PostgreSQL cannot store a text within its JSON
 */
export function writeField({ name, codec }: Field, row: Readonly<Record<string, unknown>>): string | null {
  try {
    return codec.write(row[name])
  } catch (error) {
    if (error instanceof UnstorableText) throw refusedValue(row, [name], `has ${wrongValue(error)}`, error)
    throw error
  }
}
