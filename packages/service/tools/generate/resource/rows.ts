// Chooses the rows of a resource's test. They differ in each field, and each field orders them differently.
// So the test shows which field orders a list, which field a filter compares, and where a value comes from.

import type { ResourceField } from './fields.js'
import type { Filter, ListOrder } from './list.js'
import type { Resource } from './resource.js'
import { areOrdered, valuesOf } from './samples.js'

/** A field that a test sends. */
export interface GivenField {
  readonly field: ResourceField
  /** Distinct values, in ascending order. */
  readonly values: readonly unknown[]
  /** For each row, the index of its value; last, that of the spare row, which supplies values for changes. */
  readonly places: readonly number[]
}

export interface Rows {
  readonly fields: readonly GivenField[]
  /** The required fields for which no value is known. */
  readonly unknown: readonly ResourceField[]
  /** How many rows can be stored at the same time. */
  readonly count: number
}

// The index of each row's value, in the order of the ids. In the field of an order (`inOrder`), the last row
// shares its value with an earlier row, so that the key has to decide.
const inOrder = ['1020', '0210', '1201', '2012', '2102', '0120'].map(digits)
const others = ['1023', '0213', '2031', '1302', '3120', '2301', '0321', '3201'].map(digits)
const rowsMax = 4

function digits(text: string): readonly number[] {
  return [...text].map(Number)
}

/** Returns the rows of a resource's test. */
export function rowsOf(resource: Resource): Rows {
  const sent = resource.fields.filter((each) => each.taken !== undefined && !isOfItself(resource, each))
  const all = sent.map((field) => ({ field, values: valuesOf(resource.reader, field.schema) }))
  const known = all.filter(({ values }) => values.length > 0)
  const unique = known.filter(({ field }) => isUnique(resource, field))
  const ordered = (resource.list?.orders ?? []).map(({ fields: [first = ''] }) => first.replace(/^-/, ''))
  const fields = known.map(({ field, values }, i) => {
    const isOrder = ordered.includes(field.name) && !isUnique(resource, field)
    const [places = []] = isOrder
      ? [inOrder[ordered.indexOf(field.name) % inOrder.length]]
      : [others[i % others.length]]
    return { field, values, places: [...places, rowsMax].map((each) => each % values.length) }
  })
  return {
    fields,
    unknown: all.flatMap(({ field, values }) =>
      values.length === 0 && field.taken === 'always' ? [field] : [],
    ),
    count: Math.min(rowsMax, ...unique.map(({ values }) => values.length)),
  }
}

/** True if rows cannot share a value: the field is the key, or unique by the contract. */
export function isUnique({ key }: Resource, field: ResourceField): boolean {
  return field === key || field.unique !== undefined
}

/** True if the field refers to another row of the same table. */
export function isOfItself({ table }: Resource, { references, taken }: ResourceField): boolean {
  return references?.table === table && taken === 'sometimes'
}

/** Returns a row as a client sends it. The row after the last supplies values for changes. */
export function rowOf({ fields }: Rows, i: number): Record<string, unknown> {
  return Object.fromEntries(fields.map((each) => [each.field.name, valueIn(each, i)]))
}

/** Returns the value of a field in a row. */
export function valueIn({ values, places }: GivenField, i: number): unknown {
  return values[places[i] ?? 0]
}

/**
 * Returns the rank of each row by a field; undefined if it is not known. A field that the service sets is the
 * time or the number of the row, or the same in every row.
 */
export function placesBy(resource: Resource, rows: Rows, name: string): readonly number[] | undefined {
  const given = rows.fields.find(({ field }) => field.name === name)
  const all = Array.from({ length: rows.count }, (_, i) => i)
  if (given !== undefined) return areOrdered(given.values) ? all.map((i) => given.places[i] ?? 0) : undefined
  const field = resource.fields.find((each) => each.name === name)
  if (field === undefined || field.taken !== undefined) return undefined
  if (field === resource.key) return /^(smallint|integer|bigint)$/.test(field.type.sql) ? all : undefined
  if (field.type.initial === 'now()') return all
  return /[a-z]\(|current/.test(field.type.initial) ? undefined : all.map(() => 0)
}

/** Returns the rows in an order; undefined if it is not known. */
export function sorted(
  resource: Resource,
  rows: Rows,
  { fields }: Pick<ListOrder, 'fields'>,
): readonly number[] | undefined {
  const by = fields.map((each) => ({
    places: placesBy(resource, rows, each.replace(/^-/, '')),
    sign: each.startsWith('-') ? -1 : 1,
  }))
  if (by.some(({ places }) => places === undefined)) return undefined
  const compared = (a: number, b: number) =>
    by.map(({ places = [], sign }) => sign * ((places[a] ?? 0) - (places[b] ?? 0))).find(Boolean) ?? 0
  return Array.from({ length: rows.count }, (_, i) => i).toSorted(compared)
}

/** A filter with a value, and the rows that it finds: if values differ, some rows but not all. */
export interface Filtered {
  readonly filter: Filter
  /** For `in`, a list. Undefined if the service sets the field: the test then takes the value from `row`. */
  readonly value: unknown
  readonly row: number
  readonly found: readonly number[]
}

/** Returns what a filter finds; undefined if it is not known. */
export function filtered(resource: Resource, rows: Rows, filter: Filter): Filtered | undefined {
  const { field, operator } = filter
  const given = rows.fields.find((each) => each.field === field)
  const isEqual = operator === '=' || operator === 'in'
  const places =
    placesBy(resource, rows, field.name) ?? (isEqual ? given?.places.slice(0, rows.count) : undefined)
  if (places === undefined || (given === undefined && operator === 'in')) return undefined
  const some = [...new Set(places)].toSorted((a, b) => a - b)
  const middle = some[Math.floor((some.length - (operator === '<=' ? 1 : 0)) / 2)] ?? 0
  const wanted = operator === 'in' ? [...new Set(places.slice(0, 2))] : [middle]
  const isFound = (place: number) => {
    if (isEqual) return wanted.includes(place)
    return operator === '>=' ? place >= middle : place <= middle
  }
  const values = wanted.map((each) => given?.values[each])
  return {
    ...{ filter, value: operator === 'in' ? values : values[0], row: places.indexOf(middle) },
    found: places.flatMap((place, i) => (isFound(place) ? [i] : [])),
  }
}
