// The statement of a page: rows in an order, after a position, of which filters are true.

import { batched } from '../batch.js'
import type { Sql } from '../database.js'
import { prepared } from '../driver/sql.js'
import { inOrder, type Numbered, takeNumbers } from '../numbered.js'
import { type Field, inJson, readColumns } from './rows.js'

/** A field that rows are in the order of. */
export interface OrderedField extends Field {
  readonly isDescending: boolean
}

/** A condition on a column. */
export interface Condition {
  readonly column: string
  readonly operator: string
  /** PostgreSQL's type of the value. */
  readonly type: string
}

/** What a page is asked by. */
export interface AskedPage {
  /** The text of each condition's value. */
  readonly values: readonly (string | null)[]
  /** The text of the order's last field in the row before the page; null for the first page. */
  readonly after: string | null
  readonly limit: number
}

/** The table, and what a page shows of it. */
export interface Source {
  /** The table's name, quoted. */
  readonly from: string
  readonly shown: readonly Field[]
}

// Smaller batches than the default, and more of them: some pages are read while others are sent.
const limits = { inputs: 12, inFlightMax: 3 }

/**
 * Returns the function that reads pages by one statement, whose text depends only on these arguments. It
 * returns undefined if no row is at the position that it needs to know.
 */
export function pageStatement<Row>(
  { from, shown }: Source,
  order: readonly OrderedField[],
  conditions: readonly Condition[],
  hasPosition: boolean,
): (sql: Sql, page: AskedPage) => Promise<Row[] | undefined> {
  const { join, isKnown } = hasPosition ? positionIn(from, order) : anywhere
  const rows = selectOf(shown, `from ${from} as rows ${whereAndOrder(order, conditions, hasPosition)}`)
  const asked = [
    ...conditions.map(({ type }, i) => `value${i} ${type}`),
    ...(hasPosition ? [`after ${order.at(-1)?.codec.type}`] : []),
    'page_limit integer',
    'number integer',
  ]
  const statement = `
    select asked.number, case when ${isKnown} then (${rows}) end as columns
    from json_to_recordset($1::text::json) as asked (${asked.join(', ')})${join}`
  return batched(async (sql, pages: readonly AskedPage[]) => {
    const first = takeNumbers(pages.length)
    const all = JSON.stringify(pages.map((page, i) => recordOf(page, first + i)))
    const rows = await sql.unsafe<ReadColumns[]>(statement, [all], prepared)
    return inOrder(first, pages.length, rows).map(({ columns }) =>
      columns === null ? undefined : readColumns<Row>(shown, columns),
    )
  }, limits)
}

// A page is one JSON text: decoding rows takes the driver three times as long. It has a list for each column
// (null, if there are no rows), because a list for each row takes PostgreSQL a quarter longer.
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

// The names are those that the statement gives to what is asked.
function recordOf({ values, after, limit }: AskedPage, number: number): object {
  const record: Record<string, unknown> = { number, page_limit: limit, after }
  for (let i = 0; i < values.length; i++) record[`value${i}`] = values[i]
  return record
}

// What a statement needs to know the order's values in the row before the page. In an order by one field,
// that is its value, and the row may be gone.
const anywhere = { join: '', isKnown: 'true' }

function positionIn(from: string, order: readonly OrderedField[]): typeof anywhere {
  const { column } = order.at(-1) as OrderedField // an order has one
  if (order.length === 1) return anywhere
  const lasts = order.map(({ column }, i) => `${column} as last${i}`)
  const join = `
    left join lateral (
      select ${lasts.join(', ')} from ${from} as rows where rows.${column} = asked.after limit 1
    ) as position on true`
  return { join, isKnown: 'position.last0 is not null' }
}

// A column that rows are in the order of, and the value it is compared with.
interface Term {
  readonly column: string
  readonly value: string
  readonly isDescending: boolean
}

function whereAndOrder(
  order: readonly OrderedField[],
  conditions: readonly Condition[],
  hasPosition: boolean,
): string {
  const prefix = prefixOf(order, conditions)
  const keyset = keysetOf(order)
  const where = [...rangeOf(prefix, hasPosition ? keyset : []), ...conditions.flatMap(othersOf)]
  const terms = [...prefix, ...keyset].map(
    ({ column, isDescending }) => column + (isDescending ? ' desc' : ''),
  )
  return `${where.length === 0 ? '' : `where ${where.join(' and ')} `}order by ${terms.join(', ')}`
}

// Columns that equal a value come first: an index on them and the order has the page in one piece. They are a
// range, because PostgreSQL would know of `=` that it needs no order by them, and may scan an index on the
// others with all rows of other values.
function prefixOf(order: readonly OrderedField[], conditions: readonly Condition[]): Term[] {
  const isDescending = order[0]?.isDescending === true
  return conditions.flatMap(({ column, operator }, i) =>
    operator === '=' ? [{ column: `rows.${column}`, value: `asked.value${i}`, isDescending }] : [],
  )
}

function keysetOf(order: readonly OrderedField[]): Term[] {
  return order.map(({ column, isDescending }, i) => ({
    column: `rows.${column}`,
    value: order.length === 1 ? 'asked.after' : `position.last${i}`,
    isDescending,
  }))
}

// The rows with the values of a prefix, after a position.
function rangeOf(prefix: readonly Term[], keyset: readonly Term[]): string[] {
  const terms = [...prefix, ...keyset]
  if (prefix.length === 0) return keyset.length === 0 ? [] : [after(keyset)]
  const end = compare(prefix, '<=')
  if (keyset.length === 0) return [compare(prefix, '>='), end]
  return isAlike(terms) ? [after(terms), end] : [compare(prefix, '>='), end, after(keyset)]
}

function after(terms: readonly Term[]): string {
  if (isAlike(terms)) return compare(terms, '>')
  const [first, ...others] = terms as [Term, ...Term[]] // one alone is alike
  const equal = `${first.column} = ${first.value}`
  return `${compare([first], '>=')} and (${compare([first], '>')} or ${equal} and ${after(others)})`
}

function isAlike([first, ...others]: readonly Term[]): boolean {
  return others.every(({ isDescending }) => isDescending === first?.isDescending)
}

// In the direction of the terms, which are alike.
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
