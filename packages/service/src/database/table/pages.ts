// Pages of a table by keyset pagination: a page begins after the last row of the page before, so pages cost
// the same at any depth.

import { RequestError } from 'contract-engine'
import type { Sql } from '../database.js'
import { isDataException, wrongValue } from '../unavailable.js'
import { arrayOf, type Column, type Field } from './columns.js'
import { type Condition, pageStatement, type Source } from './page-statement.js'
import { type OrderedField, type Position, positionFields, readPosition, writePosition } from './position.js'
import { type Columns, canRead } from './rows.js'

/** The operator between a field and a filter. `in` takes a list. */
export type Operator = '=' | '<' | '<=' | '>' | '>=' | 'like' | 'ilike' | '@>' | '&&' | 'in'

/** The filters of a list by name: a field that must equal the value, or a field with an operator. */
export type AnyFilters = Readonly<Record<string, string | readonly [field: string, operator: Operator]>>

// TypeScript infers any declaration, then compares it with this type: so a wrong name gives one message,
// where it stands, and none in the handlers.
type Filterable<Fields> = NameOf<Fields> | readonly [field: NameOf<Fields>, operator: Operator]

type CheckedFilters<Fields, Filters> = {
  readonly [Name in keyof Filters]: Filters[Name] extends Filterable<Fields>
    ? Filters[Name]
    : Filterable<Fields>
}

type NameOf<Fields> = keyof Fields & string

/** The fields with a single value that is never absent or null. */
export type Scalar<Shown> = {
  [Name in NameOf<Shown>]: Shown[Name] extends string | number | bigint | boolean ? Name : never
}[NameOf<Shown>]

/** A field of an order, with `-` for descending. */
export type Ordered<Shown> = Scalar<Shown> | `-${Scalar<Shown>}`

/** The fields of an order. The last must be unique. */
export type Order<Shown> = readonly [Ordered<Shown>, ...Ordered<Shown>[]]

/** One order, or several by name. */
export type Orders<Shown> = Order<Shown> | Readonly<Record<string, Order<Shown>>>

export interface PagesOptions<Fields, Orders, Filters, By> {
  /**
   * The order of the rows, or several. A request chooses with its parameter `order`; the first is the
   * default.
   */
  readonly order: Orders
  /**
   * Filters on fields that rows show or that only new rows take. A filter that a request does not set has no
   * effect.
   */
  readonly filters?: CheckedFilters<Fields, Filters>
  /** A condition on all rows of the list, in SQL: a constant, never from a request. */
  readonly where?: string
  /**
   * The content of `next`. By default it has the values of all fields of the order, so clients can page while
   * rows are changed and deleted. With `row` it has the value of the last field alone, as in earlier
   * releases, and its row must still exist. The service accepts both.
   */
  readonly position?: By
}

type LastOf<Order> = Order extends readonly [...unknown[], infer Last]
  ? Last extends `-${infer Name}`
    ? Name
    : Last
  : never

type LastName<Orders> = LastOf<Orders extends readonly unknown[] ? Orders : Orders[keyof Orders]>

/** The value of the last field of an order. */
type LastValue<Shown, Orders> = Shown[LastName<Orders> & keyof Shown]

/** The type of `next`: the field's value for an order by one field, otherwise a text. */
export type PositionOf<Shown, Orders, By> = By extends 'row'
  ? LastValue<Shown, Orders>
  : Orders extends readonly [unknown]
    ? LastValue<Shown, Orders>
    : string

type NamesOf<Orders> = Orders extends readonly unknown[] ? never : keyof Orders

/** A client's request for a page. The names are those of the contract's parameters. */
export type PageRequest<Fields, Position, Filters extends AnyFilters, Names = never> = {
  readonly limit: number
  /** `next` of the page before; undefined for the first page. */
  readonly after?: Position | undefined
  /** The name of an order, if the list has several. */
  readonly order?: Names | undefined
} & { readonly [Name in keyof Filters]?: FilterValue<Fields, Filters[Name]> | undefined }

// Further conditions on the type of a request. The compiler prints their texts. A parameter of the contract
// that the list does not know would filter nothing; a link whose position does not fit `after` would be
// refused.
type Fitting<Request, Filters, Next> = [UnknownNames<Request, Filters>] extends [never]
  ? Request extends { readonly after?: infer After }
    ? [Next] extends [After]
      ? unknown
      : 'a page of this order begins after a string'
    : unknown
  : `the list has no filter ${UnknownNames<Request, Filters>}`

type UnknownNames<Request, Filters> = Exclude<keyof Request, keyof Filters | 'limit' | 'after' | 'order'> &
  string

type FilterValue<Fields, Filter> = Filter extends readonly [infer Name, infer By]
  ? By extends 'in'
    ? readonly FieldValue<Fields, Name>[]
    : FieldValue<Fields, Name>
  : FieldValue<Fields, Filter>

type FieldValue<Fields, Name> = Name extends keyof Fields ? NonNullable<Fields[Name]> : unknown

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
 * Creates a function that lists a table's rows page by page.
 * @param fieldOf finds a field of the table by its name
 * @throws {RequestError} when the function is called: `invalid_request` for a value that PostgreSQL cannot
 * read, and for an `after` that is no position in this order
 */
export function createPages<
  Shown extends object,
  Fields,
  const Declared extends Orders<Shown>,
  Filters extends AnyFilters,
  By extends Position['by'],
