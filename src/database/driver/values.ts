// Converts PostgreSQL's values to and from JavaScript, in the forms that the contract uses.

import { parse, stringify } from 'lossless-json'
import postgres from 'postgres'
import { exactNumber } from '../../lib/exact-number.js'

// PostgreSQL's array types, by OID.
const arrays = [
  ...arraysOf(String, 1009, 1015, 1014, 2951, 1231), // text, varchar, char, uuid, numeric
  ...arraysOf(BigInt, 1016), // int8
  ...arraysOf(Number, 1005, 1007, 1021, 1022), // int2, int4, float4, float8
  ...arraysOf((text) => text === 't', 1000), // bool
  ...arraysOf(readTime, 1182, 1115, 1185, 1270), // date, timestamp, timestamptz, timetz
]

/**
 * For all values: `serialize` leaves what it has serialized as it is. postgres.js 3.4.9 serializes parameters
 * in place, and again when it repeats a statement whose plan is outdated; its own types turn `true` into
 * false then, and bytes into others.
 *
 * int8 is a bigint. Dates and times are strings in the contract's formats `date`, `date-time` and `time` (RFC
 * 3339), to the microsecond. JSON integers beyond 2^53 are bigints. One-dimensional arrays are arrays.
 */
export const valueTypes = {
  bigint: postgres.BigInt,
  boolean: { to: 16, from: [16], serialize: writeBoolean, parse: (text: string) => text === 't' },
  bytea: { to: 17, from: [17], serialize: writeBytes, parse: readBytes },
  date: { to: 1184, from: [1082, 1114, 1184, 1266], serialize: writeTime, parse: readTime },
  json: { to: 114, from: [114, 3802], serialize: writeJson, parse: readJson },
  ...Object.fromEntries(arrays.map((type) => [`array${type.to}`, type])),
}

function arraysOf(readElement: (text: string) => unknown, ...oids: number[]) {
  return oids.map((oid) => ({
    to: oid,
    from: [oid],
    serialize: writeArray,
    parse: (text: string) => readArray(text, readElement),
  }))
}

// With `DateStyle` ISO, PostgreSQL writes a space for the T, and leaves out the minutes of an offset in whole
// hours. A `timestamp` has no offset, and gets none.
function readTime(text: string): string {
  return text
    .replace(' ', 'T')
    .replace(/(:.*)[+-]00$/, '$1Z')
    .replace(/(:.*[+-]\d\d)$/, '$1:00')
}

function writeTime(time: unknown): string {
  return time instanceof Date ? time.toISOString() : String(time)
}

function writeBoolean(value: unknown): string {
  return value === true || value === 't' ? 't' : 'f'
}

function writeBytes(bytes: Uint8Array | string): string {
  return typeof bytes === 'string' ? bytes : `\\x${Buffer.from(bytes).toString('hex')}`
}

function readBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

function readJson(text: string): unknown {
  return /\d{16}/.test(text) ? parse(text, undefined, { parseNumber: exactNumber }) : JSON.parse(text)
}

/** JSON text, exact for bigint. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error // a TypeError: it contains a bigint
    return stringify(value) as string
  }
}

function readArray(text: string, readElement: (text: string) => unknown): unknown {
  if (!/^\{(?!\{)/.test(text)) return text
  return Array.from(text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs), ([bare, quoted]) => {
    if (quoted !== undefined) return readElement(quoted.replace(/\\(.)/gs, '$1'))
    return bare === 'NULL' ? null : readElement(bare)
  })
}

// A string is an array literal, `{…}`, already.
function writeArray(array: unknown): string {
  if (!Array.isArray(array)) return String(array)
  const elements = array.map((each) =>
    each === null ? 'NULL' : `"${writeTime(each).replace(/["\\]/g, '\\$&')}"`,
  )
  return `{${elements.join()}}`
}
