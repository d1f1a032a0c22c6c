// Converts PostgreSQL's values to and from JavaScript, in the forms that the contract uses.

import { decimal, exactNumber } from 'contract-engine/lib/exact-number'
import { parse, stringify } from 'lossless-json'
import postgres from 'postgres'
import { UnstorableText } from '../unavailable.js'

// PostgreSQL's array types, by OID.
const arrays = [
  ...arraysOf(String, 1009, 1015, 1014, 2951, 1231), // text, varchar, char, uuid, numeric
  ...arraysOf(BigInt, 1016), // int8
  ...arraysOf(Number, 1005, 1007, 1021, 1022), // int2, int4, float4, float8
  ...arraysOf(readBoolean, 1000), // bool
  ...arraysOf(readTime, 1182, 1115, 1185, 1270), // date, timestamp, timestamptz, timetz
  ...arraysOf(readInterval, 1187), // interval
]

/**
 * PostgreSQL's types as this service reads and writes them. Each `serialize` returns its own output
 * unchanged, because postgres.js 3.4.9 serializes parameters in place, and again when it repeats a statement
 * whose plan is outdated. Its own types would then turn `true` into false, and bytes into others.
 *
 * int8 is a bigint. Dates, times and intervals are strings in the contract's formats `date`, `date-time`,
 * `time` and `duration` (RFC 3339), to the microsecond. JSON integers beyond 2^53 are bigints.
 * One-dimensional arrays are arrays.
 */
export const valueTypes = {
  bigint: postgres.BigInt,
  boolean: { to: 16, from: [16], serialize: writeBoolean, parse: readBoolean },
  bytea: { to: 17, from: [17], serialize: writeBytes, parse: readBytes },
  date: { to: 1184, from: [1082, 1114, 1184, 1266], serialize: writeTime, parse: readTime },
  interval: { to: 1186, from: [1186], serialize: String, parse: readInterval },
  json: { to: 114, from: [114, 3802], serialize: writeJson, parse: readJson },
  ...Object.fromEntries(arrays.map((type) => [`array${type.to}`, type])),
}

function arraysOf(readElement: (text: string) => unknown, ...oids: number[]) {
  return oids.map((oid) => ({
    to: oid,
    from: [oid],
    serialize: writeAnyArray,
    parse: (text: string) =>
      /^(?:\[[^\]]*\]=)?\{(?!\{)/.test(text)
        ? readArray(text, (element) => (element === null ? null : readElement(element)))
        : text,
  }))
}

/**
 * Converts a date or time to the form of RFC 3339. With `DateStyle` ISO, PostgreSQL writes a space for the T,
 * and an offset of whole hours without minutes. A `timestamp` has no offset, and gets none. PostgreSQL turns
 * a leap second of a `timetz` into 24:00:00, which RFC 3339 lacks: in UTC it becomes 23:59:60 again,
 * elsewhere 00:00:00. A `timetz` whose offset has seconds, which RFC 3339 lacks, too, is converted to UTC.
 */
export function readTime(text: string): string {
  return text
    .replace(' ', 'T')
    .replace(/^24:00:00(?=\+00$)/, '23:59:60')
    .replace(/^24:00:00(?=[+-])/, '00:00:00')
    .replace(/^(\d\d:\d\d:\d\d)(.*)([+-]\d\d:\d\d:\d\d)$/, inUtc)
    .replace(/(:.*)[+-]00$/, '$1Z')
    .replace(/(:.*[+-]\d\d)$/, '$1:00')
}

function inUtc(_: string, time: string, fraction: string, offset: string): string {
  const secondsOf = (text: string) => Date.parse(`1970-01-01T${text.slice(-8)}Z`) / 1000
  const before = secondsOf(offset) * (offset.startsWith('-') ? -1 : 1)
  const seconds = secondsOf(time) - before + 86_400 // not negative
  return `${new Date(seconds * 1000).toISOString().slice(11, 19)}${fraction}+00`
}

/**
 * Converts a duration to the form of RFC 3339, appendix A, which skips no unit. With `IntervalStyle`
 * iso_8601, PostgreSQL writes P1Y2D for P1Y0M2D, and PT1H5S for PT1H0M5S.
 */
export function readInterval(text: string): string {
  return text.replace(/(?<=Y)(?=-?\d+D)/, '0M').replace(/(?<=H)(?=-?[\d.]+S)/, '0M')
}

function writeTime(time: unknown): string {
  return time instanceof Date ? time.toISOString() : String(time)
}

/** Reads `t`, which PostgreSQL sends for a boolean, and `true`, which it sends for one cast to text. */
export function readBoolean(text: string): boolean {
  return text.startsWith('t')
}

function writeBoolean(value: unknown): string {
  return value === true || value === 't' ? 't' : 'f'
}

/** Writes bytes in PostgreSQL's hexadecimal form. A string already has that form. */
export function writeBytes(bytes: Uint8Array | string): string {
  return typeof bytes === 'string' ? bytes : `\\x${Buffer.from(bytes).toString('hex')}`
}

/** Reads bytes in PostgreSQL's hexadecimal form. */
export function readBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

/**
 * Parses JSON. Integers beyond 2^53 become bigints.
 * @throws {Error} if a number has more digits than PostgreSQL's `numeric` allows
 */
export function readJson(text: string): unknown {
  return /\d{16}|\de\+?\d{3}/i.test(text) ? parse(text, undefined, { parseNumber }) : JSON.parse(text)
}

// The most digits before the point that PostgreSQL's `numeric` allows.
const digitsMax = 131_072

// `jsonb` stores 1e400 with all digits. As a double it would be Infinity, which JSON writes as null.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (typeof value === 'bigint' || Number.isFinite(value)) return value
  const { digits, exponent } = decimal(numeral)
  if (exponent < 0 || digits.length + exponent > digitsMax) throw new Error('it has a number beyond a double')
  return BigInt(digits + '0'.repeat(exponent))
}

