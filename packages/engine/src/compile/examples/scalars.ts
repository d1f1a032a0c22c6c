// Finds texts by the keywords of a schema's parts, and tells if a given scalar fits them.

import { toRegExp } from '../../document/patterns.js'
import type { Node } from '../../document/reader.js'
import { formats } from '../../runtime/formats.js'
import { fitsNumber } from './numbers.js'
import { type Choose, patternText } from './pattern-text.js'

/** Returns the greatest of a keyword's numbers in all parts; undefined if no part has the keyword. */
export function greatest(parts: readonly Node[], keyword: string): number | undefined {
  const all = numbersOf(parts, keyword)
  return all.length === 0 ? undefined : Math.max(...all)
}

/** Returns the least of a keyword's numbers in all parts; undefined if no part has the keyword. */
export function least(parts: readonly Node[], keyword: string): number | undefined {
  const all = numbersOf(parts, keyword)
  return all.length === 0 ? undefined : Math.min(...all)
}

function numbersOf(parts: readonly Node[], keyword: string): number[] {
  return parts.flatMap(({ [keyword]: value }) =>
    typeof value === 'number' || typeof value === 'bigint' ? [Number(value)] : [],
  )
}

function textsOf(parts: readonly Node[], keyword: string): string[] {
  return parts.flatMap(({ [keyword]: value }) => (typeof value === 'string' ? [value] : []))
}

const textMax = 1_000_000

const heads = ['a', 'https://example.org/']

/** Returns a text. @param turn makes the texts of a list differ */
export function textBy(parts: readonly Node[], turn: number, choose: Choose): string {
  const min = Math.min(greatest(parts, 'minLength') ?? 0, textMax)
  const max = least(parts, 'maxLength') ?? textMax
  const ofPattern = patternTexts(parts, min, turn, choose)
  // A pattern may describe only the end of a text, such as its domain.
  const ends =
    textsOf(parts, 'format').length === 0 ? [] : ofPattern.flatMap((each) => heads.map((head) => head + each))
  const candidates = [...ofPattern, ...ends, ...plainTexts(parts, min, max, turn)]
  return candidates.find((each) => fitsText(each, parts)) ?? candidates[0] ?? ''
}

function patternTexts(parts: readonly Node[], min: number, turn: number, choose: Choose): string[] {
  const [pattern] = textsOf(parts, 'pattern')
  if (pattern === undefined) return []
  const more = [0, 1, 2, 3, 5, 8, min, Math.ceil(min / 2)]
  return more.flatMap((each) => [
    patternText(pattern, each, turn === 0 ? () => 0 : waysOf(turn)),
    patternText(pattern, each, (ways) => ways - 1),
    patternText(pattern, each, choose),
    patternText(pattern, each, choose),
  ])
}

// Derives the choices from the digits of the number, so that two numbers give different texts.
function waysOf(number: number): Choose {
  let left = number
  return (ways) => {
    const way = left % ways
    left = Math.floor(left / ways)
    return way
  }
}

function plainTexts(parts: readonly Node[], min: number, max: number, turn: number): string[] {
  const [format = ''] = textsOf(parts, 'format').filter((each) => each in formats)
  const text = turn === 0 ? 'text' : `text ${turn + 1}`
  const fitted = text.slice(-max || text.length).padEnd(min, 'text')
  const short = max < text.length ? letters(turn).padStart(Math.max(min, max > 0 ? 1 : 0), 'a') : ''
  const such = formatTexts(format, min)
  const others = turn === 0 ? [] : such.flatMap((each) => variants(each, turn))
  return [...others, ...such, max < text.length ? short : fitted, 'text', '1', 'a', 'A', '']
}

// Returns a number in letters: a to z, then ba.
function letters(number: number): string {
  const last = String.fromCharCode(97 + (number % 26))
  return number < 26 ? last : letters(Math.floor(number / 26)) + last
}

// The description of a format ends in an example: `a date, such as 2026-11-25`. Shorter texts follow, and one
// that is long enough.
function formatTexts(format: string, min: number): string[] {
  const known = Object.hasOwn(formats, format) ? formats[format]?.description : undefined
  if (known === undefined) return []
  const [head = '', filler = '', tail = ''] = longTexts[format] ?? []
  const missing = Math.max(0, min - head.length - tail.length)
  const long = filler.repeat(Math.ceil(missing / (filler.length || 1)))
  return [
    known.replace(/^.*?, such as /, ''),
    ...(shortTexts[format] ?? []),
    head + long + tail,
    head + long.slice(0, missing) + tail,
  ]
}

