// The types of columns. Each type writes and reads PostgreSQL's text of a value. Every statement of a table
// asks for this text, or for the digits of an integer. With a second reader, a value could differ between a
// get and a list, and a row that only one of them reads would end every page.

import { RequestError } from 'contract-engine'
import {
  readArray,
  readBoolean,
  readBytes,
  readInterval,
  readJson,
  readTime,
  writeArray,
  writeBytes,
  writeJson,
} from '../driver/values.js'

/** A column for the values of a field. `Value` is invariant: it must be exactly the type of the field. */
export interface Column<Value> {
  /** The column's name, if it differs from the field's. */
  readonly column: string | undefined
  /** The PostgreSQL type to which the text of a value is cast. */
  readonly type: string
  /** True for integers. PostgreSQL puts their digits into JSON as a number, which parses faster than text. */
  readonly isInteger?: boolean
  /** True if it stores JSON, whose objects a change merges. */
  readonly isJson?: boolean
  readonly write: (value: Value) => string | null
  readonly read: (stored: StoredValue) => Value
}

/** The value of a column in the result of a statement: its text, or the number for an integer. */
export type StoredValue = string | number | bigint | null

/**
 * A column for each field of an object. The types must match, and an optional field needs an `optional`
 * column. A field that is never present, such as a `readOnly` field of a `Writable`, has no column.
 */
export type ColumnsOf<Fields> = {
  readonly [Name in keyof Fields as [Fields[Name]] extends [undefined] ? never : Name]-?: Column<
    Record<never, never> extends Pick<Fields, Name> ? Fields[Name] | undefined : Fields[Name]
  >
}

/** Columns by the names of their fields, where their types do not matter. */
export type AnyColumns = Readonly<Record<string, Column<unknown>>>

/** A field and its column. */
export interface Field {
  readonly name: string
  /** The column's name, quoted. */
  readonly column: string
  /**
   * The name of the field's text in the results of `selected`. It must not be the name of a column, or ORDER
   * BY would sort by the text.
   */
  readonly selectedAs: string
  readonly codec: Column<unknown>
}

/**
 * The stored values of some rows, as a list for each field. A list is null if there are no rows.
 */
export type Stored = readonly (readonly StoredValue[] | null)[]

/**
 * Reads rows column by column.
 * @throws {Error} if a type cannot read a value; the message names the column
 */
export function readStored<Row>(fields: readonly Field[], stored: Stored): Row[] {
  const rows = (stored[0] ?? []).map((): Record<string, unknown> => ({}))
  for (let i = 0; i < fields.length; i++) readColumn(fields[i] as Field, stored[i] ?? [], rows)
  return rows as Row[] // `fields` has a column for each field of a row
}

function readColumn(
  { name, column, codec }: Field,
  list: readonly StoredValue[],
  rows: readonly Record<string, unknown>[],
): void {
  try {
    for (let i = 0; i < rows.length; i++) {
      const value = codec.read(list[i] ?? null)
      if (value !== undefined) (rows[i] as Record<string, unknown>)[name] = value
    }
  } catch (cause) {
    throw new Error(`column ${column} has a value that ${codec.type} does not read`, { cause })
  }
}

// Makes a column whose values are never null.
function column<Value>(
  type: string,
  name: string | undefined,
  read: (text: string) => Value,
  write: (value: Value) => string = String,
): Column<Value> {
  return {
    column: name,
    type,
    write,
    read: (stored) => {
      if (stored === null) throw new Error('it is null')
      return read(stored as string) // only integers are numbers
    },
  }
}

function integer<Value>(
  type: string,
  name: string | undefined,
  read: (digits: NonNullable<StoredValue>) => Value,
): Column<Value> {
  return { ...column(type, name, read), isInteger: true }
}

// Refuses NaN and infinity, which JSON would write as null.
function readNumber(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value)) return value
  throw new Error(`JSON has no such number: ${text.slice(0, 20)}`)
}

const same = <Value extends string>(text: string): Value => text as Value // only a `Value` was ever written

/** `smallint`: an integer of 16 bits. */
export function int2<Value extends number>(name?: string): Column<Value> {
  return integer('smallint', name, (digits) => Number(digits) as Value)
}

/** `integer`: a contract's `int32`. */
export function int4<Value extends number>(name?: string): Column<Value> {
  return integer('integer', name, (digits) => Number(digits) as Value)
}

/** `bigint`: a contract's `int64`. */
export function int8(name?: string): Column<bigint> {
  return integer('bigint', name, readInt8)
}

// Goes by way of a number where that is exact, because it is faster.
function readInt8(digits: NonNullable<StoredValue>): bigint {
  const value = Number(digits)
  return BigInt(Number.isSafeInteger(value) ? value : digits)
}

/** `real`. It keeps about 6 digits: 16777217 becomes 16777216. */
export function float4(name?: string): Column<number> {
  return column('real', name, readNumber)
}

