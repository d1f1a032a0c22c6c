// Values of a resource's fields, as they come back when they are stored.

import { type Node, nodeOf, type Reader } from 'contract-engine/tools'
import type { ResourceField } from './fields.js'
import { keyName } from './words.js'

// PostgreSQL and JavaScript write them as they stand here.
const formats: Readonly<Record<string, string>> = {
  date: '2020-02-29',
  'date-time': '2020-02-29T12:34:56Z',
  time: '12:34:56Z',
  duration: 'P1D',
  uuid: '7d444840-9dc0-11d1-b245-5ffdce74fad2',
  email: 'a@example.com',
  uri: 'https://example.com/',
  decimal: '1.10',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  byte: 'AAEC',
}

// What patterns often ask for.
const usual = [
  '1.10',
  '10',
  'ab',
  'AB',
  'abc',
  'ABC',
  'a1',
  'A1',
  'Ab',
  '12345',
  'AB-12',
  '+491701234567',
  '#aabbcc',
  '12:30',
]

/** A value of a schema: an example of it, if the contract has one. Undefined if none can be told. */
export function sampleOf(reader: Reader, given: unknown): unknown {
  const schema = reader.node(given)
  const [value] = [schema.example, listed(schema.examples)[0], schema.const, listed(schema.enum)[0]].filter(
    (each) => each !== undefined,
  )
  return value ?? made(reader, schema)
}

function made(reader: Reader, schema: Node): unknown {
  const { type, items, minimum = 1, minItems = 1, properties, required } = schema
  const [first] = [schema.anyOf, schema.oneOf, schema.allOf].flatMap(listed)
  const [kind] = [type].flat().filter((each) => each !== 'null')
  if (kind === undefined && first !== undefined) return sampleOf(reader, first)
  if (kind === 'array')
    return Array.from({ length: Math.max(1, Number(minItems)) }, () => sampleOf(reader, items))
  if (kind === 'integer' || kind === 'number')
    return Number(schema.exclusiveMinimum ?? Number(minimum) - 1) + 1
  if (kind === 'boolean') return true
  if (kind === 'object') {
    const names = listed(required).map(String)
    return Object.fromEntries(names.map((name) => [name, sampleOf(reader, nodeOf(properties)[name])]))
  }
  return kind === 'string' ? textOf(schema) : undefined
}

/** A text of a string's schema; undefined if its pattern is none of the usual ones. */
export function textOf({
  format,
  pattern = '',
  minLength = 1,
  maxLength = Infinity,
}: Node): string | undefined {
  const [min, max] = [Number(minLength), Number(maxLength)]
  const long = ['x', 'X', '1'].map((each) => each.repeat(Math.max(1, min)))
  const expression = new RegExp(String(pattern), 'u')
  const own = formats[String(format)]
  return [...(own === undefined ? [] : [own]), ...long, ...usual].find(
    (text) => text.length >= min && text.length <= max && expression.test(text),
  )
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The text of a value in TypeScript. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'string') return /['\\]|\p{Cc}/u.test(value) ? JSON.stringify(value) : `'${value}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const pairs = Object.entries(value).map(([name, each]) => `${keyName(name)}: ${literal(each)}`)
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
}

/** The text of a field's value that differs with `i`; undefined if it has to be one and the same. */
export function varied({ schema, type }: ResourceField, value: unknown): string | undefined {
  if (schema.enum !== undefined || schema.const !== undefined) return undefined
  if (/^(smallint|integer|bigint)$/.test(type.sql)) return `${literal(value)} + i`
  if (type.sql === 'uuid') return `\`7d444840-9dc0-11d1-b245-5ffdce74fad\${i}\``
  if (type.sql !== 'text' || schema.pattern !== undefined || typeof value !== 'string') return undefined
  if (/[`$\\]/.test(value)) return undefined
  if (schema.format === 'email') return `\`a\${i}@example.com\``
  return schema.format === undefined ? `\`${value.slice(0, -1)}\${i}\`` : undefined
}