const shortTexts: Readonly<Record<string, readonly string[]>> = {
  duration: ['P1D', 'P10Y10M10DT10H10M10S'],
  email: ['a@b.co', 'a@b'],
  hostname: ['a.b', 'a'],
  ipv4: ['1.1.1.1'],
  ipv6: ['::1', '::', '2001:0db8:0000:0000:0000:0000:0000:0001'],
  uri: ['http://a', 'a:b', 'a:'],
  url: ['http://a', 'a:b'],
  'uri-reference': ['/a', 'a'],
  'uri-template': ['/a', 'a'],
  'json-pointer': ['/a', ''],
  'relative-json-pointer': ['0'],
  regex: ['a'],
  byte: ['YQ==', ''],
  base64url: ['YQ', ''],
}

// How a longer text is made: its beginning, a filler that is repeated, and its end.
const longTexts: Readonly<Record<string, readonly [head: string, filler: string, tail: string]>> = {
  'date-time': ['2026-11-25T14:05:00.', '0', 'Z'],
  time: ['14:05:00.', '0', 'Z'],
  email: ['ann@', 'example.', 'example.org'],
  hostname: ['www.', 'example.', 'example.org'],
  uri: ['https://example.org/', 'a', ''],
  url: ['https://example.org/', 'a', ''],
  'uri-reference': ['/', 'a', ''],
  'uri-template': ['/', 'a', ''],
  'json-pointer': ['/', 'a', ''],
  'relative-json-pointer': ['1/', 'a', ''],
  regex: ['', 'a', ''],
  byte: ['', 'YWFh', ''],
  base64url: ['', 'YWFh', ''],
}

// Returns texts with one digit or letter changed, the last one first.
function variants(text: string, turn: number): string[] {
  const characters = [...text]
  return characters
    .map((each, i) => [...characters.slice(0, i), later(each, turn), ...characters.slice(i + 1)].join(''))
    .filter((each) => each !== text)
    .reverse()
}

function later(character: string, turn: number): string {
  if (/[0-9]/.test(character)) return String((Number(character) + turn) % 10)
  return /[a-z]/.test(character)
    ? String.fromCharCode(97 + ((character.charCodeAt(0) - 97 + turn) % 26))
    : character
}

/** True if a scalar from the contract, such as an example, fits the keywords beside it. */
export function fitsScalar(value: unknown, parts: readonly Node[], types: readonly string[]): boolean {
  const all = parts.every(
    ({ enum: values, const: only }) =>
      (!Array.isArray(values) || values.includes(value)) && (only === undefined || only === value),
  )
  if (!all || !types.includes(typeNameOf(value, types))) return false
  if (typeof value === 'string') return fitsText(value, parts)
  return typeof value === 'number' || typeof value === 'bigint' ? fitsNumber(value, parts) : true
}

function typeNameOf(value: unknown, types: readonly string[]): string {
  if (value === null) return 'null'
  if (typeof value !== 'number' && typeof value !== 'bigint') return typeof value
  const isInteger = typeof value === 'bigint' || Number.isInteger(value)
  return types.includes('integer') && isInteger ? 'integer' : 'number'
}

function fitsText(text: string, parts: readonly Node[]): boolean {
  const { length } = [...text]
  return (
    length >= (greatest(parts, 'minLength') ?? 0) &&
    length <= (least(parts, 'maxLength') ?? Number.POSITIVE_INFINITY) &&
    textsOf(parts, 'pattern').every((each) => matches(each, text)) &&
    textsOf(parts, 'format').every((each) => isOfFormat(each, text))
  )
}

/** True if a text matches a pattern. */
export function matches(pattern: string, text: string): boolean {
  try {
    return toRegExp(pattern, 'u').test(text)
  } catch {
    return true // the contract is refused for its pattern elsewhere
  }
}

function isOfFormat(name: string, text: string): boolean {
  const { validate } = Object.hasOwn(formats, name)
    ? (formats[name] as (typeof formats)[string])
    : { validate: /(?:)/ }
  return typeof validate === 'function' ? validate(text) : validate.test(text)
}
