// A table, declared once. It builds the statements that insert, find and list rows, which simultaneous calls
// share, and those that change or delete one row. For everything else there is plain SQL.

import { batched } from '../batch.js'
import type { Sql } from '../database.js'
import { prepared } from '../driver/sql.js'
import { writeArray, writeJson } from '../driver/values.js'
import { inOrder, type Numbered, takeNumbers } from '../numbered.js'
import { isDataException } from '../unavailable.js'
import { type Changes, type Changing, type Precondition, remove, update } from './changes.js'
import type { AnyColumns, ColumnsOf, Field } from './columns.js'
import { entityTags } from './entity-tag.js'
import { andWhere, type Source } from './page-statement.js'
import { type AnyFilters, createPages, type Orders, type PagesOptions, type Scalar } from './pages.js'
import { refuseRows } from './refused-rows.js'
import {
  canRead,
  fieldsOf,
  identifier,
  inJson,
  readRow,
  readRows,
  selected,
  type Texts,
  writeRow,
} from './rows.js'

/**
 * The columns of a table, in two lists. Each list has exactly the fields of its type, so a row never shows
 * more than the contract says, whatever the table stores.
 */
export interface Declaration<Shown, Taken> {
  /** The fields that clients see, in the order of the JSON. */
  readonly shows: ShownColumns<Shown, Taken>
  /** The fields that clients send for a new row. */
  readonly takes: ColumnsOf<Taken>
  /** A condition, in SQL, such as `deleted_at is null`. The functions of this table ignore all other rows. */
  readonly where?: string
  /** The assignment, in SQL, that a deletion makes instead of removing the row: `deleted_at = now()`. */
  readonly deletion?: string
  /**
   * The field that counts the changes of a row, and is its entity tag. Without it, the entity tag is a digest
   * of all fields that the row shows.
   */
  readonly version?: Counter<Shown>
}

type Counter<Shown> = {
  [Name in Scalar<Shown>]: Shown[Name] extends number | bigint ? Name : never
}[Scalar<Shown>]

// Keeps a field that is taken and not shown out of `shows`, also in a spread. The compiler prints the text.
type ShownColumns<Shown, Taken> = {
  readonly [Name in Exclude<keyof Taken, keyof Shown>]?: 'a row does not show this field'
} & ColumnsOf<Shown>

// The fields for filters and changes: those that rows show, and those that only new rows take.
type Stored<Shown, Taken> = Shown & Omit<Taken, keyof Shown>

// Refuses a field that the table does not know: it would change nothing. The compiler prints the text.
type KnownChanges<Given, Fields> = [Exclude<keyof Given, keyof Fields>] extends [never]
  ? unknown
  : `the table has no field ${Exclude<keyof Given, keyof Fields> & string}`

/**
 * Declares a table. Its rows show the fields of `Shown`; a new row takes those of `Taken`.
 * @param name the name of the table, with its schema if that is not the default: `shop.pets`
 */
