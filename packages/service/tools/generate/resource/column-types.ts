// Chooses the column of a field by its schema: PostgreSQL's type, the function of contract-service/table, and
// the value that a service would set.

import { type Node, nodeOf, type Reader } from 'contract-engine/tools'

/** The type of a column. */
export interface ColumnType {
  /** The type's name in PostgreSQL. */
  readonly sql: string
  /** The call that declares the type, without the column's name: `arrayOf(text())`. */
  readonly codec: string
  /** The functions of columns.ts that the call uses. */
  readonly functions: readonly string[]
  /** The initial value where the service sets the field. */
  readonly initial: string
  /** True if rows can be ordered and found by the column. */
  readonly isScalar: boolean
}

function plain(sql: string, codec: string, initial: string): ColumnType {
  return { sql, codec: `${codec}()`, functions: [codec], initial, isScalar: true }
}

const integers: Readonly<Record<string, ColumnType>> = {
  int8: plain('smallint', 'int2', '0'),
  int16: plain('smallint', 'int2', '0'),
  uint8: plain('smallint', 'int2', '0'),
  int64: plain('bigint', 'int8', '0'),
  uint32: plain('numeric', 'numericAsNumber', '0'),
}

const strings: Readonly<Record<string, ColumnType>> = {
  date: plain('date', 'date', 'current_date'),
  'date-time': plain('timestamptz', 'timestamptz', 'now()'),
  time: plain('timetz', 'timetz', 'current_time'),
  duration: plain('interval', 'interval', `'0'`),
  uuid: plain('uuid', 'uuid', 'gen_random_uuid()'),
  decimal: plain('numeric', 'numeric', '0'),
  byte: plain('bytea', 'base64', `''`),
}

/** The type of strings. */
export const textType = plain('text', 'text', `''`)
const jsonb: ColumnType = { ...plain('jsonb', 'jsonb', `'{}'`), isScalar: false }

/** Returns the type of the column that stores a field: JSON, if the field needs no more specific type. */
export function columnTypeOf(reader: Reader, given: unknown): ColumnType {
  const schema = withoutNull(reader, given)
  const types = [schema.type].flat().filter((each) => each !== undefined && each !== 'null')
  const [type] = types.length === 1 ? types : [typeOfValues(schema)]
  const format = String(schema.format)
  if (type === 'integer') return integers[format] ?? plain('integer', 'int4', '0')
  if (type === 'number') return plain('double precision', 'float8', '0')
  if (type === 'boolean') return plain('boolean', 'boolean', 'false')
  if (type === 'string' && schema.contentEncoding === 'base64') return strings.byte ?? textType
  if (type === 'string') return schema.enum === undefined ? (strings[format] ?? textType) : textType
  if (type === 'array') return arrayTypeOf(reader, schema.items)
  return jsonb
}

/**
 * True if values of a schema have the type of a field as the compiler sees it. Strings of all formats are the
 * same type; an enum is a different one.
 */
export function isLike(
  reader: Reader,
  given: unknown,
  { type, schema }: { readonly type: ColumnType; readonly schema: Node },
): boolean {
  const isListed = (each: Node) => each.enum !== undefined
  if (isListed(schema) && !isListed(reader.node(given))) return false
  return kindOf(columnTypeOf(reader, given)) === kindOf(type)
}

function kindOf({ sql, codec, isScalar }: ColumnType): string {
  if (sql === 'bigint' || sql === 'boolean' || !isScalar) return sql
  return /^(int\d|float|numericAs)/.test(codec) ? 'number' : 'string'
}

// Returns A for `anyOf: [A, { type: "null" }]`.
function withoutNull(reader: Reader, given: unknown): Node {
  const schema = reader.node(given)
  const choices = [schema.anyOf, schema.oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  const others = choices.map((each) => reader.node(each)).filter(({ type }) => type !== 'null')
  return choices.length > 0 && others.length === 1 ? nodeOf(others[0]) : schema
}

function typeOfValues({ enum: values, const: only }: Node): string | undefined {
  const all = Array.isArray(values) ? values : [only]
  return all.every((each) => typeof each === 'string') ? 'string' : undefined
}

// PostgreSQL's arrays of arrays are matrices, so a list of lists is stored as JSON.
function arrayTypeOf(reader: Reader, items: unknown): ColumnType {
  const element = columnTypeOf(reader, items)
  const isNullable = [reader.node(items).type].flat().includes('null')
  if (!element.isScalar || isNullable || items === undefined) return { ...jsonb, initial: `'[]'` }
  return {
    sql: `${element.sql}[]`,
    codec: `arrayOf(${element.codec})`,
    functions: ['arrayOf', ...element.functions],
    initial: `'{}'`,
    isScalar: false,
  }
}
