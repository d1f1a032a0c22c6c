// The statements that change one row, or delete it, found by a unique field, and if it is still as its client
// has seen it.

import { RequestError } from 'contract-engine'
import { namesTag } from 'contract-engine/lib/field-values'
import { preconditionFailed } from '../../lib/precondition-errors.js'
import type { Sql } from '../database.js'
import { inTransaction } from '../driver/transaction.js'
import { isDataException, wrongValue } from '../unavailable.js'
import { hasRewritten, type TagOf } from './entity-tag.js'
import { andWhere, type Source } from './page-statement.js'
import { canRead, type Field, readRows, selected, type Texts } from './rows.js'

/** When a row is changed. */
export interface Precondition {
  /** The request's `If-Match`: the row's entity tag must be one of those. Undefined allows any. */
  readonly ifMatch?: string | undefined
}

/**
 * What a row may be changed to, some of its fields. One that is undefined stays; null removes what may be
 * absent, as a merge patch does (RFC 7396).
 */
export type Changes<Fields> = {
  readonly [Name in keyof Fields as [Fields[Name]] extends [undefined] ? never : Name]?:
    | Fields[Name]
    | (Record<never, never> extends Pick<Fields, Name> ? null : never)
    | undefined
}

/** How a table's rows are changed. */
export interface Changing<Shown> extends Source {
  readonly tagOf: TagOf<Shown>
  /** Of a column that counts the changes: `"version" = "version" + 1`. */
  readonly counting: string | undefined
  /** What a deletion sets instead of removing the row, in SQL. */
  readonly deletion: string | undefined
}

/** Returns the function that changes the row with a value of a unique field; undefined if there is none. */
export function update<Value, Shown extends object>(
  rows: Changing<Shown>,
  key: Field,
  fields: readonly Field[],
) {
  const find = finding<Shown>(rows, key, 'no key update')
  const { change } = changing(rows, key)
  return (
    sql: Sql,
    value: Value,
    changes: object,
    condition: Precondition = {},
  ): Promise<Shown | undefined> => {
    const given = changes as Readonly<Record<string, unknown>>
    const set = fields.filter(({ name }) => given[name] !== undefined)
    const texts = set.map(({ name, codec }) => (given[name] === null ? null : codec.write(given[name])))
    const sets = set.map(({ column, codec }, i) => `${column} = $${i + 2}::text::${codec.type}`)
    const run = (sql: Sql, key: string | null) =>
      sets.length === 0 ? find(sql, key) : change(sql, key, sets, texts)
    return ifMatching({ rows, key, find, run }, sql, value, condition)
  }
}

/** Returns the function that deletes the row with a value of a unique field; undefined if there is none. */
export function remove<Value, Shown extends object>(rows: Changing<Shown>, key: Field) {
  const { deletion } = rows
  const find = finding<Shown>(rows, key, 'update')
  const { change, drop } = changing(rows, key)
  const run = (sql: Sql, key: string | null) =>
    deletion === undefined ? drop(sql, key) : change(sql, key, [deletion], [])
  return (sql: Sql, value: Value, condition: Precondition = {}): Promise<Shown | undefined> =>
    ifMatching({ rows, key, find, run }, sql, value, condition)
}

type Run<Shown> = (sql: Sql, key: string | null) => Promise<Shown | undefined>

interface Steps<Shown> {
  readonly rows: Changing<Shown>
  readonly key: Field
  /** Finds the row, and locks it until the transaction ends. */
  readonly find: Run<Shown>
  readonly run: Run<Shown>
}

// Of two changes of what is the same row, the second waits for the lock of the first, and finds another tag.
async function ifMatching<Shown>(
  { rows, key, find, run }: Steps<Shown>,
  sql: Sql,
  value: unknown,
  { ifMatch }: Precondition,
): Promise<Shown | undefined> {
  const written = key.codec.write(value)
  const checked = async (sql: Sql) => {
    const row = await find(sql, written)
    if (row === undefined) return undefined
    const tag = rows.tagOf(row)
    if (!namesTag(ifMatch ?? '*', tag, false)) throw preconditionFailed(hasRewritten(ifMatch ?? '', tag))
    return run(sql, written)
  }
  const changed = ifMatch === undefined ? run(sql, written) : inTransaction(sql, checked)
  return changed.catch(async (error) => {
    if (!isDataException(error)) throw error
    if (await canRead(sql, key.codec.type, written)) return refuseValue(error)
    return undefined // no row has such a key
  })
}

/** The contract allows more than the table stores: the request is refused, not at fault. */
export function refuseValue(cause: unknown): never {
  if (!isDataException(cause)) throw cause
  throw new RequestError('invalid_request', `body has ${wrongValue(cause)}`, { cause })
}

function finding<Shown>(rows: Source, key: Field, lock: 'update' | 'no key update'): Run<Shown> {
  const text = `select ${selected(rows.shown)} from ${rows.from} as rows ${whereKey(rows, key)} for ${lock}`
  return async (sql, value) => only(rows, await sql.unsafe<Texts[]>(text, [value]))
}

// Not prepared, because clients choose which fields they send: sessions would keep a statement for each
// choice.
function changing<Shown>(rows: Changing<Shown>, key: Field) {
  const { from, counting, shown } = rows
  const where = whereKey(rows, key)
  const returned = `returning ${selected(shown)}`
  return {
    change: async (sql: Sql, value: string | null, sets: readonly string[], texts: (string | null)[]) => {
      const all = counting === undefined ? sets : [...sets, counting]
      const text = `update ${from} as rows set ${all.join(', ')} ${where} ${returned}`
      return only<Shown>(rows, await sql.unsafe<Texts[]>(text, [value, ...texts]))
    },
    drop: async (sql: Sql, value: string | null) =>
      only<Shown>(
        rows,
        await sql.unsafe<Texts[]>(`delete from ${from} as rows ${where} ${returned}`, [value]),
      ),
  }
}

function whereKey(rows: Source, { column, codec }: Field): string {
  return `where rows.${column} = $1::text::${codec.type}${andWhere(rows)}`
}

function only<Shown>({ from, shown }: Source, found: readonly Texts[]): Shown | undefined {
  if (found.length > 1) throw new Error(`several rows of ${from} have the same key`)
  return readRows<Shown>(shown, found)[0]
}
