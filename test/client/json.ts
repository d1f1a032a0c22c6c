import t from 'tap'
import { clientTable } from '../../scripts/generate/client.js'
import { decode, encode } from '../../src/client/json.js'
import { readResponseBody } from '../../src/client/response-body.js'
import { type ClientTable, operationOf } from '../../src/client/table.js'
import { toContract } from '../../src/openapi/tools.js'

const int64 = { type: 'integer', format: 'int64' }
const max = 9223372036854775807n

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } })

// The table of a contract with one operation, x, that has these responses.
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
  return decode(text, table.operations.x?.int64?.['200'], table.schemas)
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
