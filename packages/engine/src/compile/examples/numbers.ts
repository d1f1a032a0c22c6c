// Finds numbers by the keywords of a schema's parts. It calculates in decimal, so 64-bit integers and
// fractions are exact.

import type { Node } from '../../document/reader.js'
import {
  decimal,
  integerRange,
  integerRanges,
  isKeptByDouble,
  isMultipleOf,
  narrowed,
} from '../../lib/exact-number.js'
import { bounds } from '../../runtime/exact-numbers.js'

type Numeric = number | bigint

function numbersOf(parts: readonly Node[], keyword: string): Numeric[] {
  return parts.flatMap(({ [keyword]: value }) =>
    typeof value === 'number' || typeof value === 'bigint' ? [value] : [],
  )
}

/** True if a number is within the bounds of all parts, and a multiple of each `multipleOf`. */
export function fitsNumber(value: Numeric, parts: readonly Node[]): boolean {
  const fits = (keyword: string, isFit: (bound: Numeric) => boolean) => numbersOf(parts, keyword).every(isFit)
  return (
    fits('minimum', (bound) => value >= bound) &&
    fits('maximum', (bound) => value <= bound) &&
    fits('exclusiveMinimum', (bound) => value > bound) &&
    fits('exclusiveMaximum', (bound) => value < bound) &&
    fits('multipleOf', (step) => isMultipleOf(step)(value)) &&
    parts.every(({ format }) => isInRange(value, String(format)))
  )
}

function isInRange(value: Numeric, format: string): boolean {
  const range = integerRanges[format]
  return range === undefined || (value >= range[0] && value <= range[1])
}

/**
 * Returns a number that fits; undefined if there is none.
 * @param turn makes the numbers of a list differ
 */
export function numberBy(parts: readonly Node[], isInteger: boolean, turn: number): Numeric | undefined {
  const scale = scaleOf(parts)
  const one = 10n ** BigInt(scale)
  const [low, high] = boundsOf(parts, scale)
  for (const unit of unitsOf(parts, isInteger, scale)) {
    const value = pointOf({ low, high, unit, one }, turn)
    const number = value === undefined ? undefined : written(value, scale, isInteger)
    if (number !== undefined) return number
  }
  return undefined
}

// One decimal place more than any keyword has: for the number next to an exclusive bound.
function scaleOf(parts: readonly Node[]): number {
  const all = bounds.flatMap((name) => numbersOf(parts, name))
  return 1 + Math.max(0, ...all.map((each) => -decimal(String(each)).exponent))
}

function scaled(value: Numeric, scale: number): bigint {
  const { digits, exponent } = decimal(String(value))
  return BigInt(digits) * 10n ** BigInt(exponent + scale)
}

// Undefined for a bound that is not set.
type Bounds = readonly [low: bigint | undefined, high: bigint | undefined]

function boundsOf(parts: readonly Node[], scale: number): Bounds {
  const of = (keyword: string) => numbersOf(parts, keyword).map((each) => scaled(each, scale))
  // Each part of type `integer` has the range of its own format, or that of safe integers.
  const ranges = parts
    .filter(({ type }) => [type].flat().includes('integer'))
    .map(({ format }) => integerRange(format))
  const lows = [
    ...of('minimum'),
    ...of('exclusiveMinimum').map((each) => each + 1n),
    ...ranges.map(([least]) => scaled(least, scale)),
  ]
  const highs = [
    ...of('maximum'),
    ...of('exclusiveMaximum').map((each) => each - 1n),
    ...ranges.map(([, most]) => scaled(most, scale)),
  ]
  return [extreme(lows, (a, b) => a > b), extreme(highs, (a, b) => a < b)]
}

function extreme(all: readonly bigint[], isMore: (a: bigint, b: bigint) => boolean): bigint | undefined {
  return all.reduce<bigint | undefined>(
    (most, each) => (most === undefined || isMore(each, most) ? each : most),
    undefined,
  )
}

// Returns steps to try: the least common multiple of all that are declared. If none is, whole numbers come
// before fractions, and then round numbers, for values so large that a double keeps no others.
function unitsOf(parts: readonly Node[], isInteger: boolean, scale: number): readonly bigint[] {
  const one = 10n ** BigInt(scale)
  const steps = numbersOf(parts, 'multipleOf').map((each) => scaled(each, scale))
  const declared = [...steps, ...(isInteger ? [one] : [])].filter((each) => each > 0n)
  if (declared.length > 0) return [declared.reduce(leastMultiple)]
  return [one, one / 2n, 1n, ...[4n, 8n, 12n, 16n, 20n].map((zeros) => one * 10n ** zeros)]
}

function leastMultiple(a: bigint, b: bigint): bigint {
  return (a / greatestDivisor(a, b)) * b
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b)
}

interface Points {
  readonly low: bigint | undefined
  readonly high: bigint | undefined
  readonly unit: bigint
  readonly one: bigint
}

// Counts upwards from 1, or from the fitting number next to 1; then downwards.
function pointOf({ low, high, unit, one }: Points, turn: number): bigint | undefined {
  const first = low === undefined ? undefined : upTo(low, unit)
  const last = high === undefined ? undefined : -upTo(-high, unit)
  if (first !== undefined && last !== undefined && first > last) return undefined
  const preferred = upTo(one, unit)
  const start = first !== undefined && preferred < first ? first : preferred
  const from = last !== undefined && start > last ? last : start
  const up = from + unit * BigInt(turn)
  if (last === undefined || up <= last) return up
  const above = (last - from) / unit
  const down = from - unit * (BigInt(turn) - above)
  return first === undefined || down >= first ? down : from
}

// Returns the least multiple of the unit that is not below a value.
function upTo(value: bigint, unit: bigint): bigint {
  const rest = value % unit
  if (rest === 0n) return value
  return rest > 0n ? value - rest + unit : value - rest
}

// Returns undefined for a fraction that a double would round.
function written(value: bigint, scale: number, isInteger: boolean): Numeric | undefined {
  if (isInteger) return narrowed(value / 10n ** BigInt(scale))
  const sign = value < 0n ? '-' : ''
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const numeral = `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return isKeptByDouble(numeral) ? Number(numeral) : undefined
}
