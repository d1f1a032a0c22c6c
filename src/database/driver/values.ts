// What PostgreSQL's values are in JavaScript: what the contract has for them.

import { parse, stringify } from 'lossless-json'
import postgres from 'postgres'
import { exactNumber } from '../../lib/exact-number.js'

// PostgreSQL's types of lists, by their numbers.
const lists = [
  ...listsOf(String, 1009, 1015, 1014, 2951, 1231), // text, varchar, char, uuid, numeric
  ...listsOf(BigInt, 1016), // int8
  ...listsOf(Number, 1005, 1007, 1021, 1022), // int2, int4, float4, float8
  ...listsOf((text) => text === 't', 1000), // bool
  ...listsOf(readTime, 1182, 1115, 1185), // date, timestamp, timestamptz
]

/**
 * int8 as bigint; dates and times as the texts of the contract's `date` and `date-time` (RFC 3339), to the microsecond; JSON with integers
 * beyond 2^53 as bigint; lists of one dimension as arrays.
 */
export const valueTypes = {
  bigint: postgres.BigInt,
  date: { to: 1184, from: [1082, 1114, 1184], serialize: writeTime, parse: readTime },
  json: { to: 114, from: [114, 3802], serialize: writeJson, parse: readJson },
  ...Object.fromEntries(lists.map((list) => [`list${list.to}`, list])),
}

function listsOf(readElement: (text: string) => unknown, ...numbers: number[]) {
  return numbers.map((number) => ({
    to: number,
    from: [number],
    serialize: writeList,
    parse: (text: string) => readList(text, readElement),
  }))
}

// PostgreSQL's form (`DateStyle` ISO) lacks the T, and the minutes of an offset of full hours. Without an offset it stays so.
function readTime(text: string): string {
  return text
    .replace(' ', 'T')
    .replace(/(:.*)[+-]00$/, '$1Z')
    .replace(/(:.*[+-]\d\d)$/, '$1:00')
}

function writeTime(time: unknown): string {
  return time instanceof Date ? time.toISOString() : String(time)
}

function readJson(text: string): unknown {
  return /\d{16}/.test(text) ? parse(text, undefined, { parseNumber: exactNumber }) : JSON.parse(text)
}

function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error // else it holds a bigint
    return stringify(value) as string
  }
}

function readList(text: string, readElement: (text: string) => unknown): unknown {
  if (!/^\{(?!\{)/.test(text)) return text
  return Array.from(text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs), ([bare, quoted]) => {
    if (quoted !== undefined) return readElement(quoted.replace(/\\(.)/gs, '$1'))
    return bare === 'NULL' ? null : readElement(bare)
  })
}

// A text is a list in PostgreSQL's own form.
function writeList(list: unknown): string {
  if (!Array.isArray(list)) return String(list)
  const elements = list.map((each) =>
    each === null ? 'NULL' : `"${writeTime(each).replace(/["\\]/g, '\\$&')}"`,
  )
  return `{${elements.join()}}`
}
