// Pages of a table by keyset pagination: a page begins after the position of the last row of the one before,
// and costs the same at any depth.

import { RequestError } from '../../openapi/index.js'
import type { Sql } from '../database.js'
import { isDataException } from '../unavailable.js'
import { arrayOf, type Column } from './columns.js'
import { readCursor, writeCursor } from './cursor.js'
import {
  type AskedPage,
  type Condition,
  type OrderedField,
  pageStatement,
  type Source,
} from './page-statement.js'
import type { Field } from './rows.js'

/** Compares a field with a filter. `in` takes a list. */
export type Operator = '=' | '<' | '<=' | '>' | '>=' | 'like' | 'ilike' | '@>' | '&&' | 'in'

/** The filters of a list, by their names: the field that equals it, or a field with an operator. */
export type FiltersOf<Fields> = Readonly<
  Record<string, NameOf<Fields> | readonly [field: NameOf<Fields>, operator: Operator]>
>

type NameOf<Fields> = keyof Fields & string

/** The fields that are one value, never absent or null. */
export type Scalar<Shown> = {
  [Name in NameOf<Shown>]: Shown[Name] extends string | number | bigint | boolean ? Name : never
}[NameOf<Shown>]

export interface PagesOptions<Shown, Filters> {
  /** The fields that rows are in the order of, `-` for descending. Together they must be unique. */
  readonly order: readonly (Scalar<Shown> | `-${Scalar<Shown>}`)[]
  /** Fields of the rows, or those that only a new row takes. One that is not set filters nothing. */
  readonly filters?: Filters
}

/** A page that a client asks for. The names are those of the contract's parameters. */
export type PageRequest<Fields, Filters extends FiltersOf<Fields>> = {
  readonly limit: number
  /** From the page before; undefined for the first. */
  readonly cursor?: string | undefined
} & { readonly [Name in keyof Filters]?: FilterValue<Fields, Filters[Name]> | undefined }

// A parameter of the contract that the list does not know would filter nothing. The compiler prints the text.
type Known<Request, Filters> = {
  readonly [Name in Exclude<keyof Request, keyof Filters | 'limit' | 'cursor'>]: 'the list has no such filter'
}

type FilterValue<Fields, Filter> =
  Filter extends NameOf<Fields>
    ? NonNullable<Fields[Filter]>
    : Filter extends readonly [infer Name extends NameOf<Fields>, infer By]
      ? By extends 'in'
        ? readonly NonNullable<Fields[Name]>[]
        : NonNullable<Fields[Name]>
      : never

export interface Page<Shown> {
  readonly items: Shown[]
  /** The cursor of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

// A condition on a column, with the name of its filter.
interface Filter extends Condition {
  readonly name: string
  readonly write: (value: unknown) => string | null
}

/**
 * Creates the function that lists a table's rows page by page.
 * @param fieldOf finds a field of the table by its name
 * @throws {RequestError} when it is called: `invalid_request` for a cursor that it has not written, or that
 * it has written for other filters
 */
export function createPages<Shown extends object, Fields, Filters extends FiltersOf<Fields>>(
  source: Source,
  fieldOf: (name: string) => Field,
  options: PagesOptions<Shown, Filters>,
) {
  const order = options.order.map((name) => orderedBy(name, fieldOf))
  const filters = Object.entries(options.filters ?? {}).map(([name, by]) => filterOf(name, by, fieldOf))
  const select = selector<Shown>(source, order, filters)

  return async <Request extends PageRequest<Fields, Filters>>(
    sql: Sql,
    request: Request & Known<Request, Filters>,
  ): Promise<Page<Shown>> => {
    const { limit, cursor } = request
    const values = filters.map(({ name, write }) => textOf(request[name], write))
    const last = cursor === undefined ? undefined : readLast(cursor, values, filters, order)
    // One more than `limit`, to know whether there is a next page.
    const rows = await select(sql, { values, last, limit: limit + 1 })
    if (rows.length <= limit) return { items: rows, next: undefined }
    const items = rows.slice(0, limit)
    return { items, next: writeCursor({ filters: values, last: positionOf(items.at(-1), order) }) }
  }
}

function orderedBy(name: string, fieldOf: (name: string) => Field): OrderedField {
  const isDescending = name.startsWith('-')
  return { ...fieldOf(isDescending ? name.slice(1) : name), isDescending }
}

function filterOf(
  name: string,
  by: string | readonly [field: string, operator: Operator],
  fieldOf: (name: string) => Field,
): Filter {
  const [field, operator] = typeof by === 'string' ? [by, '=' as const] : by
  const { column, codec } = fieldOf(field)
  const { type, write } = operator === 'in' ? (arrayOf(codec) as Column<unknown>) : codec
  return { name, column, operator, type, write }
}

function textOf(value: unknown, write: Filter['write']): string | null {
  return value === undefined ? null : write(value)
}

// The statement depends on which filters are set, and whether there is a position.
function selector<Shown>(source: Source, order: readonly OrderedField[], filters: readonly Filter[]) {
  const statements = new Map<string, ReturnType<typeof pageStatement<Shown>>>()
  return (sql: Sql, page: AskedPage): Promise<Shown[]> => {
    const set = filters.filter((_, i) => page.values[i] !== null)
    const kind = [page.last !== undefined, ...set.map(({ name }) => name)].join()
    let read = statements.get(kind)
    if (read === undefined) {
      read = pageStatement(source, order, set, page.last !== undefined)
      statements.set(kind, read)
    }
    const values = page.values.filter((text) => text !== null)
    return read(sql, { ...page, values }).catch((error) => {
      throw page.last !== undefined && isDataException(error) ? notFromLink() : error
    })
  }
}

function readLast(
  cursor: string,
  values: readonly (string | null)[],
  filters: readonly Filter[],
  order: readonly OrderedField[],
): readonly string[] {
  const position = readCursor(cursor)
  if (position?.filters.length !== filters.length || !isPosition(position.last, order)) throw notFromLink()
  if (position.filters.some((text, i) => text !== values[i])) throw ofOtherFilters(filters)
  return position.last
}

// Whether the texts are those of values. What only PostgreSQL knows, such as a date that there is not, it
// says itself.
function isPosition(last: readonly string[], order: readonly OrderedField[]): boolean {
  try {
    return (
      last.length === order.length &&
      order.every(({ codec }, i) => codec.write(codec.read(last[i] as string)) === last[i])
    )
  } catch {
    return false
  }
}

function positionOf(row: object | undefined, order: readonly OrderedField[]): string[] {
  const values = row as Record<string, unknown>
  return order.map(({ name, codec }) => String(codec.write(values[name])))
}

function notFromLink(): RequestError {
  return new RequestError('invalid_request', 'query.cursor must come from a "next" link')
}

function ofOtherFilters(filters: readonly Filter[]): RequestError {
  const names = filters.map(({ name }) => name)
  const which = names.length === 1 ? `${names[0]} filter` : `filters ${names.join(', ')}`
  return new RequestError(
    'invalid_request',
    `query.cursor must be used with the ${which} of the list it comes from`,
  )
}
