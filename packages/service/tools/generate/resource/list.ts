// Finds out how a resource is listed: its filters and orders, by the parameters of the operation.

import type { Operation } from 'contract-engine'
import type { Reader } from 'contract-engine/tools'
import { isLike, textType } from './column-types.js'
import type { ResourceField } from './fields.js'
import { setsHeader } from './operations.js'

/** A filter of a list. */
export interface Filter {
  readonly parameter: string
  readonly field: ResourceField
  readonly operator: '=' | '>=' | '<=' | 'in'
}

/** An order of a list: its fields, with `-` for descending. */
export interface ListOrder {
  readonly name: string
  readonly fields: readonly string[]
}

export interface ListParts {
  readonly filters: readonly Filter[]
  /** The orders that the order parameter names, or the only order. */
  readonly orders: readonly ListOrder[]
  readonly orderParameter: string | undefined
  /** True if the contract has no default for `limit`. */
  readonly needsLimit: boolean
  /** The maximum number of rows that a client may request in a page. */
  readonly limitMax: number
  /** The reason why no handler is proposed for the list; undefined if one is. */
  readonly reason: string | undefined
}

const orderNames = ['order', 'sort', 'orderBy', 'sortBy', 'order_by', 'sort_by']

/** Reads the filters and orders of a list from its operation. */
export function listParts(
  reader: Reader,
  operation: Operation,
  fields: readonly ResourceField[],
  key: ResourceField,
): ListParts {
  const query = operation.parameters.filter((each) => each.in === 'query')
  const named = query.find(({ name, schema }) => orderNames.includes(name) && Array.isArray(schema.enum))
  const values = named === undefined ? [key.name] : (named.schema.enum as unknown[]).map(String)
  const orders = values.map((name) => ({ name, fields: orderBy(name, fields, key) }))
  const own = ['limit', 'after', named?.name]
  const filters: Filter[] = []
  const reasons = [
    ...(query.every(({ name }) => name !== 'limit') ? ['it has no parameter limit'] : []),
    ...orders.flatMap((order) => misfitOrder(order, fields)),
  ]
  for (const { name, schema } of query.filter((each) => !own.includes(each.name))) {
    const filter = filterOf(reader, name, schema, fields)
    if (filter === undefined) reasons.push(`its parameter ${name} is no field of the resource`)
    else if (!isLike(reader, filter.operator === 'in' ? reader.node(schema).items : schema, filter.field))
      reasons.push(`its parameter ${name} has another type than the field`)
    else filters.push(filter)
  }
  const after = query.find(({ name }) => name === 'after')
  const position = named === undefined ? key : { type: textType, schema: {} }
  if (setsHeader(operation, 'Link') && after === undefined)
    reasons.push('it has a Link, and no parameter after')
  if (after !== undefined && !isLike(reader, after.schema, position))
    reasons.push(`its parameter after must be ${named === undefined ? `as ${key.name} is` : 'a string'}`)
  const limit = query.find(({ name }) => name === 'limit')
  return {
    ...{ filters, orders, orderParameter: named?.name, reason: reasons[0] },
    needsLimit: limit !== undefined && !limit.required && !limit.hasDefault,
    limitMax: Number(limit?.schema.maximum ?? 100),
  }
}

// Adds the key to an order whose field is not unique, so that each row has a unique position.
function orderBy(name: string, fields: readonly ResourceField[], key: ResourceField): string[] {
  const first = fields.find((each) => each.name === name.replace(/^-/, ''))
  if (first === key || first?.unique !== undefined) return [name]
  return [name, name.startsWith('-') ? `-${key.name}` : key.name]
}

function misfitOrder({ name, fields: [first = ''] }: ListOrder, fields: readonly ResourceField[]): string[] {
  const field = fields.find((each) => each.name === first.replace(/^-/, ''))
  const isFit = field?.type.isScalar && field.shown === 'always' && !field.isNullable
  return isFit ? [] : [`its order ${name} is no required field of the resource, nor one with - before it`]
}

// `From`, `Min` and the like, after the name of a field or before it.
const bounds = [
  ['>=', 'From', 'Min', 'Since', 'Gte'],
  ['<=', 'To', 'Max', 'Until', 'Lte'],
] as const

function filterOf(
  reader: Reader,
  parameter: string,
  given: unknown,
  fields: readonly ResourceField[],
): Filter | undefined {
  const isList = reader.node(given).type === 'array'
  const plain = simplified(parameter)
  const same = fields.find(({ name }) => name === parameter)
  const oneOf = fields.find(({ name }) => name === parameter || `${name}s` === parameter)
  if (isList) return oneOf?.type.isScalar ? { parameter, field: oneOf, operator: 'in' } : undefined
  if (same !== undefined) return same.type.isScalar ? { parameter, field: same, operator: '=' } : undefined
  for (const [operator, ...words] of bounds)
    for (const word of words.map(simplified)) {
      const field = fields.find(({ name }) =>
        [
          simplified(name) + word,
          word + simplified(name),
          simplified(name).replace(/at$/, '') + word,
        ].includes(plain),
      )
      if (field?.type.isScalar) return { parameter, field, operator }
    }
  return undefined
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '')
}