/** `double precision`: a contract's `number`. */
export function float8(name?: string): Column<number> {
  return column('double precision', name, readNumber)
}

/** `numeric` as a string, with every digit and the scale of the column: `1.10` from a `numeric(9, 2)`. */
export function numeric(name?: string): Column<string> {
  return column('numeric', name, same)
}

/** `numeric` as a number, for a contract's `number`: about 15 digits are exact. */
export function numericAsNumber(name?: string): Column<number> {
  return column('numeric', name, readNumber)
}

/** `text`, `varchar` and other string types, also for an `enum` of the contract. */
export function text<Value extends string>(name?: string): Column<Value> {
  return column('text', name, same<Value>)
}

/** A PostgreSQL enum type. */
export function enumeration<Value extends string>(type: string, name?: string): Column<Value> {
  return column(type, name, same<Value>)
}

/** `boolean`. */
export function boolean(name?: string): Column<boolean> {
  return column('boolean', name, readBoolean)
}

/** `uuid`, in lower case. */
export function uuid(name?: string): Column<string> {
  return column('uuid', name, same)
}

/** `bytea` as bytes, for responses other than JSON. */
export function bytea(name?: string): Column<Uint8Array> {
  return column<Uint8Array>('bytea', name, readBytes, writeBytes)
}

/** `bytea` as base64, for a string with `contentEncoding: base64` or `format: byte`. */
export function base64(name?: string): Column<string> {
  return column(
    'bytea',
    name,
    (text) => readBytes(text).toString('base64'),
    (value) => writeBytes(Buffer.from(value, 'base64')),
  )
}

/** `date`: a contract's `date`. */
export function date(name?: string): Column<string> {
  return column('date', name, same)
}

/** `time` without an offset: `12:34:56`. */
export function time(name?: string): Column<string> {
  return column('time', name, same)
}

/** `time with time zone`: a contract's `time`. */
export function timetz(name?: string): Column<string> {
  return column('timetz', name, readTime)
}

/** `timestamp` without an offset: `2026-01-31T12:34:56`. */
export function timestamp(name?: string): Column<string> {
  return column('timestamp', name, readTime)
}

/** `timestamp with time zone`: a contract's `date-time`, read in UTC, to the microsecond. */
export function timestamptz(name?: string): Column<string> {
  return column('timestamptz', name, readTime)
}

/** `interval`: a contract's `duration`. */
export function interval(name?: string): Column<string> {
  return column('interval', name, readInterval)
}

/** `json`, which keeps the order of names. The value is never JSON's null; use `nullable` for SQL's. */
export function json<Value extends NonNullable<unknown>>(name?: string): Column<Value> {
  return jsonColumn('json', name)
}

/** `jsonb`, which orders names itself. The value is never JSON's null; use `nullable` for SQL's. */
export function jsonb<Value extends NonNullable<unknown>>(name?: string): Column<Value> {
  return jsonColumn('jsonb', name)
}

function jsonColumn<Value>(type: string, name: string | undefined): Column<Value> {
  return { ...column(type, name, (text) => readJson(text) as Value, writeJson), isJson: true }
}

/**
 * An array of a type, such as `arrayOf(text())`. Elements may be null only with `nullable`. In PostgreSQL, an
 * array of arrays is a matrix: its rows have one length, and are not empty.
 */
export function arrayOf<Value>(element: Column<Value>, name = element.column): Column<Value[]> {
  const areArrays = element.type.endsWith('[]')
  return column(
    `${element.type}[]`,
    name,
    (text) => readArray(text, element.read, areArrays),
    (values) => {
      if (areArrays) checkMatrix(values as readonly unknown[] as readonly (readonly unknown[])[]) // of arrays
      return writeArray(values.map(element.write), areArrays)
    },
  )
}

// PostgreSQL refuses rows of different lengths, and stores a list of empty rows as an empty list.
function checkMatrix(values: readonly (readonly unknown[])[]): void {
  const [length = 1] = values.map((each) => each.length)
  if (length > 0 && values.every((each) => each.length === length)) return
  throw new RequestError('invalid_request', 'the lists in a list must be of one length, and not empty')
}

/** For a field that may be absent. The column stores null for it. */
export function optional<Value>({ write, read, ...column }: Column<Value>): Column<Value | undefined> {
  return {
    ...column,
    write: (value) => (value === undefined ? null : write(value)),
    read: (stored) => (stored === null ? undefined : read(stored)),
  }
}

/**
 * For a field that may be null. If it may be absent, too: `nullable(optional(…))` reads a stored null as
 * null, `optional(nullable(…))` reads it as absent.
 */
export function nullable<Value>({ write, read, ...column }: Column<Value>): Column<Value | null> {
  return {
    ...column,
    write: (value) => (value === null ? null : write(value)),
    read: (stored) => (stored === null ? null : read(stored)),
  }
}