export function table<Shown extends object, Taken extends object>(
  name: string,
  { shows, takes, where, deletion, version }: Declaration<Shown, Taken>,
) {
  const shown = fieldsOf(shows as AnyColumns)
  const taken = fieldsOf(takes as AnyColumns)
  const from = name.split('.').map(identifier).join('.')
  const source = { from, shown, where: where === undefined ? [] : [where] }
  const fields = new Map([...taken, ...shown].map((field) => [field.name, field]))
  const fieldOf = (name: string) => fields.get(name) as Field // its type allows no other
  const tagOf = entityTags<Shown>(shown, version)
  const counted = version === undefined ? undefined : fieldOf(version).column
  const counting = counted && `${counted} = rows.${counted} + 1`
  const changeable = [...fields.values()].filter((field) => field.name !== version) // which counts by itself
  const changing: Changing<Shown> = { ...source, tagOf, counting, deletion }
  return {
    name,
    shows,
    takes,
    /**
     * Stores a row, and returns it as stored.
     * @throws {RequestError} `invalid_request` for a value that its column cannot store
     */
    insert: batched<Taken, Shown>(insertion(source, taken)),
    /** Returns a function that finds a row by the value of a unique field. */
    findBy<Name extends Scalar<Shown>>(name: Name) {
      return batched<Shown[Name], Shown | undefined>(search(source, fieldOf(name)))
    },
    /** Returns a function that lists the rows page by page. */
    pages<
      const Declared extends Orders<Shown>,
      const Filters extends AnyFilters = Record<never, never>,
      By extends 'values' | 'row' = 'values',
    >(options: PagesOptions<Stored<Shown, Taken>, Declared, Filters, By>) {
      return createPages<Shown, Stored<Shown, Taken>, Declared, Filters, By>(source, fieldOf, options)
    },
    /**
     * Returns a function that finds a row by the value of a unique field, and changes some of its fields as a
     * merge patch does (RFC 7396). It returns the row as stored, or undefined if there is none.
     * @throws {RequestError} when the function is called: `precondition_failed` if `ifMatch` does not name
     * the row's entity tag, `invalid_request` for null in a required field or a value that its column cannot
     * store
     */
    updateBy<Name extends Scalar<Shown>>(name: Name) {
      const run = update<Shown[Name], Shown>(changing, fieldOf(name), changeable)
      type Fields = Changes<Stored<Shown, Taken>>
      return <Given extends Fields>(
        sql: Sql,
        value: Shown[Name],
        changes: Given & KnownChanges<Given, Stored<Shown, Taken>>,
        condition?: Precondition,
      ): Promise<Shown | undefined> => run(sql, value, changes, condition)
    },
    /**
     * Returns a function that finds a row by the value of a unique field, and deletes it. It returns the
     * deleted row, or undefined if there is none.
     * @throws {RequestError} when the function is called, as that of `updateBy`
     */
    deleteBy<Name extends Scalar<Shown>>(name: Name) {
      return remove<Shown[Name], Shown>(changing, fieldOf(name))
    },
    /** Returns the entity tag of a row, for the header `ETag`. */
    etag: tagOf,
    /** The select or return list of your own statement, for `read`: `returning ${pets.shown(sql)}`. */
    shown: (sql: Sql) => sql.unsafe(selected(shown)),
    /** The condition `where`, for your own statement on the table `as rows`. */
    isThere: (sql: Sql) => sql.unsafe(where === undefined ? 'true' : `(${where})`),
    /** Reads the rows of a statement that selects or returns `shown`. */
    read: (rows: readonly object[]) => readRows<Shown>(shown, rows as readonly Texts[]),
  }
}

function insertion<Taken extends object, Shown>({ from, shown }: Source, taken: readonly Field[]) {
  const columns = listed(taken, ({ column }) => column)
  const values = listed(taken, ({ name, codec }) => `${identifier(name)}::${codec.type}`)
  const texts = listed(taken, ({ name }) => `${identifier(name)} text`)
  // RETURNING cannot name the number of a given row, so all rows return the statement's number. PostgreSQL
  // inserts and returns row by row, in order.
  const statement = `
    insert into ${from} (${columns})
    select ${values} from json_to_recordset($1::text::json) as given (${texts})
    returning $2::integer as number, ${selected(shown)}`
  return async (sql: Sql, rows: readonly Taken[]): Promise<Shown[]> => {
    const given = rows.map((row) => writeRow(taken, row as Readonly<Record<string, unknown>>))
    try {
      const json = writeJson(given)
      const number = takeNumbers(1)
      const stored = await sql.unsafe<(Texts & Numbered)[]>(statement, [json, number], prepared)
      return readRows(shown, inOrder(number, rows.length, stored, 0))
    } catch (error) {
      const textsOf = (i: number) => taken.map(({ name }) => given[i]?.[name] ?? null)
      const all = rows.map((value, i) => ({ value, texts: textsOf(i) }))
      return refuseRows(sql, from, taken, all, error)
    }
  }
}

function search<Value, Shown>(source: Source, { column, codec }: Field) {
  const { from, shown } = source
  // LIMIT makes PostgreSQL find each row by the index, instead of reading the table for a join.
  const statement = `
    select ($2::integer + asked.ordinal - 1)::integer as number, (
      select json_build_array(${listed(shown, inJson)})::text
      from ${from} as rows
      where rows.${column} = asked.value${andWhere(source)}
      limit 1
    ) as json
    from unnest($1::${codec.type}[]) with ordinality as asked (value, ordinal)`
  return async (sql: Sql, asked: readonly Value[]): Promise<(Shown | undefined)[]> => {
    const values = writeArray(asked.map(codec.write))
    const first = takeNumbers(asked.length)
    const found = await sql.unsafe<FoundRow[]>(statement, [values, first], prepared).catch(async (error) => {
      const [value] = asked
      const isAlone = asked.length === 1 && isDataException(error)
      if (!isAlone || (await canRead(sql, codec.type, codec.write(value as Value)))) throw error
      return [{ number: first, json: null }] // no row has such a value
    })
    return inOrder(first, asked.length, found).map(({ json }) =>
      json === null ? undefined : readRow<Shown>(shown, json),
    )
  }
}

interface FoundRow extends Numbered {
  readonly json: string | null
}

function listed(fields: readonly Field[], write: (field: Field) => string): string {
  return fields.map(write).join(', ')
}
