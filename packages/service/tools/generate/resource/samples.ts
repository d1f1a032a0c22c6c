// Makes values for a resource's fields that come back unchanged after they are stored.

import { type Node, nodeOf, patternText, type Reader } from 'contract-engine/tools'
import { keyName } from './words.js'

/** The number of values per schema: one for each row, one to change to, and one that no row has. */
export const valuesMax = 6

type Written = (i: number) => string

// In ascending order, and in the notation of both PostgreSQL and JavaScript.
const formats: Readonly<Record<string, Written>> = {
  date: (i) => `2020-03-0${i + 1}`,
  'date-time': (i) => `2020-03-0${i + 1}T12:34:56Z`,
  time: (i) => `1${i}:34:56Z`,
  duration: (i) => `P${i + 1}D`,
  uuid: (i) => `7d444840-9dc0-11d1-b245-5ffdce74fad${i}`,
  email: (i) => `a${i}@example.com`,
  uri: (i) => `https://example.com/${i}`,
  hostname: (i) => `a${i}.example.com`,
  decimal: (i) => `${i + 1}.10`,
  ipv4: (i) => `192.0.2.${i + 1}`,
  ipv6: (i) => `2001:db8::${i + 1}`,
  byte: (i) => `AAE${'CDEFGH'[i]}`,
}

// Beyond this depth optional fields are left out, because a schema may contain itself.
const depthMax = 4

/** Returns the first value of a schema; undefined if none is known. */
export function sampleOf(reader: Reader, given: unknown): unknown {
  return valuesOf(reader, given)[0]
}

/**
 * Returns distinct values of a schema, in ascending order: as many as are known, but at most `valuesMax`.
 * Uses the schema's examples if it knows no other values.
 */
export function valuesOf(reader: Reader, given: unknown, depth = 0): readonly unknown[] {
  const schema = reader.node(given)
  if (schema.const !== undefined) return [schema.const]
  const found = Array.isArray(schema.enum) ? schema.enum.filter((each) => each !== null) : []
  const made = found.length > 0 ? found.toSorted(ascending) : madeOf(reader, schema, depth)
  const all = made.length > 0 ? made : [schema.example, ...listed(schema.examples)]
  const texts = new Map(all.filter((each) => each !== undefined).map((each) => [JSON.stringify(each), each]))
  return [...texts.values()].slice(0, valuesMax)
}

/** True if every collation sorts the texts in JavaScript's order. */
export function areOrdered(values: readonly unknown[]): boolean {
  return values.every((value, i) => {
    const [before, text] = [values[i - 1], value]
    if (typeof before !== 'string' || typeof text !== 'string') return true
    const at = [...before].findIndex((each, i) => each !== text[i])
    return /^(\d\d|[a-z][a-z]|[A-Z][A-Z])$/.test(`${before[at]}${text[at]}`)
  })
}

function ascending(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a) < String(b) ? -1 : 1
}

function madeOf(reader: Reader, schema: Node, depth: number): readonly unknown[] {
  const [kind] = [schema.type].flat().filter((each) => each !== 'null')
  const choices = [schema.anyOf, schema.oneOf].flatMap(listed).map((each) => reader.node(each))
  const [first] = choices.filter(({ type }) => type !== 'null')
  if (kind === undefined && first !== undefined) return valuesOf(reader, first, depth)
  if (kind === 'integer' || kind === 'number') return numbersOf(schema, kind === 'integer')
  if (kind === 'boolean') return [false, true]
  if (kind === 'string') return textsOf(schema)
  if (kind === 'array') return arraysOf(reader, schema, depth)
  const isObject = kind === 'object' || schema.properties !== undefined || schema.allOf !== undefined
  return isObject && kind !== null ? objectsOf(reader, schema, depth) : []
}

// Greater than the ids of a test's rows: a filter that compares ids by mistake then finds nothing.
const usualFrom = 11

function numbersOf(schema: Node, isInteger: boolean): readonly number[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const [above, below] = [Number(exclusiveMinimum ?? -Infinity), Number(exclusiveMaximum ?? Infinity)]
  const [least, most] = [Number(minimum ?? -Infinity), Number(maximum ?? Infinity)]
  const [low, high] = [Math.max(above, least), Math.min(below, most)]
  const isNarrow = !isInteger && multipleOf === undefined && high - low < valuesMax
  const step = isNarrow ? (high - low) / 8 : Number(multipleOf ?? 1)
  const usual = Math.min(usualFrom, high - valuesMax * step)
  const first = isNarrow ? low : Math.ceil(Math.max(low, usual) / step) * step
  return Array.from({ length: valuesMax + 1 }, (_, i) => Number((first + i * step).toFixed(10)))
    .filter((each) => each > above && each >= least && each < below && each <= most)
    .filter((each) => Number.isSafeInteger(each) || !isInteger)
}

