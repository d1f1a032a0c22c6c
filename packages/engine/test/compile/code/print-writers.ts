// The printed writers write each value that Ajv accepts so that it is read back exactly, with the declared
// fields in their order.

import { compileFunction } from 'node:vm'
import { contractWith, done } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { Random, randomSchema, randomValue } from 'contract-testing/random-schemas'
import { LosslessNumber, stringify } from 'lossless-json'
import t, { type Test } from 'tap'
import { createJudge } from '../../../src/compile/code/compilers.js'
import { PrintedWriters } from '../../../src/compile/code/print-writers.js'
import type { WriteJson } from '../../../src/document/functions.js'
import { Reader } from '../../../src/document/reader.js'
import { runtime } from '../../../src/runtime/runtime.js'
import { testLevels } from '../../fixtures/nested-references.js'

type Schema = Readonly<Record<string, unknown>>

const string = { type: 'string' }
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const contract = await contractWith(
  { values: { responses: done } },
  {
    schemas: {
      Part: { type: 'object', required: ['b'], properties: { a: string, b: { type: 'integer' } } },
      Self: { type: 'object', properties: { a: refTo('Self'), b: { type: 'array', items: refTo('Self') } } },
      Base: { type: 'object', required: ['kind'], properties: { kind: string } },
    },
  },
)

function printed(schema: Schema, reader = new Reader(contract.specification)): string {
  const writers = new PrintedWriters(reader)
  writers.add('write', schema)
  return String(writers)
}

// Returns the writers for both implementations of JSON.stringify in V8.
function writersOf(schema: Schema): WriteJson[] {
  const make = compileFunction(`return ${printed(schema)}`)()
  return [true, false].map((hasFastStringify) => make({ ...runtime, hasFastStringify }).write)
}

class Point {
  a = 'b'
  get b() {
    return 'c'
  }
}

const arrayOf = (items: Schema): Schema => ({ type: 'array', items })
const closed = { additionalProperties: false }
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more })