// Matches the escapes that JSON writes for NUL and for half of a surrogate pair, unless the backslash is
// escaped.
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/**
 * Writes JSON, with bigints as integers.
 * @throws {UnstorableText} if the value has a text that PostgreSQL cannot store
 */
export function writeJson(value: unknown): string {
  const json = jsonOf(value)
  if (json?.includes('\\u') && unstorable.test(json)) throw new UnstorableText()
  return json
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error // a TypeError: it contains a bigint
    return stringify(value) as string
  }
}

/**
 * Reads the elements of an array.
 * @param areArrays true if the elements are arrays; `readElement` then gets their array literals
 * @throws {Error} if the array has another number of dimensions
 */
export function readArray<Element>(
  text: string,
  readElement: (text: string | null) => Element,
  areArrays = false,
): Element[] {
  return elementsOf(text).map((each) => {
    const element = elementOf(each)
    // Earlier versions stored an array within an array as its text.
    const isArray = areArrays ? element?.startsWith('{') === true : each.startsWith('{')
    if (isArray !== areArrays) throw new Error('it is an array of other dimensions')
    return readElement(element)
  })
}

// Returns the texts of the elements, quoted as they stand; an inner array stands in braces. If the first
// index of an array is not 1, its literal begins with its bounds, `[0:1]={…}`.
function elementsOf(array: string): string[] {
  const elements: string[] = []
  let depth = 0
  let start = 0
  const inner = array.slice(array.indexOf('{') + 1, -1)
  for (const { 0: token, index } of inner.matchAll(/"(?:[^"\\]|\\.)*"|[{},]/gs)) {
    if (token === '{') depth++
    else if (token === '}') depth--
    else if (token === ',' && depth === 0) {
      elements.push(inner.slice(start, index))
      start = index + 1
    }
  }
  return inner === '' ? [] : [...elements, inner.slice(start)]
}

function elementOf(text: string): string | null {
  if (text === 'NULL') return null
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text
}

/** Writes an array literal. The elements are texts, null, or with `areArrays` array literals. */
export function writeArray(elements: readonly (string | null)[], areArrays = false): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  return `{${elements.map((text) => (text === null ? 'NULL' : areArrays ? text : quoted(text))).join()}}`
}

// A string is already an array literal, `{…}`.
function writeAnyArray(array: unknown): string {
  if (!Array.isArray(array)) return String(array)
  return writeArray(array.map((each) => (each === null ? null : writeTime(each))))
}
