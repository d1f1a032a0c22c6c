// JSON without rounding. An int64 is a bigint however small it is, so that its type does not depend on its value; any
// other number is a number.

import { parse, stringify } from 'lossless-json'
import { exactNumber } from '../lib/exact-number.js'
import type { ClientTable, Place, Places } from './table.js'

/** The text of a value; a bigint is written digit by digit. */
export function encode(value: unknown): string {
  return stringify(value) ?? ''
}

/** The value of a JSON text, with a bigint in each of the places. */
export function decode(text: string, place: Place | undefined, schemas: ClientTable['schemas']): unknown {
  return exact(decodeAny(text), place === undefined ? [] : [place], schemas)
}

/** The value of a JSON text, with a bigint for each integer that a number would round. */
export function decodeAny(text: string): unknown {
  // Which are int64 only their place tells, and the parser does not know it yet: no digit may be lost until then.
  return parse(text, undefined, { parseNumber: exactNumber })
}

function exact(value: unknown, places: readonly Place[], schemas: ClientTable['schemas']): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return integer(value, places, schemas)
  if (typeof value !== 'object' || value === null) return value
  const further = resolved(places, schemas).filter((place) => typeof place === 'object')
  if (Array.isArray(value)) {
    return value.map((each, index) => exact(each, elementPlaces(further, index), schemas))
  }
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, each]) => [name, exact(each, propertyPlaces(further, name), schemas)]),
  )
}

function integer(value: number | bigint, places: readonly Place[], schemas: ClientTable['schemas']) {
  const isInt64 = resolved(places, schemas).includes('int64')
  if (!isInt64) return Number(value)
  return typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value) : value
}

// Without `$ref` and `each`.
function resolved(places: readonly Place[], schemas: ClientTable['schemas']): Place[] {
  return places.flatMap((place) => {
    if (place === 'int64') return [place]
    if (typeof place === 'string') return resolved([schemas[place] ?? {}], schemas)
    return place.each === undefined ? [place] : [place, ...resolved(place.each, schemas)]
  })
}

function propertyPlaces(places: readonly Places[], name: string): Place[] {
  return places.flatMap(({ properties, additional }) => {
    const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : additional
    return own ?? []
  })
}

function elementPlaces(places: readonly Places[], index: number): Place[] {
  return places.flatMap(({ prefix = [], items }) => (index < prefix.length ? prefix[index] : items) ?? [])
}
