// The statement that reads a page: the rows after a position, in an order, for which all filters are true.

import { batched } from '../batch.js'
import type { Sql } from '../database.js'
import { prepared } from '../driver/sql.js'
import { writeJson } from '../driver/values.js'
import { inOrder, type Numbered, takeNumbers } from '../numbered.js'
import type { Field } from './columns.js'
import { type OrderedField, type Position, positionFields } from './position.js'
import { type Columns, inJson, readColumns } from './rows.js'

/** A condition on a column. */
export interface Condition {
  readonly column: string
  readonly operator: string
  /** PostgreSQL's type of the value. */
  readonly type: string
}

/** The values that select a page. */
export interface AskedPage {
  /** The text of the value of each condition. */
  readonly values: readonly (string | null)[]
  /** The texts of the position. Empty for the first page. */
  readonly after: readonly string[]
  readonly limit: number
}

/** A table, and the fields and rows of it that clients see. */
export interface Source {
  /** The table's name, quoted. */
  readonly from: string
  readonly shown: readonly Field[]
  /** Conditions, in SQL, on the rows. The service treats other rows as deleted. */
  readonly where: readonly string[]
}

/** Returns the conditions that all visible rows meet, to append to another condition. */
export function andWhere({ where }: Pick<Source, 'where'>): string {
  return where.map((each) => ` and (${each})`).join('')
}

// Smaller batches than the default, and more of them: PostgreSQL reads some pages while the service sends
// others.
const limits = { inputs: 12, inFlightMax: 3 }

/**
 * Returns a function that reads pages with one statement, whose text depends only on these arguments. The
 * function returns undefined if the position names a row that is gone.
 * @param by the form of the position; undefined for first pages
 */
export function pageStatement<Row>(
  source: Source,
  order: readonly OrderedField[],
  conditions: readonly Condition[],
  by: Position['by'] | undefined,
): (sql: Sql, page: AskedPage) => Promise<Columns<Row> | undefined> {
  const { from, shown } = source
  const { join, isKnown } = by === 'row' ? positionIn(from, order) : anywhere
  const keyset = keysetOf(order, by === 'row' ? 'position.last' : 'asked.after')
  const where = whereAndOrder(source, conditions, keyset, by !== undefined)
  const rows = selectOf(shown, `from ${from} as rows ${where}`)
  const asked = [
    ...conditions.map(({ type }, i) => `value${i} ${type}`),
    ...positionFields(order, by).map(({ codec }, i) => `after${i} ${codec.type}`),
    'page_limit integer',
    'number integer',
  ]
  const statement = `
    select asked.number, case when ${isKnown} then (${rows}) end as columns
    from json_to_recordset($1::text::json) as asked (${asked.join(', ')})${join}`
  return batched(async (sql, pages: readonly AskedPage[]) => {
    const first = takeNumbers(pages.length)
    const all = writeJson(pages.map((page, i) => recordOf(page, first + i)))
    const rows = await sql.unsafe<ReadColumns[]>(statement, [all], prepared)
    return inOrder(first, pages.length, rows).map(({ columns }) =>
      columns === null ? undefined : readColumns<Row>(shown, columns),
    )
  }, limits)
}

// A page is one JSON text, because the driver takes three times as long to decode rows. It has a list for
// each column (null if there are no rows), because PostgreSQL takes a quarter longer for a list for each row.
function selectOf(shown: readonly Field[], rows: string): string {
  return `
    select json_build_array(${shown.map((_, i) => `json_agg(shown${i})`).join(', ')})::text
    from (
      select ${shown.map((field, i) => `${inJson(field)} as shown${i}`).join(', ')}
      ${rows}
      limit asked.page_limit
    ) as page`
}

interface ReadColumns extends Numbered {
  readonly columns: string | null
}

// The names must be those of `asked` in the statement.
function recordOf({ values, after, limit }: AskedPage, number: number): object {
  const record: Record<string, unknown> = { number, page_limit: limit }
  for (let i = 0; i < values.length; i++) record[`value${i}`] = values[i]
  for (let i = 0; i < after.length; i++) record[`after${i}`] = after[i]
  return record
}

