// What accepts a body and writes it in one pass against the validator and the writer: it accepts nothing that
// the one refuses, and writes the bytes of the other.

import { compileFunction } from 'node:vm'
import { stringify } from 'lossless-json'
import t, { type Test } from 'tap'
import { printAcceptance } from '../../../src/compile/code/print-acceptance.js'
import type { Operation } from '../../../src/document/contract.js'
import { Reader } from '../../../src/document/reader.js'
import type { Contract } from '../../../src/index.js'
import { createResponseSchemas } from '../../../src/serve/response/response-schemas.js'
import { contractWith, done } from '../../../src/testing/engine.js'
import { rounds } from '../../../src/testing/nightly.js'
import { Random, randomSchema, randomValue } from '../../../src/testing/random-schemas.js'
import { runtime } from '../../../src/values/runtime.js'
import { testLevels } from '../../fixtures/nested-references.js'

type Schema = Readonly<Record<string, unknown>>

const contract = await contractWith(
  { values: { responses: done } },
  {
    schemas: {
      Part: {
        type: 'object',
        required: ['b'],
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
      },
      Self: { type: 'object', properties: { a: { $ref: '#/components/schemas/Self' } } },
    },
  },
)

/** What accepts, judges and writes the bodies of a schema. */
function of({ specification, operations, judges: create }: Contract, schema: Schema) {
  const contents = [{ mediaType: 'application/json', kind: 'json' as const, schema }]
  const responses = new Map([['200', { status: '200', key: '200', headers: [], contents }]])
  const [operation] = operations.values()
  const written = createResponseSchemas(specification)({ ...(operation as Operation), responses })
  if (written === undefined) return undefined
  const text = printAcceptance(schema, new Reader(specification))
  const judges = create()
  return {
    accept: text === undefined ? undefined : compileFunction(`return ${text}`)()(runtime),
    validate: judges.responseBody(schema),
    write: judges.writer(written['200']?.content['application/json']?.schema as object),
  }
}

class Point {
  a = 'b'
}
const odd: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    0,
    -0,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    2n ** 63n,
    -(2n ** 63n),
  ],
  ...[
    '',
    'a',
    '"',
    '\\',
    '\n',
    '\0',
    '\ud800',
    '😀',
    '\u2028',
    'é'.repeat(70),
    'a'.repeat(300),
    new String('a'),
  ],
  ...['2026-11-27', '2026-11-27T00:00:00Z', new Date(0), Symbol.iterator, () => 1, new Map([['a', 'b']])],
  ...[[], ['a'], ['a', undefined], Object.assign([], { 1: 'a' }), Object.assign(['a'], { toJSON: () => 1 })],
  ...[
    {},
    { a: 'b' },
    { a: undefined },
    { b: 1 },
    { b: 2n ** 60n, a: 'x' },
    { a: 'x', b: 1, c: 2 },
    { c: 1n },
  ],
  ...[
    new Point(),
    { a: 'b', toJSON: () => 'c' },
    Object.create({ a: 'b' }),
    { __proto__: null, a: 'b', b: 2 },
  ],
]

