// JSON without rounding. A number has the type that its schema says: a bigint for an int64, whatever its
// value. One that no schema describes is a number, or a bigint if a number would round it.

import { parse, stringify } from 'lossless-json'
import { decimal, exactNumber } from './exact-number.js'
import { elementsAt, kindsAt, propertiesAt } from './places.js'
import type { ClientTable, Place } from './table.js'

/** Like `JSON.stringify`, but writes a bigint as an exact number. */
export function encode(value: unknown): string {
  return stringify(value) ?? ''
}

/** Parses JSON, with each number as the schema at `place` says. */
export function decode(text: string, place: Place | undefined, schemas: ClientTable['schemas']): unknown {
  return exact(decodeAny(text), place === undefined ? [] : [place], schemas)
}

/** Parses JSON, with a bigint for each integer that a number would round. */
export function decodeAny(text: string): unknown {
  // The parser does not know yet which integers are int64, so it must not lose any digit.
  return parse(text, undefined, { parseNumber })
}

// Also of an integer such as 9007199254740993.0, if a 64-bit format could have it.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (!isBeyondDouble(value)) return value
  const { digits, exponent } = decimal(numeral)
  return exponent < 0 ? value : BigInt(digits + '0'.repeat(exponent))
}

/** Whether a value is a number of which integers of 64 bits may have been rounded. */
export function isBeyondDouble(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) < 2 ** 64
}

function exact(value: unknown, places: readonly Place[], schemas: ClientTable['schemas']): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return typed(value, kindsAt(places, schemas))
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const placesOf = elementsAt(places, schemas)
    return value.map((each, index) => exact(each, placesOf(index), schemas))
  }
  const placesOf = propertiesAt(places, schemas)
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([name, each]) => [name, exact(each, placesOf(name), schemas)]))
}

function typed(value: number | bigint, kinds: readonly ('int64' | 'number')[]): number | bigint {
  if (kinds.includes('int64')) return Number.isInteger(value) ? BigInt(value) : value
  return kinds.includes('number') ? Number(value) : value
}
