// Finds the field whose value PostgreSQL refuses, although the contract allows it. PostgreSQL's error names
// no column, so the service asks it again, value by value.

import { refusedValue } from 'contract-engine'
import type { Sql } from '../database.js'
import { isDataException, wrongValue } from '../unavailable.js'
import type { Field } from './columns.js'
import { identifier } from './rows.js'

/** A row of a request, and the texts of its fields. */
export interface GivenRow {
  readonly value: object
  readonly texts: readonly (string | null)[]
}

/**
 * Throws the error for the rows of a failed statement: the request is wrong, not the service.
 * @param from the table's name, quoted
 * @param fields the fields of the texts
 * @throws {RequestError} `invalid_request`, which names the field; or the cause, if it is no data exception
 */
export async function refuseRows(
  sql: Sql,
  from: string,
  fields: readonly Field[],
  rows: readonly GivenRow[],
  cause: unknown,
): Promise<never> {
  if (!isDataException(cause)) throw cause
  const stored = await storedTypes(sql, from)
  const faultIn = (some: readonly Field[], texts: GivenRow['texts']) => faultOf(sql, some, texts, stored)
  for (const { value, texts } of rows) {
    if ((await faultIn(fields, texts)) === undefined) continue
    for (const [i, field] of fields.entries()) {
      const fault = await faultIn([field], texts.slice(i, i + 1))
      if (fault !== undefined) throw refusedValue(value, [field.name], `has ${wrongValue(fault)}`, cause)
    }
  }
  throw refusedValue(rows[0]?.value ?? {}, [], `has ${wrongValue(cause)}`, cause)
}

/** The type of a column in the database. */
interface StoredType {
  readonly column: string
  readonly type: string
  /** The maximum length of a text in characters. Needed, because an explicit cast cuts a longer text. */
  readonly lengthMax: number | null
}

// Returns an empty map in an aborted transaction.
async function storedTypes(sql: Sql, from: string): Promise<ReadonlyMap<string, StoredType>> {
  const found = sql<StoredType[]>`
    select attname::text as column, format_type(atttypid, atttypmod) as type,
      case when atttypid in ('varchar'::regtype, 'bpchar'::regtype) and atttypmod > 0 then atttypmod - 4 end
        as "lengthMax"
    from pg_attribute
    where attrelid = ${from}::text::regclass and attnum > 0 and not attisdropped`
  const types = await found.catch(() => [])
  return new Map(types.map((each) => [identifier(each.column), each]))
}

// Returns PostgreSQL's data exception for these values, if it throws one.
async function faultOf(
  sql: Sql,
  fields: readonly Field[],
  texts: GivenRow['texts'],
  stored: ReadonlyMap<string, StoredType>,
): Promise<unknown> {
  const types = fields.map(({ column }) => stored.get(column))
  if (types.some((each, i) => isTooLong(texts[i], each?.lengthMax))) return tooLong
  const values = fields.map(({ codec }, i) => {
    const type = types[i]?.type
    return `$${i + 1}::text::${codec.type}${type === undefined ? '' : `::${type}`}`
  })
  try {
    await sql.unsafe(`select num_nulls(${values.join(', ')})`, [...texts])
    return undefined
  } catch (error) {
    return isDataException(error) ? error : undefined
  }
}

const tooLong = { code: '22001' }

// Ignores blanks at the end, which PostgreSQL cuts when it stores the text.
function isTooLong(text: string | null | undefined, max: number | null | undefined): boolean {
  if (typeof text !== 'string' || typeof max !== 'number') return false
  return [...text].slice(max).some((each) => each !== ' ')
}
