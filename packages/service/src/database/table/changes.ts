// The statements that change or delete one row, found by a unique field. With `If-Match`, they compare the
// entity tag while the row is locked: of two clients that change what both have read, the second gets an
// error instead of undoing the first one's change.

import { namesTag } from 'contract-engine/lib/field-values'
import { preconditionFailed } from '../../lib/precondition-errors.js'
import type { Sql } from '../database.js'
import { inTransaction } from '../driver/transaction.js'
import { isDataException } from '../unavailable.js'
import type { Field } from './columns.js'
import { hasRewritten, type TagOf } from './entity-tag.js'
import { isObject, mergedJson, refusedField } from './merge.js'
import { andWhere, type Source } from './page-statement.js'
import { refuseRows } from './refused-rows.js'
import { canRead, readRows, selected, type Texts, writeField } from './rows.js'

/** The condition for changing a row. */
export interface Precondition {
  /** The request's `If-Match`, which must name the row's entity tag. Undefined allows any row. */
  readonly ifMatch?: string | undefined
}

/**
 * Changes to some fields of a row, as a merge patch states them (RFC 7396). An undefined field keeps its
 * value; null removes the value of an optional field. An object for a column of JSON is merged with the
 * stored one, to any depth, and null removes a name in it. The contract's response decides whether the result
 * is valid.
 */
export type Changes<Fields> = {
  readonly [Name in keyof Fields as [Fields[Name]] extends [undefined] ? never : Name]?:
    | Patch<Fields[Name]>
    | (Record<never, never> extends Pick<Fields, Name> ? null : never)
    | undefined
}

type Given = Readonly<Record<string, unknown>>

// A list or bytes replace the stored value. Objects are merged.
type Patch<Value> = Value extends readonly unknown[] | Uint8Array
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]?: Patch<Value[Name]> | null | undefined }
    : Value

/** The parts of a table that a change needs. */
export interface Changing<Shown> extends Source {
  readonly tagOf: TagOf<Shown>
  /** The assignment that counts the changes of a row: `"version" = "version" + 1`. */
  readonly counting: string | undefined
  /** The assignment, in SQL, that a deletion makes instead of removing the row. */
  readonly deletion: string | undefined
}

/**
 * Returns a function that changes the row with a value of a unique field. It returns undefined without one.
 */
export function update<Value, Shown extends object>(
  rows: Changing<Shown>,
  key: Field,
  fields: readonly Field[],
) {
  const lock = locking<Shown>(rows, key, 'no key update', fields.filter(isJson))
  const { change } = changing(rows, key)
  return async (
    sql: Sql,
    value: Value,
    changes: object,
    condition: Precondition = {},
  ): Promise<Shown | undefined> => {
    const given = changes as Given
    const set = fields.filter(({ name }) => given[name] !== undefined)
    for (const field of set)
      if (given[field.name] === null && !mayBeNull(field)) throw refusedField(field.name, 'must not be null')
    const sets = set.map(({ column, codec }, i) => `${column} = $${i + 2}::text::${codec.type}`)
    const written = (stored?: Texts) => set.map((field) => writtenChange(field, given, stored))
    const texts = written() // for a merge, as if nothing were stored
    const run: Run<Shown> = (sql, key, locked) =>
      change(sql, key, sets, isMerging ? written(locked?.texts) : texts)
    const unchanged: Run<Shown> = async (sql, key, locked) => (locked ?? (await lock(sql, key)))?.row
    const isMerging = set.some((field) => isJson(field) && isObject(given[field.name]))
    const refuse = (cause: unknown) => refuseRows(sql, rows.from, set, [{ value: changes, texts }], cause)
    const steps = { rows, key, lock, run: set.length === 0 ? unchanged : run, refuse, isMerging }
    return found(steps, sql, value, condition)
  }
}

/**
 * Returns a function that deletes the row with a value of a unique field. It returns undefined without one.
 */
export function remove<Value, Shown extends object>(rows: Changing<Shown>, key: Field) {
  const { deletion } = rows
  const lock = locking<Shown>(rows, key, 'update')
  const { change, drop } = changing(rows, key)
  const run: Run<Shown> = (sql, key) =>
    deletion === undefined ? drop(sql, key) : change(sql, key, [deletion], [])
  return (sql: Sql, value: Value, condition: Precondition = {}): Promise<Shown | undefined> =>
    found({ rows, key, lock, run, refuse: throwIt, isMerging: false }, sql, value, condition)
}

function isJson({ codec }: Field): boolean {
  return codec.isJson === true
}

// True if the column reads null.
function mayBeNull({ codec }: Field): boolean {
  try {
    codec.read(null)
    return true
  } catch {
    return false
  }
}

// `writeField` runs before the merge, so that it refuses a text that PostgreSQL cannot store.
function writtenChange(field: Field, given: Given, stored: Texts = {}): string | null {
  const { name, selectedAs } = field
  if (given[name] === null) return null
  const text = writeField(field, given)
  if (!isJson(field) || !isObject(given[name])) return text
  return mergedJson(name, stored[selectedAs] ?? null, given[name])
}

/** A row that is locked until the transaction ends. */
interface Locked<Shown> {
  readonly row: Shown
  /** The stored texts of its columns, including those that the row does not show. */
  readonly texts: Texts
}

type Run<Shown> = (sql: Sql, key: string | null, locked?: Locked<Shown>) => Promise<Shown | undefined>

interface Steps<Shown> {
  readonly rows: Changing<Shown>
  readonly key: Field
  readonly lock: (sql: Sql, key: string | null) => Promise<Locked<Shown> | undefined>
  readonly run: Run<Shown>
  /** Translates a data exception that the key has not caused. */
  readonly refuse: (cause: unknown) => Promise<never>
  /** True if the new value depends on the stored one. */
  readonly isMerging: boolean
}

async function throwIt(error: unknown): Promise<never> {
  throw error
}

// If two requests change the same row, the second waits for the lock of the first. It then compares the new
// tag, and merges with the value that the first has stored.
async function found<Shown>(
  { rows, key, lock, run, refuse, isMerging }: Steps<Shown>,
  sql: Sql,
  value: unknown,
  { ifMatch }: Precondition,
): Promise<Shown | undefined> {
  const written = key.codec.write(value)
  const checked = async (sql: Sql) => {
    const locked = await lock(sql, written)
    if (locked === undefined) return undefined
    const tag = rows.tagOf(locked.row)
    if (!namesTag(ifMatch ?? '*', tag, false)) throw preconditionFailed(hasRewritten(ifMatch ?? '', tag))
    return run(sql, written, locked)
  }
  const isAtOnce = ifMatch === undefined && !isMerging
  const changed = isAtOnce ? run(sql, written) : inTransaction(sql, checked)
  return changed.catch(async (error) => {
    if (!isDataException(error)) throw error
    if (await canRead(sql, key.codec.type, written)) return refuse(error)
    return undefined // no row has such a key
  })
}

function locking<Shown>(
  rows: Source,
  key: Field,
  lock: 'update' | 'no key update',
  others: readonly Field[] = [],
): Steps<Shown>['lock'] {
  const fields = [...rows.shown, ...others.filter((each) => !rows.shown.includes(each))]
  const text = `select ${selected(fields)} from ${rows.from} as rows ${whereKey(rows, key)} for ${lock}`
  return async (sql, value) => {
    const texts = await sql.unsafe<Texts[]>(text, [value])
    const row = only<Shown>(rows, texts)
    return row === undefined ? undefined : { row, texts: texts[0] ?? {} }
  }
}

// Not prepared, because clients choose the fields that they send: sessions would keep a statement for each
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
