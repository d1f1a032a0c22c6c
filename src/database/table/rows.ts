// Rows between PostgreSQL and the objects of a contract. Every statement asks for the text of each column,
// and this is the only reader of it: a value is the same wherever it is read.

import type { AnyColumns, Column } from './columns.js'

/** A field and its column. */
export interface Field {
  readonly name: string
  /** The column's name, quoted. */
  readonly column: string
  readonly codec: Column<unknown>
}

/** The text of each of a row's fields, as `selected` names it. */
export type Texts = Readonly<Record<string, string | null>>

/** The fields of a list of columns, in its order. */
export function fieldsOf(columns: AnyColumns): Field[] {
  return Object.entries(columns).map(([name, codec]) => ({
    name,
    column: identifier(codec.column ?? name),
    codec,
  }))
}

/** A quoted identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Selects the texts of fields. The names are not those of columns, which ORDER BY would take for them. */
export function selected(fields: readonly Field[]): string {
  return fields.map(({ name, column }) => `${column}::text as ${identifier(selectedAs(name))}`).join(', ')
}

function selectedAs(name: string): string {
  return `text of ${name}`
}

/** Reads rows that were selected by `selected`. */
export function readRows<Row>(fields: readonly Field[], rows: readonly Texts[]): Row[] {
  return rows.map((row) => readRow(fields, ({ name }) => row[selectedAs(name)] ?? null))
}

/** Reads a row from the text of each field, whose place in `fields` is `i`. */
export function readRow<Row>(
  fields: readonly Field[],
  textOf: (field: Field, i: number) => string | null,
): Row {
  const row: Record<string, unknown> = {}
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as Field
    const value = readField(field, textOf(field, i))
    if (value !== undefined) row[field.name] = value
  }
  return row as Row // a column for each of its fields
}

function readField({ column, codec }: Field, text: string | null): unknown {
  try {
    return codec.read(text)
  } catch (cause) {
    throw new Error(`column ${column} has a value that ${codec.type} does not read`, { cause })
  }
}

/** The JSON of rows for a statement: an array of objects with the text of each field. */
export function writeRows(fields: readonly Field[], rows: readonly object[]): string {
  return JSON.stringify(rows.map((row) => writeRow(fields, row as Record<string, unknown>)))
}

function writeRow(fields: readonly Field[], row: Readonly<Record<string, unknown>>): object {
  const texts: Record<string, string | null> = {}
  for (const { name, codec } of fields) texts[name] = codec.write(row[name])
  return texts
}