/** Returns texts that a string's schema allows, in ascending order. */
export function textsOf(schema: Node): readonly string[] {
  const { format, contentEncoding, pattern, minLength = 0, maxLength = Infinity } = schema
  const [min, max] = [Number(minLength), Number(maxLength)]
  const expression = new RegExp(String(pattern ?? ''), 'u')
  const own = formats[contentEncoding === 'base64' ? 'byte' : String(format)]
  const isFit = (text: string) => text.length >= min && text.length <= max && expression.test(text)
  if (own !== undefined) return times(valuesMax, own).filter(isFit)
  if (pattern !== undefined) return patternTexts(String(pattern), isFit).toSorted(ascending)
  if (format !== undefined && schema.enum === undefined && hasOtherForm(String(format))) return []
  return times(valuesMax, (i) => 'x'.repeat(Math.max(0, Math.min(max, Math.max(min, 2)) - 1)) + (i + 1))
}

// True for formats that only examples can show.
function hasOtherForm(format: string): boolean {
  return /^(uri-|iri|json-pointer|relative|regex|idn-)/.test(format)
}

// Successive attempts vary the choices of the pattern, then the number of repetitions.
function patternTexts(pattern: string, isFit: (text: string) => boolean): string[] {
  const found = new Set<string>()
  for (let attempt = 0; attempt < 400 && found.size < valuesMax; attempt++) {
    let state = attempt + 1
    const choose = (ways: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % ways
    }
    const text = patternText(pattern, attempt % 20, choose)
    if (isFit(text)) found.add(text)
  }
  return [...found]
}

function arraysOf(reader: Reader, schema: Node, depth: number): readonly unknown[] {
  const items = valuesOf(reader, schema.items ?? {}, depth + 1)
  const length = Math.min(Math.max(1, Number(schema.minItems ?? 1)), Number(schema.maxItems ?? Infinity))
  if (items.length === 0 || length === 0) return [[]]
  return items.map((_, i) => times(length, (j) => items[(i + j) % items.length]))
}

function objectsOf(reader: Reader, schema: Node, depth: number): readonly object[] {
  const { properties, required, others, max } = shapeOf(reader, schema)
  const names = Object.keys(properties).filter(
    (name) =>
      required.includes(name) || (depth < depthMax && reader.node(properties[name]).readOnly !== true),
  )
  const values = new Map(names.map((name) => [name, valuesOf(reader, properties[name], depth + 1)]))
  if (required.some((name) => values.get(name)?.length === 0 || !values.has(name))) return []
  const given = names.filter((name) => values.get(name)?.length !== 0).slice(0, max)
  const mapped = others === undefined ? [] : valuesOf(reader, others, depth + 1)
  const free = mapped.length === 0 ? [] : ['a', 'b'].slice(0, Math.max(0, max - given.length))
  return times(valuesMax, (i) => {
    const own = given.map((name) => [name, at(values.get(name) ?? [], i)])
    return Object.fromEntries([...own, ...free.map((name, j) => [name, at(mapped, i + j)])])
  })
}

/** The parts of an object: its properties, including those of `allOf`, and the schema of a map's values. */
export interface Shape {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
  /** The schema of a map's values. Undefined if there is no map, or it restricts its names. */
  readonly others: unknown
  readonly min: number
  readonly max: number
}

/** Returns the shape of an object's schema. */
export function shapeOf(reader: Reader, given: unknown): Shape {
  const own = reader.node(given)
  const [first] = [own.anyOf, own.oneOf]
    .flatMap(listed)
    .map((each) => reader.node(each))
    .filter(({ type }) => type !== 'null')
  const schema = own.type === undefined && own.properties === undefined && first !== undefined ? first : own
  const parts = [schema, ...listed(schema.allOf).map((each) => reader.node(each))]
  const map = parts.find((each) => typeof each.additionalProperties === 'object')
  const isNamed = parts.some((each) => each.propertyNames !== undefined)
  return {
    properties: Object.assign({}, ...parts.map((each) => nodeOf(each.properties))),
    required: parts.flatMap((each) => listed(each.required).map(String)),
    others: isNamed ? undefined : map?.additionalProperties,
    min: Number(schema.minProperties ?? 0),
    max: Number(schema.maxProperties ?? Infinity),
  }
}

function times<Value>(count: number, make: (i: number) => Value): Value[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

function at(values: readonly unknown[], i: number): unknown {
  return values[i % values.length]
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the TypeScript literal of a value. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return /['\\]|\p{Cc}/u.test(value) ? JSON.stringify(value) : `'${value}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const pairs = Object.entries(value).map(([name, each]) => `${keyName(name)}: ${literal(each)}`)
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
}