>(source: Source, fieldOf: (name: string) => Field, options: PagesOptions<Fields, Declared, Filters, By>) {
  type Next = PositionOf<Shown, Declared, By>
  type After = Next | LastValue<Shown, Declared>
  const filters = Object.entries(options.filters ?? {}).map(([name, by]) => filterOf(name, by, fieldOf))
  const { where, position } = options
  const listed = where === undefined ? source : { ...source, where: [...source.where, where] }
  const lists = ordersOf(options.order, fieldOf).map(([name, order]) => {
    const isText = position !== 'row' && (name !== undefined || order.length > 1)
    return [name, createList<Shown>(listed, order, filters, isText)] as const
  })
  const byName = new Map(lists)
  const [[, first]] = lists as [(typeof lists)[number]] // the type of `order` requires one

  return async <Request extends PageRequest<Fields, After, Filters, NamesOf<Declared>>>(
    sql: Sql,
    request: Request & Fitting<Request, Filters, Next>,
  ): Promise<Page<Shown, Next>> => {
    const { limit, after, order } = request
    const values = filters.map(({ name, write }) => writtenOrNull(request[name], write))
    const list = order === undefined ? first : byName.get(order as string)
    if (list === undefined) throw new Error(`the list has no order ${order}`) // the contract allows more
    return list(sql, values, after, limit) as Promise<Page<Shown, Next>> // made by the same options
  }
}

// A single order has the name undefined.
function ordersOf(
  declared: readonly string[] | Readonly<Record<string, readonly string[]>>,
  fieldOf: (name: string) => Field,
): [name: string | undefined, order: OrderedField[]][] {
  const orderOf = (names: readonly string[]) => names.map((name) => orderedBy(name, fieldOf))
  if (isOne(declared)) return [[undefined, orderOf(declared)]]
  return Object.entries(declared).map(([name, names]) => [name, orderOf(names)])
}

function isOne(declared: readonly string[] | object): declared is readonly string[] {
  return Array.isArray(declared)
}

// The pages in one order.
function createList<Shown>(
  source: Source,
  order: readonly OrderedField[],
  filters: readonly Filter[],
  isText: boolean,
) {
  const last = order.at(-1) as OrderedField // an order has one
  const places = order.map(({ name }) => source.shown.findIndex((field) => field.name === name))
  const select = selector<Shown>(source, order, filters)
  const nextOf = ({ rows, stored }: Columns<Shown>, i: number): unknown => {
    if (!isText) return rows[i]?.[last.name as keyof Shown]
    return writePosition(
      order,
      places.map((place) => String(stored[place]?.[i])),
    )
  }

  return async (
    sql: Sql,
    values: readonly (string | null)[],
    after: unknown,
    limit: number,
  ): Promise<Page<Shown, unknown>> => {
    // One more than `limit`, to know whether there is a next page.
    const found = await select(sql, { values, limit: limit + 1 }, positionAt(order, after, isText))
    if (found === undefined) throw notOfAPage(order)
    if (found.rows.length <= limit) return { items: found.rows, next: undefined }
    return { items: found.rows.slice(0, limit), next: nextOf(found, limit - 1) }
  }
}

// A text that is no position of the order is taken for the value of its last field, as in links of earlier
// releases.
function positionAt(order: readonly OrderedField[], after: unknown, isText: boolean): Position | undefined {
  if (after === undefined) return undefined
  const isLink = (isText || order.length > 1) && typeof after === 'string'
  const read = isLink ? readPosition(order, after) : undefined
  if (read !== undefined) return read
  const text = order.at(-1)?.codec.write(after) ?? ''
  return { by: order.length === 1 ? 'values' : 'row', texts: [text] }
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

// The text of the statement depends on the filters that are set and on the form of the position.
function selector<Shown>(source: Source, order: readonly OrderedField[], filters: readonly Filter[]) {
  const statements = new Map<string, ReturnType<typeof pageStatement<Shown>>>()
  return (sql: Sql, asked: Asked, position: Position | undefined): Promise<Columns<Shown> | undefined> => {
    const set = filters.filter((_, i) => asked.values[i] !== null)
    const kind = [position?.by, ...set.map(({ name }) => name)].join()
    let read = statements.get(kind)
    if (read === undefined) {
      read = pageStatement(source, order, set, position?.by)
      statements.set(kind, read)
    }
    const values = asked.values.filter((text) => text !== null)
    const after = position?.texts ?? []
    return read(sql, { limit: asked.limit, values, after }).catch(async (error) => {
      if (!isDataException(error)) throw error
      const types = positionFields(order, position?.by).map(({ codec }) => codec.type)
      if (!(await canReadAll(sql, types, after))) return undefined
      for (const [i, { name, type }] of set.entries())
        if (!(await canRead(sql, type, values[i] ?? null))) throw wrongQuery(name, error)
      throw error // a stored row is at fault
    })
  }
}

interface Asked {
  readonly values: readonly (string | null)[]
  readonly limit: number
}

// One after the other, because in a transaction they share a connection.
async function canReadAll(sql: Sql, types: readonly string[], texts: readonly string[]): Promise<boolean> {
  for (const [i, type] of types.entries()) if (!(await canRead(sql, type, texts[i] ?? null))) return false
  return true
}

function wrongQuery(name: string, cause: unknown): RequestError {
  return new RequestError('invalid_request', `query.${name} has ${wrongValue(cause)}`, { cause })
}

function notOfAPage(order: readonly OrderedField[]): RequestError {
  const isAlone = order.length === 1
  const expected = isAlone
    ? `the ${order[0]?.name} of an item of the list`
    : 'of a link to a page in this order'
  return new RequestError('invalid_request', `query.after must be ${expected}`)
}
