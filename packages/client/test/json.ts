import { schemaKeywords, toContract } from 'contract-engine/tools'
import t from 'tap'
import { clientTable } from '../generator/index.js'
import { decode, encode } from '../src/json.js'
import { readResponseBody } from '../src/response-body.js'
import { type ClientTable, operationOf, placeOfSchema } from '../src/table.js'

const int64 = { type: 'integer', format: 'int64' }
const max = 9223372036854775807n

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } })

// Returns the client's table for a contract with one operation, x, that has these responses.
function tableOf(responses: object, schemas: object = {}): ClientTable {
  const paths = { '/x': { get: { operationId: 'x', responses } } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'X', version: '1.0.0' },
    paths,
    components: { schemas },
  }
  return clientTable(toContract({ document, text: '' }).contract)
}

// Decodes a body like a client of a contract with this response schema and these schemas.
function read(text: string, schema: object, schemas?: object): unknown {
  const table = tableOf({ 200: json(schema) }, schemas)
  return decode(text, table.operations.x?.numbers?.['200']?.['application/json'] ?? undefined, table.schemas)
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const tree = { type: 'object', properties: { id: int64, children: { type: 'array', items: ref('Tree') } } }

const cases: [title: string, schema: object, text: string, value: unknown, schemas?: object][] = [
  ['an int64, however small', int64, '1', 1n],
  ['an int64 at its upper end', int64, '9223372036854775807', max],
  ['an int64 at its lower end', int64, '-9223372036854775808', -max - 1n],
  ['an int64 beyond the exact range of a double', int64, '9007199254740993', 9007199254740993n],
  ['an int64 that may be null, as a number', { type: ['integer', 'null'], format: 'int64' }, '5', 5n],
  ['an int64 that may be null, as null', { type: ['integer', 'null'], format: 'int64' }, 'null', null],
  ['an int32', { type: 'integer', format: 'int32' }, '7', 7],
  ['a number of any size', { type: 'number' }, '100000000000000000000', 1e20],
  ['a fraction', { type: 'number' }, '0.5', 0.5],
  ['a field', { properties: { a: int64, b: { type: 'integer' } } }, '{"a":1,"b":1}', { a: 1n, b: 1 }],
  ['a field named like a method', { properties: { a: int64 } }, '{"toString":1}', { toString: 1 }],
  [
    'any other field',
    { additionalProperties: int64, properties: { a: {} } },
    '{"a":1,"b":1}',
    { a: 1, b: 1n },
  ],
  ['a pattern property', { patternProperties: { '^x': int64 } }, '{"x1":1}', { x1: 1n }],
  ['an element', { items: { items: int64 } }, '[[1,2],[]]', [[1n, 2n], []]],
  ['an element by position', { prefixItems: [{}, int64], items: {} }, '[1,1,1]', [1, 1n, 1]],
  ['elements after those by position', { prefixItems: [{ type: 'object' }], items: int64 }, '[1,1]', [1, 1n]],
  [
    'fields of several alternatives',
    { allOf: [{ properties: { a: int64 } }, { properties: { b: { oneOf: [{ type: 'string' }, int64] } } }] },
    '{"a":1,"b":2,"c":3}',
    { a: 1n, b: 2n, c: 3 },
  ],
  ['a schema by reference', ref('Id'), '1', 1n, { Id: int64 }],
  [
    'a schema by a chain of references',
    ref('A'),
    '[1]',
    [1n],
    { A: ref('B'), B: { items: ref('C') }, C: int64 },
  ],
  ['a schema whose name is escaped', { $ref: '#/components/schemas/a~1b%20c' }, '1', 1n, { 'a/b c': int64 }],
  [
    'a recursive schema',
    ref('Tree'),
    '{"id":1,"children":[{"id":2,"children":[{"id":3}]}]}',
    { id: 1n, children: [{ id: 2n, children: [{ id: 3n }] }] },
    { Tree: tree },
  ],
]

for (const [title, schema, text, value, schemas] of cases) {
  t.test(`${title} is decoded exactly, with the type of its schema`, async (t) => {
    t.strictSame(read(text, schema, schemas), value)
  })
}

// Each keyword that contains schemas, and a value whose numbers they describe. Small numbers become bigints,
// too, unless the keyword is only a condition.
const big = 9007199254740993n
const nested = { properties: { a: int64 } }
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
const conditional = { if: { required: ['a'] }, then: nested }
const keywords: [keyword: string, schema: object, value: unknown, schemas?: object][] = [
  ['allOf', { allOf: [int64] }, 1n],
  ['anyOf', { anyOf: [int64, { type: 'string' }] }, 1n],
  ['oneOf', { oneOf: [{ type: 'null' }, int64] }, 1n],
  ['then', conditional, { a: 1n }],
  ['else', { if: { required: ['b'] }, else: nested }, { a: 1n }],
  ['dependentSchemas', { dependentSchemas: { a: nested } }, { a: 1n }],
  ['if', { if: nested }, { a: big }],
  ['not', { not: { properties: { b: int64 } } }, { a: big }],
  ['properties', nested, { a: 1n }],
  ['patternProperties', { patternProperties: { '^a': int64 } }, { a: 1n }],
  ['additionalProperties', { additionalProperties: int64 }, { a: 1n }],
  ['unevaluatedProperties', { properties: { b: {} }, unevaluatedProperties: int64 }, { a: 1n, b: 1 }],
  ['propertyNames', { propertyNames: { type: 'string' } }, { a: big }],
  ['items', { items: int64 }, [1n]],
  ['prefixItems', { prefixItems: [int64] }, [1n, 1]],
  ['unevaluatedItems', { prefixItems: [{}], unevaluatedItems: int64 }, [1, 1n]],
  ['contains', { contains: int64 }, [big]],
  ['$defs', { $defs: { a: int64 } }, { a: big }],
  ['definitions', { definitions: { a: int64 } }, { a: big }],
  ['contentSchema', { contentSchema: int64 }, big],
]
t.test('every keyword with schemas is read, as the engine lists them', async (t) => {
  t.strictSame(new Set(keywords.map(([keyword]) => keyword)), new Set(schemaKeywords.keys()))
  for (const [keyword, schema, value] of keywords) t.strictSame(read(encode(value), schema), value, keyword)
})

const others: [title: string, schema: object, value: unknown, schemas?: object][] = [
  [
    'a $ref with siblings',
    { ...nested, $ref: '#/components/schemas/B' },
    { a: 1n, b: 1n },
    {
      B: { properties: { b: int64 } },
    },
  ],
  [
    'a nested $dynamicRef',
    ref('Tree'),
    { id: 1n, list: [{ id: big, list: [] }] },
    {
      Tree: {
        $dynamicAnchor: 'node',
        properties: { id: int64, list: { items: { $dynamicRef: '#node' } } },
      },
    },
  ],
  [
    'two schemas that refer to each other',
    ref('A'),
    { b: { a: { n: 1n } } },
    {
      A: { properties: { b: ref('B'), n: int64 } },
      B: { properties: { a: ref('A') } },
    },
  ],
  [
    'an int64 by one pattern, a number by another',
    {
      patternProperties: { '^n': { type: 'number' }, '^i': int64 },
      additionalProperties: int64,
    },
    { n1: 1, i1: 1n, o: 1n },
  ],
  [
    'a declared property that matches a pattern',
    {
      properties: { id: {} },
      patternProperties: { '^i': int64 },
    },
    { id: 1n },
  ],
  [
    'a pattern that JavaScript reads without the flag u alone',
    {
      patternProperties: { '^a{': int64, '\\-': int64 },
    },
    { 'a{': 1n, '-': 1n, a: 1 },
  ],
  [
    'what unevaluatedProperties describes, and not what a referred part does',
    {
      allOf: [ref('Part')],
      oneOf: [{ properties: { c: { type: 'integer' } } }, { properties: { d: {} } }],
      unevaluatedProperties: int64,
    },
    { a: 1, b1: 1, c: 1, d: 1, e: 1n },
    {
      Part: { properties: { a: { type: 'integer' } }, patternProperties: { '^b': { type: 'integer' } } },
    },
  ],
  [
    'what unevaluatedItems describes, and not what a part does',
    {
      allOf: [{ prefixItems: [{}, {}] }],
      prefixItems: [{}],
      unevaluatedItems: int64,
    },
    [1, 1, 1n],
  ],
  [
    'unevaluatedItems of numbers beside an int64 that contains matches',
    {
      contains: int64,
      unevaluatedItems: { type: 'number' },
    },
    [big, 0.5],
  ],
  ['a number that may be an int64', { anyOf: [{ type: 'number' }, int64] }, big],
  [
    '`then` in a part by reference',
    { allOf: [ref('Part')] },
    { a: 1n },
    {
      Part: conditional,
    },
  ],
]
for (const [title, schema, value, schemas] of others) {
  t.test(`${title} is decoded exactly`, async (t) => {
    t.strictSame(read(encode(value), schema, schemas), value)
  })
}

t.test('a number that no schema describes is exact', async (t) => {
  const undescribed = [{}, true, { type: 'object' }, { properties: { other: int64 } }, { type: 'array' }]
  for (const schema of undescribed) {
    for (const value of [
      big,
      -big,
      max,
      2n ** 60n,
      1152921504606847000n,
      2n ** 64n + 1n,
      1,
      0.5,
      -0.5,
      2 ** 53 - 1,
    ])
      t.strictSame(read(encode({ a: [value] }), schema as object), { a: [value] }, `${value}`)
  }
})

t.test('an integer is exact in every way to write it', async (t) => {
  for (const text of ['9007199254740993.0', '9.007199254740993e15', '9007199254740993000e-3'])
    for (const schema of [int64, {}]) t.equal(read(text, schema), big, text)
  t.equal(read('1e3', int64), 1000n)
  t.equal(read('1e300', {}), 1e300, 'beyond 64 bits an exponent means a double')
})

t.test('an integer beyond the range of its schema is not rounded', async (t) => {
  t.equal(read(`${big}`, { type: 'integer' }), big)
})

t.test('each media type of a response has its own numbers', async (t) => {
  const content = {
    'application/json': { schema: { properties: { n: { type: 'integer' } } } },
    'application/vnd.toy+json': { schema: { properties: { n: int64 } } },
    'application/vnd.open+json': {},
  }
  const table = tableOf({ 200: { content } })
  const answer = (type?: string) => {
    const response = new Response(null, { headers: type === undefined ? {} : { 'Content-Type': type } })
    return readResponseBody(operationOf(table, 'x'), response, bytesOf('{"n":1}'))
  }
  t.strictSame(answer('application/json'), { n: 1 })
  t.strictSame(answer('Application/vnd.toy+json; charset=utf-8'), { n: 1n })
  t.strictSame(answer('application/vnd.open+json'), { n: 1 })
  t.strictSame(answer('application/problem+json'), { n: 1n }, 'of another type, any of them')
  t.strictSame(answer(), { n: 1n })
})

t.test('every schema of the contract is in the table, for parse, whatever its name', async (t) => {
  const { schemas } = tableOf({ 204: {} }, { Half: { type: 'number' }, None: {}, 'a/b ~c': nested })
  t.strictSame(schemas, {
    [String(placeOfSchema('Half'))]: 'number',
    [String(placeOfSchema('a/b ~c'))]: { properties: { a: 'int64' } },
  })
  t.strictSame(decode('{"a":1}', placeOfSchema('a/b ~c'), schemas), { a: 1n })
  t.strictSame(decode('{"a":1}', placeOfSchema('None'), schemas), { a: 1 })
})

t.test('schemas without int64 are not in the table', async (t) => {
  const schemas = { A: { properties: { a: { type: 'string' } } }, B: { items: ref('B') } }
  const { operations, schemas: found } = tableOf({ 200: json({ anyOf: [ref('A'), ref('B')] }) }, schemas)
  t.strictSame([operations, found], [{ x: { method: 'GET', path: '/x' } }, {}])
})

t.test('the declaration of a status takes precedence over that of its class', async (t) => {
  const table = tableOf({ 200: json({ type: 'number' }), '2XX': json(int64) })
  const answer = (status: number) =>
    readResponseBody(operationOf(table, 'x'), new Response(null, { status }), bytesOf('1'))
  t.equal(answer(200), 1)
  t.equal(answer(201), 1n)
})

t.test('a bigint is written as an exact number', async (t) => {
  t.equal(
    encode({ id: max, list: [-1n, 1, 'x', null], left: undefined }),
    `{"id":${max},"list":[-1,1,"x",null]}`,
  )
})
