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
 * For all values: `serialize` leaves what it has serialized as it is. postgres.js 3.4.9 serializes parameters
 * in place, and again when it repeats a statement whose plan is outdated; its own types turn `true` into
 * false then, and bytes into others.
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
 * A date or time in the form of RFC 3339. With `DateStyle` ISO, PostgreSQL writes a space for the T, and
 * leaves out the minutes of an offset in whole hours. A `timestamp` has no offset, and gets none. A `timetz`
 * may be the end of a day, which PostgreSQL makes of a leap second, and which elsewhere is the beginning of
 * another; or have an offset with seconds, which RFC 3339 lacks.
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
 * A duration in the form of RFC 3339, appendix A, which skips no unit. With `IntervalStyle` iso_8601,
 * PostgreSQL writes P1Y2D for P1Y0M2D, and PT1H5S for PT3605S.
 */
export function readInterval(text: string): string {
  return text.replace(/(?<=Y)(?=-?\d+D)/, '0M').replace(/(?<=H)(?=-?[\d.]+S)/, '0M')
}

function writeTime(time: unknown): string {
  return time instanceof Date ? time.toISOString() : String(time)
}

/** Of `t` as PostgreSQL sends it, and `true` of a cast to text. */
export function readBoolean(text: string): boolean {
  return text.startsWith('t')
}

function writeBoolean(value: unknown): string {
  return value === true || value === 't' ? 't' : 'f'
}

/** PostgreSQL's hexadecimal form. A string is in that form already. */
export function writeBytes(bytes: Uint8Array | string): string {
  return typeof bytes === 'string' ? bytes : `\\x${Buffer.from(bytes).toString('hex')}`
}

/** Bytes of PostgreSQL's hexadecimal form. */
export function readBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

/**
 * A JSON value; an integer beyond 2^53 is a bigint.
 * @throws {Error} if it has a number beyond those that PostgreSQL's `numeric` has
 */
export function readJson(text: string): unknown {
  return /\d{16}|\de\+?\d{3}/i.test(text) ? parse(text, undefined, { parseNumber }) : JSON.parse(text)
}

// Of `numeric`, before the point.
const digitsMax = 131_072

// A double would make Infinity of 1e400, which is written as null. `jsonb` writes its digits.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (typeof value === 'bigint' || Number.isFinite(value)) return value
  const { digits, exponent } = decimal(numeral)
  if (exponent < 0 || digits.length + exponent > digitsMax) throw new Error('it has a number beyond a double')
  return BigInt(digits + '0'.repeat(exponent))
}

// Behind an even number of backslashes: what JSON writes of a text that is not storable.
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/**
 * JSON text, exact for bigint.
 * @throws {UnstorableText} if a text in it is not storable
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
 * The elements of an array.
 * @param areArrays whether they are arrays, whose texts are read
 * @throws {Error} if the array has another number of dimensions
 */
export function readArray<Element>(
  text: string,
  readElement: (text: string | null) => Element,
  areArrays = false,
): Element[] {
  return elementsOf(text).map((each) => {
    const element = elementOf(each)
    // An array in an array was once stored as its text.
    const isArray = areArrays ? element?.startsWith('{') === true : each.startsWith('{')
    if (isArray !== areArrays) throw new Error('it is an array of other dimensions')
    return readElement(element)
  })
}

// The texts of the elements, in quotes if they need some: an array's are in braces. An array whose first
// index is not 1 begins with its bounds, `[0:1]={…}`.
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

/** An array literal of texts of elements, which are null, or themselves arrays. */
export function writeArray(elements: readonly (string | null)[], areArrays = false): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  return `{${elements.map((text) => (text === null ? 'NULL' : areArrays ? text : quoted(text))).join()}}`
}

// A string is an array literal, `{…}`, already.
function writeAnyArray(array: unknown): string {
  if (!Array.isArray(array)) return String(array)
  return writeArray(array.map((each) => (each === null ? null : writeTime(each))))
}
