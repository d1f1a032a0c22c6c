// What judges and reads a part of a request in one pass against the validator: it accepts nothing that the
// validator refuses, and changes the same.

import { isDeepStrictEqual } from 'node:util'
import { compileFunction } from 'node:vm'
import { stringify } from 'lossless-json'
import t, { type Test } from 'tap'
import { printReader } from '../../../src/compile/code/print-reader.js'
import type { Judges, Read } from '../../../src/document/judges.js'
import { Reader } from '../../../src/document/reader.js'
import { contractWith, done } from '../../../src/testing/engine.js'
import { rounds } from '../../../src/testing/nightly.js'
import { Random, randomSchema, randomValue } from '../../../src/testing/random-schemas.js'
import { runtime } from '../../../src/values/runtime.js'
import { testLevels } from '../../fixtures/nested-references.js'

type Schema = Readonly<Record<string, unknown>>
type Part = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const int64 = { type: 'integer', format: 'int64' }
const Part = { type: 'object', required: ['b'], properties: { a: text, b: int64 } }
const Nested = { type: 'array', items: { $ref: '#/components/schemas/Nested' } }
const contract = await contractWith({ values: { responses: done } }, { schemas: { Part } })

function readerOf(schema: Schema, part: string): Read | undefined {
  const printed = printReader(schema, part, new Reader(contract.specification))
  return printed === undefined ? undefined : compileFunction(`return ${printed}`)()(runtime)
}

const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more })
const all = { required: ['a'] }

const usual: readonly (readonly [part: string, schema: Schema, given: Part, read: Part])[] = [
  ['querystring', { type: 'object' }, {}, {}],
  ['params', object({ a: int64 }, all), { a: '7' }, { a: 7n }],
  ['params', object({ a: { ...int64, format: 'int32', maximum: 9 } }, all), { a: '-7' }, { a: -7 }],
  ['querystring', object({ a: { type: 'number', minimum: 0.5 } }), { a: '1' }, { a: 1 }],
  ['querystring', object({ a: { type: 'boolean' } }), { a: 'false' }, { a: false }],
  [
    'querystring',
    object({ a: { ...text, enum: ['x', 'y'] }, b: text }),
    { b: '1', a: 'y' },
    { b: '1', a: 'y' },
  ],
  ['querystring', object({ a: { ...int64, default: 5 }, b: text }), { b: '' }, { b: '', a: 5n }],
  ['querystring', object({ a: { type: 'integer', default: 5 } }), {}, { a: 5 }],
  [
    'querystring',
    object({ a: { ...text, default: 'x' }, b: { type: 'boolean', default: false } }),
    {},
    { a: 'x', b: false },
  ],
  ['querystring', object({ a: { ...text, not: {} } }), {}, {}],
  [
    'headers',
    object({ 'X-A': int64, 'X-B': { ...text, format: 'date' } }),
    { 'x-a': '1', host: 'b' },
    { 'x-a': 1n, host: 'b' },
  ],
  ['body', object({ a: int64, b: text }, all), { b: 'x', a: 1 }, { b: 'x', a: 1n }],
  ['body', object({ a: int64 }), { a: 2n ** 60n }, { a: 2n ** 60n }],
  ['body', { $ref: '#/components/schemas/Part', description: 'It.' }, { b: 1 }, { b: 1n }],
  [
    'body',
    object({
      a: { type: 'array', items: object({ b: { type: 'integer' }, c: { type: 'boolean' } }), maxItems: 2 },
    }),
    { a: [{ b: 1 }, { c: true }] },
    { a: [{ b: 1 }, { c: true }] },
  ],
  ['body', object({ a: { type: 'number', writeOnly: true } }), { a: 1.5 }, { a: 1.5 }],
]

const texts = [
  '',
  '0',
  '-0',
  '-7',
  '07',
  '1.5',
  '1e3',
  '999999999999999',
  '9999999999999999',
  ' 1',
  'true',
  'x',
  'y',
  '\0',
]
const values = [
  undefined,
  null,
  0,
  -0,
  1,
  1.5,
  2 ** 53,
  2n ** 63n,
  3n,
  Number.NaN,
  true,
  [],
  ['a', 'b'],
  {},
  ...texts,
]
const odd: readonly unknown[] = [
  ...[undefined, null, 1, 'a', [], {}, { z: '1' }, { a: '1', z: '1' }, Object.create({ a: '1' })],
  ...values.flatMap((value) => [{ a: value }, { 'x-a': value }, { a: '1', b: value }, { b: value, a: 1 }]),
]

