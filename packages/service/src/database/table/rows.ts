// Rows between PostgreSQL and the objects of a contract. Every statement asks for the text of each column, or
// for JSON that has it, and this is the only reader: a value is the same wherever it is read.

import { refusedValue } from 'contract-engine'
import type { Sql } from '../database.js'
import { prepared } from '../driver/sql.js'
import { readJson } from '../driver/values.js'
import { isDataException, UnstorableText, wrongValue } from '../unavailable.js'
import type { AnyColumns, Column, StoredValue } from './columns.js'

/** A field and its column. */
export interface Field {
  readonly name: string
  /** The column's name, quoted. */
  readonly column: string
  /**
   * The name of its text in the results of `selected`. It is no column's, for which ORDER BY would take it.
   */
  readonly selectedAs: string
  readonly codec: Column<unknown>
}

/** The text of each of a row's fields, as `selected` names it. */
export type Texts = Readonly<Record<string, string | null>>

/** The fields of a list of columns, in its order. */
export function fieldsOf(columns: AnyColumns): Field[] {
  return Object.entries(columns).map(([name, codec]) => ({
    name,
    column: identifier(codec.column ?? name),
    selectedAs: `text of ${name}`,
    codec,
  }))
}

/** A quoted identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Selects the texts of fields. */
export function selected(fields: readonly Field[]): string {
  return fields.map(({ column, selectedAs }) => `${column}::text as ${identifier(selectedAs)}`).join(', ')
}

/** What a statement puts into JSON of a field of `rows`. */
export function inJson({ column, codec }: Field): string {
  return codec.isInteger ? `rows.${column}` : `rows.${column}::text`
}

/**
 * Parses the JSON of what is stored, again if an integer beyond 2^53 was rounded: it is not a safe one
 * either.
 */
export function parseStored<Parsed>(json: string, areExact: (parsed: Parsed) => boolean): Parsed {
  const parsed = JSON.parse(json) as Parsed
  return areExact(parsed) ? parsed : (readJson(json) as Parsed)
}

/** Whether a value that JSON.parse has read is not rounded. */
export function isExact(stored: StoredValue): boolean {
  return typeof stored !== 'number' || Number.isSafeInteger(stored)
}

/** Reads rows that were selected by `selected`. */
export function readRows<Row>(fields: readonly Field[], rows: readonly Texts[]): Row[] {
  return rows.map((row) => readRow(fields, ({ selectedAs }) => row[selectedAs] ?? null))
}

/** Reads a row from what is stored of each field, whose place in `fields` is `i`. */
export function readRow<Row>(
  fields: readonly Field[],
  storedOf: (field: Field, i: number) => StoredValue,
): Row {
  const row: Record<string, unknown> = {}
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as Field
    const value = readField(field, storedOf(field, i))
    if (value !== undefined) row[field.name] = value
  }
  return row as Row // a column for each of its fields
}

/** Rows, and what is stored of each field in each row, in the order of the fields. */
export interface Columns<Row> {
  readonly rows: Row[]
  readonly stored: readonly (readonly StoredValue[] | null)[]
}

/** Reads rows from JSON that has the list of each field's values, or null if there are no rows. */
export function readColumns<Row>(fields: readonly Field[], json: string): Columns<Row> {
  const stored = parseStored<Columns<Row>['stored']>(json, (parsed) =>
    fields.every(({ codec }, i) => !codec.isInteger || parsed[i]?.every(isExact) !== false),
  )
  const rows = (stored[0] ?? []).map(() => ({}))
  for (let i = 0; i < fields.length; i++) readColumn(fields[i] as Field, stored[i] ?? [], rows)
  return { rows: rows as Row[], stored } // a column for each of its fields
}

// A column at a time: its type reads all values before the next does.
function readColumn(
  field: Field,
  list: readonly StoredValue[],
  rows: readonly Record<string, unknown>[],
): void {
  const { name, codec } = field
  try {
    for (let i = 0; i < rows.length; i++) {
      const value = codec.read(list[i] ?? null)
      if (value !== undefined) (rows[i] as Record<string, unknown>)[name] = value
    }
  } catch (cause) {
    throw unreadable(field, cause)
  }
}

function readField(field: Field, stored: StoredValue): unknown {
  try {
    return field.codec.read(stored)
  } catch (cause) {
    throw unreadable(field, cause)
  }
}

function unreadable({ column, codec }: Field, cause: unknown): Error {
  return new Error(`column ${column} has a value that ${codec.type} does not read`, { cause })
}

/**
 * Whether PostgreSQL reads a text as a value of a type. If it does, a data exception of a statement with this
 * value is the fault of a row.
 */
export function canRead(sql: Sql, type: string, text: string | null): Promise<boolean> {
  return sql.unsafe(`select 1 where $1::text::${type} is not null`, [text], prepared).then(
    () => true,
    (error) => !isDataException(error),
  )
}

/** The text of each field of a row, for the JSON of a statement. */
export function writeRow(fields: readonly Field[], row: Readonly<Record<string, unknown>>): Texts {
  const texts: Record<string, string | null> = {}
  for (const field of fields) texts[field.name] = writeField(field, row)
  return texts
}

/** The text of a field of a row. @throws {RequestError} `invalid_request` if it is JSON that cannot be stored */
export function writeField({ name, codec }: Field, row: Readonly<Record<string, unknown>>): string | null {
  try {
    return codec.write(row[name])
  } catch (error) {
    if (error instanceof UnstorableText) throw refusedValue(row, [name], `has ${wrongValue(error)}`, error)
    throw error
  }
}
