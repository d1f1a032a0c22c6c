// JSON without rounding. Each number has the type that its schema says: an int64 is always a bigint. A number
// that no schema describes is a bigint only if a number would round it.

import { parse, stringify } from 'lossless-json'
import { decimal, exactNumber } from './exact-number.js'
import { elementsAt, kindsAt, propertiesAt } from './places.js'
import type { ClientTable, Place } from './table.js'

/** Like `JSON.stringify`, but writes a bigint as an exact number. */
export function encode(value: unknown): string {
  return stringify(value) ?? ''
}

/** Parses JSON, and gives each number the type that the schema at `place` says. */
export function decode(text: string, place: Place | undefined, schemas: ClientTable['schemas']): unknown {
  return exact(decodeAny(text), place === undefined ? [] : [place], schemas)
}

/** Parses JSON: an integer that a number would round becomes a bigint. */
export function decodeAny(text: string): unknown {
  // The parser does not know yet which integers are int64, so it must keep all digits.
  return parse(text, undefined, { parseNumber })
}

// Also returns a bigint for an integer such as 9007199254740993.0, if it is in the range of a 64-bit format.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (!isBeyondDouble(value)) return value
  const { digits, exponent } = decimal(numeral)
  return exponent < 0 ? value : BigInt(digits + '0'.repeat(exponent))
}

/** True if a value is a number that may have been rounded from an integer of 64 bits. */
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