t.test('a part is accepted and changed as its validator does', async (t) => {
  const judges = contract.judges()
  for (const [part, schema, given, read] of usual) {
    const reader = readerOf(schema, part)
    const copy = structuredClone(given)
    const title = `${part} ${stringify(schema)}`
    t.equal(reader?.(copy), true, title)
    t.strictSame([copy, Object.keys(copy)], [read, Object.keys(read)], title)
    for (const value of [given, ...odd]) compare(t, { judges, schema, part, reader }, value)
  }
})

const unknown: readonly (readonly [part: string, schema: Schema])[] = [
  ['cookies', object({ a: text })],
  ['json', object({ a: text })],
  ['params', text],
  ['params', object({ a: { type: 'array', items: text } }, all)],
  ['params', object({ a: { ...text, not: {} } }, all)],
  ['querystring', object({ a: { ...int64, default: 'x' } })],
  ['querystring', object({ a: { ...text, not: {}, default: 'x' } })],
  ['querystring', object({ constructor: text })],
  ['body', object({ a: text }, { additionalProperties: text })],
  ['body', object({ a: { ...text, default: 'x' } })],
  ['body', object({ a: { ...text, readOnly: true } }, all)],
  ['body', object({ a: Part }, all)],
  ['body', object({ a: { type: 'array', items: int64 } }, all)],
  ['body', object({ a: text }, { minProperties: 1 })],
]

t.test('a part is not known that has anything else', async (t) => {
  for (const [part, schema] of unknown)
    t.equal(readerOf(schema, part), undefined, `${part} ${stringify(schema)}`)
})

t.test('schemas that refer twice to the next cost no more for each further level', (t) =>
  testLevels(t, (schema, reader) => printReader(schema, 'body', reader)),
)

t.test('a schema of arrays of itself has no reader', async (t) => {
  const { specification } = await contractWith({ values: { responses: done } }, { schemas: { Nested } })
  const schema = object({ a: { $ref: '#/components/schemas/Nested' } })
  t.equal(printReader(schema, 'body', new Reader(specification)), undefined)
})

t.test('of random schemas nothing else is accepted, and nothing else is changed', async (t) => {
  const random = new Random(66)
  const counts = { known: 0, accepted: 0 }
  for (let i = 0; i < rounds(3_000); i++) {
    const part = random.pick(['params', 'querystring', 'headers', 'body'])
    const [a, b] = [randomSchema(random, part === 'body' ? 2 : 1), randomSchema(random, 1)]
    const schema = object(
      { a, b },
      { required: random.some(['a', 'b'], 0.3), additionalProperties: random.is(0.5) },
    )
    const [judges, reader] = [contract.judges(), readerOf(schema, part)]
    if (reader === undefined || !compiles(judges, schema, part)) continue
    counts.known++
    const asPart = (value: unknown) => (part === 'body' || value === null ? value : String(value))
    const fitting = Array.from({ length: 20 }, () => {
      const fields = [a, b].map((each, at) => ['ab'[at], asPart(randomValue(random, each, {}))] as const)
      return Object.fromEntries(random.some(fields, 0.8))
    })
    for (const value of [...fitting, ...odd])
      if (compare(t, { judges, schema, part, reader }, value)) counts.accepted++
  }
  t.ok(counts.known > rounds(300) && counts.accepted > rounds(3_000), JSON.stringify(counts))
})

function compiles(judges: Judges, schema: Schema, part: string): boolean {
  try {
    judges.request(schema, part)
    return true
  } catch {
    return false
  }
}

interface Compared {
  readonly judges: Judges
  readonly schema: Schema
  readonly part: string
  readonly reader: Read | undefined
}

function compare(t: Test, { judges, schema, part, reader }: Compared, value: unknown): boolean {
  const [read, judged] = [copied(value), copied(value)]
  const isAccepted = reader?.(read) ?? false
  const isAlike = isAccepted
    ? judges.request(schema, part)(judged) && isDeepStrictEqual(keyed(read), keyed(judged))
    : isDeepStrictEqual(keyed(read), keyed(value))
  if (!isAlike) t.fail(`${part} ${stringify(schema)}: ${stringify(read)} of ${stringify(value)}`)
  return isAccepted
}

// With its prototype.
function copied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? [...value] : Object.assign(Object.create(Object.getPrototypeOf(value)), value)
}

function keyed(value: unknown): unknown {
  return [value, typeof value === 'object' && value !== null ? Object.keys(value) : []]
}
