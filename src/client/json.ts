// JSON without rounding. An int64 is always a bigint, so that its type does not depend on its value; any
// other number is a number.

import { parse, stringify } from 'lossless-json'
import { exactNumber } from '../lib/exact-number.js'
import type { ClientTable, Place, Places } from './table.js'

/** Like `JSON.stringify`, but writes a bigint as an exact number. */
export function encode(value: unknown): string {
  return stringify(value) ?? ''
}

/** Parses JSON, with a bigint wherever the schema at `place` has an int64. */
export function decode(text: string, place: Place | undefined, schemas: ClientTable['schemas']): unknown {
  return exact(decodeAny(text), place === undefined ? [] : [place], schemas)
}

/** Parses JSON, with a bigint for each integer that a number would round. */
export function decodeAny(text: string): unknown {
  // The parser does not know yet which integers are int64, so it must not lose any digit.
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

// Resolves `$ref` and `each`.
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