const usual: readonly (readonly [schema: Schema, value: unknown, text: string])[] = [
  [string, 'a"é\n', '"a\\"é\\n"'],
  [{ ...string, enum: ['a', '"'] }, '"', '"\\""'],
  [{ ...string, enum: ['a', 'b'] }, 'a', '"a"'],
  [{ type: ['string', 'null'], enum: ['a', null] }, null, 'null'],
  [{ type: ['string', 'null'], enum: ['a', null] }, 'a', '"a"'],
  [string, `${'a'.repeat(50)}"\ud800`, `"${'a'.repeat(50)}\\"\\ud800"`],
  [string, 'é'.repeat(50), `"${'é'.repeat(50)}"`],
  [{ type: 'integer' }, -5, '-5'],
  [{ type: 'integer', format: 'int64' }, 2n ** 63n - 1n, '9223372036854775807'],
  [{ type: ['integer', 'null'] }, null, 'null'],
  [{ type: ['integer', 'string'] }, 2n ** 60n, '1152921504606846976'],
  [{ type: 'number' }, 1e21, '1e+21'],
  [{ type: 'number' }, -0, '0'],
  [{ type: 'boolean' }, false, 'false'],
  [{ type: 'null' }, null, 'null'],
  [{}, { a: [2n ** 60n] }, '{"a":[1152921504606846976]}'],
  [{ type: 'array', items: string }, [], '[]'],
  [arrayOf(arrayOf({ type: 'integer' })), [[], [1, 2n]], '[[],[1,2]]'],
  [arrayOf({ type: 'integer' }), [1n, 2n ** 60n, -0], '[1,1152921504606846976,0]'],
  [arrayOf({ type: ['number', 'null'] }), [1.5, null, 1e21], '[1.5,null,1e+21]'],
  [arrayOf({ type: 'integer' }), [new LosslessNumber('9007199254740993')], '[9007199254740993]'],
  [arrayOf({ type: 'boolean' }), [true, false], '[true,false]'],
  [arrayOf({}), [1n, undefined], '[1,null]'],
  [arrayOf({ ...string, enum: ['a', '"'] }), ['"', 'a'], '["\\"","a"]'],
  [
    arrayOf(refTo('Part')),
    [{ a: 'é"', b: 1n }, { b: 2 ** 53 - 1 }],
    '[{"b":1,"a":"é\\""},{"b":9007199254740991}]',
  ],
  [arrayOf(refTo('Part')), [{ b: 2n ** 53n, a: undefined }], '[{"b":9007199254740992}]'],
  [arrayOf(refTo('Part')), [{ b: 1 }, { c: 'x', b: 1n }], '[{"b":1},{"b":1,"c":"x"}]'],
  [arrayOf(refTo('Part')), [{ b: 1, toJSON: () => 'c' }], '["c"]'],
  [arrayOf(refTo('Self')), [{ a: {} }, { b: [{}] }], '[{"a":{}},{"b":[{}]}]'],
  [
    arrayOf(object({ 1: string, a: { type: 'integer' } }, { ...closed, required: ['a'] })),
    [{ 1: 'x', a: 1 }],
    '[{"a":1,"1":"x"}]',
  ],
  [arrayOf(object({ toString: string }, closed)), [{}, { toString: 'x' }], '[{},{"toString":"x"}]'],
  [
    arrayOf(object({ parts: arrayOf(refTo('Part')), whole: { anyOf: [refTo('Part')] } })),
    [{ parts: [{ b: 1n, a: 'x' }] }],
    '[{"parts":[{"b":1,"a":"x"}]}]',
  ],
  [
    arrayOf(object({ parts: arrayOf(refTo('Part')), size: { type: ['integer', 'null'] } }, closed)),
    [{ size: null, parts: [{ a: 'x', b: 1n }] }, {}],
    '[{"parts":[{"b":1,"a":"x"}],"size":null},{}]',
  ],
  [{ type: 'array' }, [1n, undefined, 'a'], '[1,null,"a"]'],
  [{ type: 'array', items: string, prefixItems: [{ type: 'integer' }] }, [1, 'a'], '[1,"a"]'],
  [refTo('Part'), { a: 'x', b: 1 }, '{"b":1,"a":"x"}'],
  [{ ...refTo('Part'), description: 'It.' }, { c: true, b: 1 }, '{"b":1,"c":true}'],
  [refTo('Self'), { b: [{ a: {} }, {}] }, '{"b":[{"a":{}},{}]}'],
  [{ oneOf: [refTo('Part'), string] }, { a: 'x', b: 1n }, '{"a":"x","b":1}'],
  [
    { allOf: [refTo('Base'), object({ size: { type: 'integer' } })] },
    { size: 1n, kind: 'a', z: 1n },
    '{"kind":"a","size":1,"z":1}',
  ],
  [object({ a: string, b: string }), {}, '{}'],
  [object({ a: string, b: string }), { b: 'x' }, '{"b":"x"}'],
  [object({ a: string, b: string }), { a: undefined, b: 'x', c: undefined }, '{"b":"x"}'],
  [object({ a: string, b: string }, closed), { b: 'x', a: 'y' }, '{"a":"y","b":"x"}'],
  [
    object({ a: string }, { ...closed, patternProperties: { '^b': string } }),
    { b: 'y', a: 'x' },
    '{"a":"x","b":"y"}',
  ],
  [object({ a: {} }, closed), { a: { b: 1n } }, '{"a":{"b":1}}'],
  [object({ a: true, b: string }, { ...closed, required: ['a'] }), { a: 1n, b: 'x' }, '{"b":"x","a":1}'],
  [object({ a: string }, { additionalProperties: string }), { b: '"', a: 'x' }, '{"a":"x","b":"\\""}'],
  [
    object({ a: string, 'b"': string, 1: string }, closed),
    { a: 'x', 'b"': 'y', 1: 'z' },
    '{"1":"z","a":"x","b\\"":"y"}',
  ],
  [
    object({ a: string, b: string, c: { type: 'boolean' } }, { required: ['c', 'b'] }),
    { a: 'x', b: 'y', c: true },
    '{"b":"y","c":true,"a":"x"}',
  ],
  [object({ constructor: string, toString: string }), { toString: 'x' }, '{"toString":"x"}'],
  [
    object(JSON.parse('{"__proto__":{"type":"string"}}')),
    JSON.parse('{"__proto__":"x","a":1}'),
    '{"__proto__":"x","a":1}',
  ],
  [object(JSON.parse('{"__proto__":{"type":"string"}}')), {}, '{}'],
  [object({ a: string, b: string }), new Point(), '{"a":"b"}'],
  [object({ a: string }), { a: 'b', toJSON: () => 'c' }, '"c"'],
  [object({ a: string }), Object.create({ a: 'b' }), '{}'],
  [object({ a: string }), { __proto__: null, b: 2, a: 'b' }, '{"a":"b","b":2}'],
]

t.test('a value is written with the declared fields in their order', async (t) => {
  for (const [schema, value, text] of usual)
    for (const write of writersOf(schema)) t.equal(write(value), text, String(stringify(schema)))
})

t.test('schemas that refer twice to the next cost no more for each further level', (t) =>
  testLevels(t, (schema, reader) => printed(schema, reader)),
)

t.test('of random schemas, each value that Ajv accepts is written as it is', async (t) => {
  const random = new Random(66)
  const judge = createJudge(contract.specification)
  let accepted = 0
  for (let i = 0; i < rounds(3_000); i++) {
    const schema = randomSchema(random)
    const validate = unlessInvalid(() => judge('responseBody', schema))
    if (validate === undefined) continue
    const values = Array.from({ length: 20 }, () => randomValue(random, schema, {}))
    const valid = values.filter((each) => validate(each))
    for (const value of valid) checkWritten(t, schema, value)
    accepted += valid.length
  }
  t.ok(accepted > rounds(3_000), `${accepted} values`)
})

function unlessInvalid<Made>(make: () => Made): Made | undefined {
  try {
    return make()
  } catch {
    return undefined // it does not compile
  }
}

function checkWritten(t: Test, schema: Schema, value: unknown): void {
  const [text, other] = writersOf(schema).map((write) => write(value))
  if (other !== text) t.fail(`${stringify(schema)} writes ${text} or ${other}`)
  if (text !== undefined && sorted(JSON.parse(text)) === sorted(JSON.parse(stringify(value) as string)))
    return
  t.fail(`${stringify(schema)} writes ${text}`)
}

// Sorts the fields, because the schema decides their order.
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}
