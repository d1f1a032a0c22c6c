// Pages of a table by keyset pagination: a page begins after the last row of the one before, and costs the
// same at any depth.

import { RequestError } from 'contract-engine'
import type { Sql } from '../database.js'
import { isDataException, wrongValue } from '../unavailable.js'
import { arrayOf, type Column } from './columns.js'
import {
  type AskedPage,
  type Condition,
  type OrderedField,
  pageStatement,
  type Source,
} from './page-statement.js'
import { canRead, type Field } from './rows.js'

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

/** A field that rows are in the order of, `-` for descending. */
export type Ordered<Shown> = Scalar<Shown> | `-${Scalar<Shown>}`

export interface PagesOptions<Order, Filters> {
  /** The fields that rows are in the order of. The last is unique: a page begins after its value. */
  readonly order: Order
  /** Fields of the rows, or those that only a new row takes. One that is not set filters nothing. */
  readonly filters?: Filters
}

/** The type of the field that a page begins after. */
export type PositionOf<Shown, Order> = Order extends readonly [...unknown[], infer Last]
  ? Last extends keyof Shown
    ? Shown[Last]
    : Last extends `-${infer Name extends keyof Shown & string}`
      ? Shown[Name]
      : never
  : never

/** A page that a client asks for. The names are those of the contract's parameters. */
export type PageRequest<Fields, Position, Filters extends FiltersOf<Fields>> = {
  readonly limit: number
  /** Of the last row of the page before; undefined for the first page. */
  readonly after?: Position | undefined
} & { readonly [Name in keyof Filters]?: FilterValue<Fields, Filters[Name]> | undefined }

// A parameter of the contract that the list does not know would filter nothing. The compiler prints the text.
type Known<Request, Filters> = {
  readonly [Name in Exclude<keyof Request, keyof Filters | 'limit' | 'after'>]: 'the list has no such filter'
}

type FilterValue<Fields, Filter> =
  Filter extends NameOf<Fields>
    ? NonNullable<Fields[Filter]>
    : Filter extends readonly [infer Name extends NameOf<Fields>, infer By]
      ? By extends 'in'
        ? readonly NonNullable<Fields[Name]>[]
        : NonNullable<Fields[Name]>
      : never

export interface Page<Shown, Position> {
  readonly items: Shown[]
  /** `after` of the next page; undefined if this is the last. */
  readonly next: Position | undefined
}

// A condition on a column, with the name of its filter.
interface Filter extends Condition {
  readonly name: string
  readonly write: (value: unknown) => string | null
}

/**
 * Creates the function that lists a table's rows page by page.
 * @param fieldOf finds a field of the table by its name
 * @throws {RequestError} when it is called: `invalid_request` for a value that PostgreSQL cannot read, or, in
 * an order by several fields, an `after` that no row has
 */
export function createPages<
  Shown extends object,
  Fields,
  const Order extends readonly Ordered<Shown>[],
  Filters extends FiltersOf<Fields>,
>(source: Source, fieldOf: (name: string) => Field, options: PagesOptions<Order, Filters>) {
  type Position = PositionOf<Shown, Order>
  const order = options.order.map((name) => orderedBy(name, fieldOf))
  const filters = Object.entries(options.filters ?? {}).map(([name, by]) => filterOf(name, by, fieldOf))
  const position = order.at(-1) as OrderedField // an order has one
  const select = selector<Shown>(source, order, filters)

  return async <Request extends PageRequest<Fields, Position, Filters>>(
    sql: Sql,
    request: Request & Known<Request, Filters>,
  ): Promise<Page<Shown, Position>> => {
    const { limit } = request
    const values = filters.map(({ name, write }) => writtenOrNull(request[name], write))
    const after = writtenOrNull(request.after, position.codec.write)
    // One more than `limit`, to know whether there is a next page.
    const rows = await select(sql, { values, after, limit: limit + 1 })
    if (rows === undefined) throw notOfARow(position)
    if (rows.length <= limit) return { items: rows, next: undefined }
    const items = rows.slice(0, limit)
    return { items, next: items.at(-1)?.[position.name as keyof Shown] as Position }
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

function writtenOrNull(value: unknown, write: Column<unknown>['write']): string | null {
  return value === undefined ? null : write(value)
}

// The statement depends on which filters are set, and whether there is a position.
function selector<Shown>(source: Source, order: readonly OrderedField[], filters: readonly Filter[]) {
  const statements = new Map<string, ReturnType<typeof pageStatement<Shown>>>()
  const { codec: position } = order.at(-1) as OrderedField // an order has one
  return (sql: Sql, page: AskedPage): Promise<Shown[] | undefined> => {
    const set = filters.filter((_, i) => page.values[i] !== null)
    const kind = [page.after !== null, ...set.map(({ name }) => name)].join()
    let read = statements.get(kind)
    if (read === undefined) {
      read = pageStatement(source, order, set, page.after !== null)
      statements.set(kind, read)
    }
    const values = page.values.filter((text) => text !== null)
    return read(sql, { ...page, values }).catch(async (error) => {
      if (!isDataException(error)) throw error
      if (!(await canRead(sql, position.type, page.after))) return undefined
      for (const [i, { type }] of set.entries())
        if (!(await canRead(sql, type, values[i] as string))) throw wrongQuery(error) // each has a text
      throw error // a row's
    })
  }
}

function wrongQuery(cause: unknown): RequestError {
  return new RequestError('invalid_request', `query has ${wrongValue(cause)}`, { cause })
}

function notOfARow({ name }: OrderedField): RequestError {
  return new RequestError('invalid_request', `query.after must be the ${name} of an item of the list`)
}
