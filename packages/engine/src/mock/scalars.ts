// Texts and numbers by the keywords of a schema's parts, and whether one that is given fits them.

import { toRegExp } from '../document/patterns.js'
import type { Node } from '../document/reader.js'
import { formats } from '../values/formats.js'
import { type Choose, patternText } from './pattern-text.js'

/** The greatest of a keyword's numbers in all parts; undefined if none has it. */
export function greatest(parts: readonly Node[], keyword: string): number | undefined {
  const all = numbersOf(parts, keyword)
  return all.length === 0 ? undefined : Math.max(...all)
}

/** The least of them. */
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

/** A text. @param turn makes those of a list differ */
export function textBy(parts: readonly Node[], turn: number, choose: Choose): string {
  const min = Math.min(greatest(parts, 'minLength') ?? 0, textMax)
  const max = least(parts, 'maxLength') ?? textMax
  const candidates = [...patternTexts(parts, min, choose), ...plainTexts(parts, min, max, turn)]
  return candidates.find((each) => fitsText(each, parts)) ?? candidates[0] ?? ''
}

function patternTexts(parts: readonly Node[], min: number, choose: Choose): string[] {
  const [pattern] = textsOf(parts, 'pattern')
  if (pattern === undefined) return []
  const more = [0, 1, 2, 3, 5, 8, min, Math.ceil(min / 2)]
  return more.flatMap((each) => [
    patternText(pattern, each, () => 0),
    patternText(pattern, each, (ways) => ways - 1),
    patternText(pattern, each, choose),
    patternText(pattern, each, choose),
  ])
}

function plainTexts(parts: readonly Node[], min: number, max: number, turn: number): string[] {
  const [format = ''] = textsOf(parts, 'format').filter((each) => each in formats)
  const such = formatTexts.get(format)
  const text = turn === 0 ? 'text' : `text ${turn + 1}`
  const fitted = text.slice(-max || text.length).padEnd(min, 'text')
  const short =
    max < text.length ? String.fromCharCode(97 + (turn % 26)).repeat(Math.max(min, max > 0 ? 1 : 0)) : ''
  return [...(such ?? []), max < text.length ? short : fitted, 'text', '1', 'a', 'A', '']
}

// Each says what a value is: `a date, such as 2026-11-25`.
const formatTexts = new Map(
  Object.entries(formats).map(([name, { description }]) => [
    name,
    [description.replace(/^.*?, such as /, '')],
  ]),
)

/** A number. @param turn makes those of a list differ */
export function numberBy(parts: readonly Node[], isInteger: boolean, turn: number): number {
  const min = greatest(parts, 'minimum')
  const above = greatest(parts, 'exclusiveMinimum')
  const max = least(parts, 'maximum')
  const below = least(parts, 'exclusiveMaximum')
  const step = greatest(parts, 'multipleOf')
  const low = Math.max(min ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY)
  const high = Math.min(max ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY)
  const unit = step ?? 1
  const base = Number.isFinite(low) ? Math.ceil(low / unit) * unit : 0
  const steps = Array.from({ length: 5 }, (_, i) => base + unit * (i + turn))
  const down = Number.isFinite(high) ? Math.floor(high / unit) * unit : 0
  const between = isInteger ? [] : [(low + high) / 2, low + 0.5, high - 0.5, low, high]
  const candidates = [1 + turn, ...steps, down, down - unit, 0, ...between]
  return candidates.find((each) => Number.isFinite(each) && fitsNumber(each, parts)) ?? candidates[0] ?? 0
}

/** Whether a scalar that a contract gives, such as an example, fits the keywords beside it. */
export function fitsScalar(value: unknown, parts: readonly Node[], types: readonly string[]): boolean {
  const all = parts.every(
    ({ enum: values, const: only }) =>
      (!Array.isArray(values) || values.includes(value)) && (only === undefined || only === value),
  )
  if (!all || !types.includes(typeNameOf(value, types))) return false
  if (typeof value === 'string') return fitsText(value, parts)
  return typeof value === 'number' ? fitsNumber(value, parts) : true
}

function typeNameOf(value: unknown, types: readonly string[]): string {
  if (value === null) return 'null'
  if (typeof value !== 'number' && typeof value !== 'bigint') return typeof value
  return types.includes('integer') && Number.isInteger(Number(value)) ? 'integer' : 'number'
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

/** Whether a text matches a pattern. */
export function matches(pattern: string, text: string): boolean {
  try {
    return toRegExp(pattern, 'u').test(text)
  } catch {
    return true // the contract is refused for it, elsewhere
  }
}

function isOfFormat(name: string, text: string): boolean {
  const { validate } = Object.hasOwn(formats, name)
    ? (formats[name] as (typeof formats)[string])
    : { validate: /(?:)/ }
  return typeof validate === 'function' ? validate(text) : validate.test(text)
}

function fitsNumber(value: number, parts: readonly Node[]): boolean {
  return (
    value >= (greatest(parts, 'minimum') ?? Number.NEGATIVE_INFINITY) &&
    value <= (least(parts, 'maximum') ?? Number.POSITIVE_INFINITY) &&
    value > (greatest(parts, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) &&
    value < (least(parts, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY)
  )
}