// With the values at hand, the position needs no row.
const anywhere = { join: '', isKnown: 'true' }

// Reads the values from the row before the page, also if clients no longer see that row.
function positionIn(from: string, order: readonly OrderedField[]): typeof anywhere {
  const { column } = order.at(-1) as OrderedField // an order has one
  const lasts = order.map(({ column }, i) => `${column} as last${i}`)
  const join = `
    left join lateral (
      select ${lasts.join(', ')} from ${from} as rows where rows.${column} = asked.after0 limit 1
    ) as position on true`
  return { join, isKnown: 'position.last0 is not null' }
}

// A column of the order, and the value that it is compared with.
interface Term {
  readonly column: string
  readonly value: string
  readonly isDescending: boolean
}

function whereAndOrder(
  source: Source,
  conditions: readonly Condition[],
  keyset: readonly Term[],
  hasPosition: boolean,
): string {
  const prefix = prefixOf(keyset, conditions)
  const where = [
    ...rangeOf(prefix, hasPosition ? keyset : []),
    ...conditions.flatMap(othersOf),
    ...source.where.map((each) => `(${each})`),
  ]
  const terms = [...prefix, ...keyset].map(
    ({ column, isDescending }) => column + (isDescending ? ' desc' : ''),
  )
  return `${where.length === 0 ? '' : `where ${where.join(' and ')} `}order by ${terms.join(', ')}`
}

// Puts columns that equal a value first in the order, because an index on them and the order has the page in
// one piece. The condition is a range instead of `=`: with `=`, PostgreSQL would drop these columns from the
// order, and might scan an index on the others, with all rows of other values.
function prefixOf(keyset: readonly Term[], conditions: readonly Condition[]): Term[] {
  const isDescending = keyset[0]?.isDescending === true
  return conditions.flatMap(({ column, operator }, i) =>
    operator === '=' ? [{ column: `rows.${column}`, value: `asked.value${i}`, isDescending }] : [],
  )
}

function keysetOf(order: readonly OrderedField[], valueName: string): Term[] {
  return order.map(({ column, isDescending }, i) => ({
    column: `rows.${column}`,
    value: `${valueName}${i}`,
    isDescending,
  }))
}

// Selects the rows with the values of a prefix, after a position.
function rangeOf(prefix: readonly Term[], keyset: readonly Term[]): string[] {
  const terms = [...prefix, ...keyset]
  if (prefix.length === 0) return keyset.length === 0 ? [] : [after(keyset)]
  const end = compare(prefix, '<=')
  if (keyset.length === 0) return [compare(prefix, '>='), end]
  return isAlike(terms) ? [after(terms), end] : [compare(prefix, '>='), end, after(keyset)]
}

function after(terms: readonly Term[]): string {
  if (isAlike(terms)) return compare(terms, '>')
  const [first, ...others] = terms as [Term, ...Term[]] // not empty, because a single term is alike
  const equal = `${first.column} = ${first.value}`
  return `${compare([first], '>=')} and (${compare([first], '>')} or ${equal} and ${after(others)})`
}

function isAlike([first, ...others]: readonly Term[]): boolean {
  return others.every(({ isDescending }) => isDescending === first?.isDescending)
}

// Compares in the direction that the terms share.
function compare(terms: readonly Term[], operator: '>' | '>=' | '<='): string {
  const reversed = { '>': '<', '>=': '<=', '<=': '>=' }
  const by = terms[0]?.isDescending ? reversed[operator] : operator
  return `(${terms.map(({ column }) => column).join()}) ${by} (${terms.map(({ value }) => value).join()})`
}

function othersOf({ column, operator }: Condition, i: number): string[] {
  if (operator === '=') return []
  const value = `asked.value${i}`
  return [`rows.${column} ${operator === 'in' ? `= any (${value})` : `${operator} ${value}`}`]
}