const string = { type: 'string' }
const usual: readonly (readonly [schema: Schema, accepted: unknown, text: string])[] = [
  [string, 'a"é\n', '"a\\"é\\n"'],
  [{ ...string, minLength: 1, maxLength: 3, pattern: '^[^\\x00]*$' }, 'abc', '"abc"'],
  [{ ...string, minLength: 2 }, 'abcd', '"abcd"'],
  [{ ...string, enum: ['a', '"'] }, '"', '"\\""'],
  [{ ...string, enum: ['a', 'b'], title: 'A', 'x-a': 1 }, 'a', '"a"'],
  [{ ...string, enum: [...'abcdefghij'] }, 'j', '"j"'],
  [string, `${'a'.repeat(50)}"\ud800`, `"${'a'.repeat(50)}\\"\\ud800"`],
  [string, 'é'.repeat(50), `"${'é'.repeat(50)}"`],
  [{ ...string, format: 'date-time' }, '2026-11-27T00:00:00Z', '"2026-11-27T00:00:00Z"'],
  [
    { ...string, format: 'uuid' },
    '6f1c1a4e-0000-4000-8000-000000000000',
    '"6f1c1a4e-0000-4000-8000-000000000000"',
  ],
  [{ type: 'integer' }, -5, '-5'],
  [{ type: 'integer', format: 'int64' }, 2n ** 63n - 1n, '9223372036854775807'],
  [{ type: 'integer', format: 'int32', minimum: 1, maximum: 5 }, 5, '5'],
  [{ type: 'integer', format: 'uint64' }, 2n ** 64n - 1n, '18446744073709551615'],
  [{ type: 'number' }, 1e21, '1e+21'],
  [{ type: 'number', format: 'double', minimum: 0.5 }, 0.5, '0.5'],
  [{ type: 'boolean' }, false, 'false'],
  [{ type: 'array', items: string, minItems: 1, maxItems: 2 }, ['a', 'b'], '["a","b"]'],
  [{ type: 'array', items: { type: 'array', items: { type: 'integer' } } }, [[], [1, 2]], '[[],[1,2]]'],
  [{ $ref: '#/components/schemas/Part' }, { a: 'x', b: 1 }, '{"b":1,"a":"x"}'],
  [{ $ref: '#/components/schemas/Part', description: 'It.' }, { b: 1 }, '{"b":1}'],
  [{ type: 'object', properties: { a: string, b: string } }, { b: 'x' }, '{"b":"x"}'],
  [{ type: 'object', properties: { a: string, b: string } }, {}, '{}'],
  [
    { type: 'object', properties: { a: string, 'b"': string, 1: string }, additionalProperties: false },
    { a: 'x', 'b"': 'y', 1: 'z' },
    '{"1":"z","a":"x","b\\"":"y"}',
  ],
  [
    { type: 'object', required: ['c', 'b'], properties: { a: string, b: string, c: { type: 'boolean' } } },
    { a: 'x', b: 'y', c: true },
    '{"b":"y","c":true,"a":"x"}',
  ],
]

t.test('a body is accepted and written as its validator and its writer do', async (t) => {
  for (const [schema, accepted, text] of usual) {
    const parts = of(contract, schema)
    t.equal(parts?.accept(accepted), text, String(stringify(schema)))
    for (const value of [accepted, ...odd]) compare(t, schema, parts, value)
  }
})

const unknown: readonly Schema[] = [
  { $ref: '#/components/schemas/Part', required: ['a'] },
  { ...string, format: 'unsafe' },
  { ...string, nullable: true },
  { ...string, writeOnly: true },
  { ...string, const: 'a' },
  { ...string, pattern: '(?i)a' },
  { ...string, contentEncoding: 'base64' },
  { type: 'integer', multipleOf: 2 },
  { type: 'number', format: 'float' },
  { type: 'array' },
  { type: 'array', items: string, uniqueItems: true },
  { type: 'object', required: ['z'], properties: { a: string } },
  { type: 'object', properties: { a: string }, additionalProperties: string },
  { type: 'object', properties: { a: true } },
  { type: 'object', properties: { constructor: string } },
  { type: 'object', properties: { a: { type: ['string', 'null'] } } },
  { allOf: [string] },
  { $ref: '#/components/schemas/Self' },
]

t.test('a schema is not known that has anything else', async (t) => {
  for (const schema of unknown)
    t.equal(printAcceptance(schema, new Reader(contract.specification)), undefined, String(stringify(schema)))
})

t.test('schemas that refer twice to the next cost no more for each further level', (t) =>
  testLevels(t, (schema, reader) => printAcceptance(schema, reader)),
)

t.test('of random schemas nothing else is accepted, and nothing else is written', async (t) => {
  const random = new Random(66)
  let known = 0
  let accepted = 0
  for (let i = 0; i < rounds(3_000); i++) {
    const schema = randomSchema(random)
    let parts: ReturnType<typeof of>
    try {
      parts = of(contract, schema)
    } catch {
      continue // it does not compile
    }
    if (parts?.accept === undefined) continue
    known++
    const values = Array.from({ length: 20 }, () => randomValue(random, schema, {}))
    for (const value of [...values, ...odd]) accepted += compare(t, schema, parts, value) ? 1 : 0
  }
  t.ok(known > rounds(300) && accepted > rounds(3_000), `${known} schemas, ${accepted} values`)
})

function compare(t: Test, schema: Schema, parts: ReturnType<typeof of>, value: unknown): boolean {
  const text = parts?.accept?.(value)
  if (text === undefined || parts === undefined) return false
  const isAlike = parts.validate(value) && parts.write(value) === text
  if (!isAlike) t.fail(`${stringify(schema)} accepts ${text}`)
  return true
}
