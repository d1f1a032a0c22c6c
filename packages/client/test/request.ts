// Values that a call refuses before it sends anything, because they would arrive as other values.

import { toContract } from 'contract-engine/tools'
import t from 'tap'
import { clientTable } from '../generator/index.js'
import { toRequest } from '../src/outgoing.js'
import { type CallRequest, writeRequest } from '../src/request.js'
import { operationOf } from '../src/table.js'

const int64 = { type: 'integer', format: 'int64' }
const schemas = {
  Any: {},
  Toy: {
    type: 'object',
    properties: {
      id: int64,
      weight: { type: 'number' },
      tags: { type: 'array', items: int64 },
      inner: { $ref: '#/components/schemas/Toy' },
      open: {},
    },
    patternProperties: { '^n_': int64 },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    allOf: [{ if: { required: ['kind'] }, then: { properties: { size: int64 } } }],
  },
}
const toy = { $ref: '#/components/schemas/Toy' }
const list = { type: 'array', items: int64 }
const object = { type: 'object', properties: { n: int64, list } }
const parameters = [
  { name: 'id', in: 'path', required: true, schema: { anyOf: [int64, { type: 'string' }] } },
  { name: 'ids', in: 'query', schema: list },
  { name: 'deep', in: 'query', style: 'deepObject', schema: object },
  { name: 'json', in: 'query', content: { 'application/json': { schema: toy } } },
  { name: 'free', in: 'query', schema: { type: 'string' } },
  { name: 'X-Shop', in: 'header', schema: int64 },
  { name: 'X-Text', in: 'header', schema: { type: 'string' } },
  { name: 'X-Texts', in: 'header', schema: { type: 'array', items: { type: 'string' } } },
  { name: 'X-Json', in: 'header', content: { 'application/json': { schema: {} } } },
  { name: 'shop', in: 'cookie', schema: int64 },
]
const bodies: Readonly<Record<string, object>> = {
  json: { 'application/json': { schema: toy } },
  any: { 'application/json': { schema: {} } },
  text: { 'text/plain': { schema: int64 } },
  bytes: { 'application/octet-stream': {} },
  form: {
    'application/x-www-form-urlencoded': { schema: { type: 'object', properties: { id: int64, ids: list } } },
  },
  lines: { 'application/x-ndjson': { itemSchema: toy } },
  records: { 'application/json-seq': { itemSchema: toy } },
  parts: { 'multipart/form-data': { schema: { type: 'object', properties: { id: int64, toy } } } },
}
const paths = Object.fromEntries(
  Object.entries(bodies).map(([operationId, content]) => [
    `/${operationId}/{id}`,
    { post: { operationId, parameters, requestBody: { content }, responses: {} } },
  ]),
)
const document = { openapi: '3.1.0', info: { title: 'X', version: '1.0.0' }, paths, components: { schemas } }
const table = clientTable(toContract({ document, text: '' }).contract)

function write(operation: string, request: object): Request {
  const target = { baseUrl: 'http://localhost', headers: {}, table }
  const sent = { path: { id: 1n }, ...request } as CallRequest
  return toRequest(writeRequest(operationOf(table, operation), sent, target), 'follow')
}

const circle: Record<string, unknown> = { name: 'x' }
circle.self = [circle]
const lone = '\ud800'
const inexact = ' is beyond 2^53, where a number is not exact: give a bigint'

const refused: [operation: string, request: object, message: string][] = [
  // A number for an int64 that it cannot represent exactly.
  ['json', { body: { id: 2 ** 60 } }, `body.id${inexact}`],
  ['json', { body: { id: -(2 ** 53) } }, `body.id${inexact}`],
  ['json', { body: { tags: [1n, 2 ** 53] } }, `body.tags[1]${inexact}`],
  ['json', { body: { inner: { inner: { id: 2 ** 60 } } } }, `body.inner.inner.id${inexact}`],
  ['json', { body: { kind: 'x', size: 2 ** 60 } }, `body.size${inexact}`],
  ['json', { body: { 'n_a b': 2 ** 60 } }, `body["n_a b"]${inexact}`],
  ['json', { path: { id: 2 ** 60 } }, `path.id${inexact}`],
  ['json', { query: { ids: [2 ** 60] } }, `query.ids[0]${inexact}`],
  ['json', { query: { deep: { n: 2 ** 60 } } }, `query.deep.n${inexact}`],
  ['json', { query: { json: { tags: [2 ** 60] } } }, `query.json.tags[0]${inexact}`],
  ['json', { header: { 'X-Shop': 2 ** 60 } }, `header["X-Shop"]${inexact}`],
  ['json', { header: { 'x-shop': 2 ** 60 } }, `header["x-shop"]${inexact}`],
  ['json', { cookie: { shop: 2 ** 60 } }, `cookie.shop${inexact}`],
  ['text', { body: 2 ** 60 }, `body${inexact}`],
  ['form', { body: { id: 2 ** 60 } }, `body.id${inexact}`],
  ['form', { body: { ids: [1, 2 ** 60] } }, `body.ids[1]${inexact}`],
  ['parts', { body: { id: 2 ** 60 } }, `body.id${inexact}`],
  ['parts', { body: { toy: { id: 2 ** 60 } } }, `body.toy.id${inexact}`],
  // Values that JSON would write as something else.
  ['any', { body: Number.NaN }, 'body must not be NaN'],
  ['json', { body: { weight: Number.POSITIVE_INFINITY } }, 'body.weight must not be Infinity'],
  ['any', { body: { a: [undefined] } }, 'body.a[0] must not be undefined'],
  ['any', { body: { a: new Array(1) } }, 'body.a[0] must not be undefined'],
  ['any', { body: { a: () => 1 } }, 'body.a must not be a function'],
  ['any', { body: { a: Symbol('x') } }, 'body.a must not be a symbol'],
  ['any', { body: Symbol('x') }, 'body must not be a symbol'],
  ['any', { body: { a: new Map([[1, 2]]) } }, 'body.a must not be a Map'],
  ['any', { body: [new Set([1])] }, 'body[0] must not be a Set'],
  ['any', { body: { a: Promise.resolve(1) } }, 'body.a must not be a Promise'],
  ['any', { body: { a: /x/ } }, 'body.a must not be a RegExp'],
  ['any', { body: { a: new Error('x') } }, 'body.a must not be an Error'],
  ['any', { body: { a: new Uint8Array(1) } }, 'body.a must not be a Uint8Array'],
  ['any', { body: { a: new Date(Number.NaN) } }, 'body.a must not be an invalid Date'],
  ['any', { body: { a: { toJSON: () => Number.NaN } } }, 'body.a must not be NaN'],
  ['any', { body: circle }, 'body.self[0] refers back to an object that contains it'],
  // Values whose text in a parameter or a body would be something else.
  ['json', { path: { id: Symbol('x') } }, 'path.id must not be a symbol'],
  ['json', { path: { id: () => 1 } }, 'path.id must not be a function'],
  ['json', { path: { id: Number.NaN } }, 'path.id must not be NaN'],
  ['json', { path: { id: new Map() } }, 'path.id must not be a Map'],
  ['json', { path: { id: lone } }, 'path.id must not contain a lone surrogate'],
  ['json', { path: { id: [['a', 'b']] } }, 'path.id[0] must be a single value, not an array'],
  ['json', { path: { id: circle } }, 'path.id.self must be a single value, not an array'],
  ['json', { query: { free: new Date(Number.NaN) } }, 'query.free must not be an invalid Date'],
  ['json', { query: { free: Number.NEGATIVE_INFINITY } }, 'query.free must not be -Infinity'],
  ['json', { query: { free: [Symbol('x')] } }, 'query.free[0] must not be a symbol'],
  ['json', { query: { free: { a: { b: 1 } } } }, 'query.free.a must be a single value, not an object'],
  ['json', { query: { deep: { list: [1n] } } }, 'query.deep.list must be a single value, not an array'],
  ['json', { query: { json: { id: Number.NaN } } }, 'query.json.id must not be NaN'],
  ['json', { query: new URLSearchParams('free=1') }, 'query must not be a URLSearchParams'],
  ['json', { query: new Map([['free', '1']]) }, 'query must not be a Map'],
  ['json', { header: new Headers() }, 'header must not be a Headers'],
  ['json', { header: { 'X-Shop': () => 1 } }, 'header["X-Shop"] must not be a function'],
  ...['a\r\nX-Admin: 1', 'a\n', 'a\0b', '\x01', '\x7f', '€'].flatMap((text): typeof refused => [
    ['json', { header: { 'X-Text': text } }, 'header["X-Text"] has characters that a header cannot have'],
    [
      'json',
      { header: { 'x-texts': ['b', text] } },
      'header["x-texts"] has characters that a header cannot have',
    ],
  ]),
  ['json', { header: { 'X-Text': ' a' } }, 'header["X-Text"] must not begin or end with a blank'],
  ['json', { header: { 'X-Text': 'a\t' } }, 'header["X-Text"] must not begin or end with a blank'],
  ['json', { cookie: { shop: circle } }, 'cookie.shop.self must be a single value, not an array'],
  ['text', { body: { a: 1 } }, 'body must be a single value, not an object'],
  ['text', { body: Number.NaN }, 'body must not be NaN'],
  ['text', { body: lone }, 'body must not contain a lone surrogate'],
  [
    'bytes',
    { body: 'text' },
    'body must be a Uint8Array, a Blob, a ReadableStream, or iterate over Uint8Arrays',
  ],
  [
    'bytes',
    { body: null },
    'body must be a Uint8Array, a Blob, a ReadableStream, or iterate over Uint8Arrays',
  ],
  ['lines', { body: { id: 1n } }, 'body must be an array, or iterate over its items asynchronously'],
  ['lines', { body: '{}' }, 'body must be an array, or iterate over its items asynchronously'],
  ['form', { body: 'a=1' }, 'body must be an object with the fields of the form'],
  ['form', { body: null }, 'body must be an object with the fields of the form'],
  ['form', { body: new URLSearchParams('a=1') }, 'body must not be a URLSearchParams'],
  [
    'form',
    { body: { a: new Blob(['x']) } },
    'body.a must not be a file: the contract declares a form without files',
  ],
  ['form', { body: { a: [undefined] } }, 'body.a[0] must not be undefined'],
  // Null, which only JSON has, and values whose text would be split.
  ['json', { query: { ids: [1n, null] } }, 'query.ids[1] must be a single value, not null'],
  ['json', { query: { ids: [undefined] } }, 'query.ids[0] must not be undefined'],
  ['json', { query: { deep: { n: null } } }, 'query.deep.n must be a single value, not null'],
  ['json', { query: { deep: { 'a]': 1n } } }, 'query.deep must not have a name with brackets, or none'],
  [
    'json',
    { header: { 'X-Texts': ['a,b'] } },
    'header["X-Texts"] must not contain ",", which separates its values',
  ],
  ['json', { header: { 'X-Texts': ['a', ''] } }, 'header["X-Texts"] must not contain an empty text'],
  [
    'json',
    { header: { 'X-Texts': ['a', ' b'] } },
    'header["X-Texts"] must not begin or end with a blank, nor what is in it',
  ],
  ['form', { body: { id: null } }, 'body.id must not be null, which a form does not have: leave it out'],
  [
    'parts',
    { body: { ids: [null] } },
    'body.ids[0] must not be null, which a form does not have: leave it out',
  ],
  ['parts', { body: { 'a"b': '' } }, 'a form cannot have the field "a\\"b"'],
  ['parts', { body: { 'a\\': '' } }, 'a form cannot have the field "a\\\\"'],
  ['parts', { body: new FormData() }, 'body must not be a FormData'],
  ['parts', { body: { a: Symbol('x') } }, 'body.a must not be a symbol'],
  ['parts', { body: { toy: circle } }, 'body.toy.self[0] refers back to an object that contains it'],
]
for (const [operation, request, message] of refused) {
  t.test(`${operation}: ${message}`, async (t) => {
    t.throws(() => write(operation, request), { name: 'TypeError', message })
  })
}

const noon = new Date(Date.UTC(2026, 0, 2, 12))
const written = '2026-01-02T12:00:00.000Z'
const pathOf = (request: Request) => decodeURIComponent(new URL(request.url).pathname)
const queryOf = (request: Request) => decodeURIComponent(new URL(request.url).search)

t.test('what JSON can carry is sent as it is', async (t) => {
  const shared = { n: 1 }
  const bodies: [body: unknown, text: string][] = [
    [
      { id: 2 ** 53 - 1, weight: 1e300, open: 2 ** 60 },
      '{"id":9007199254740991,"weight":1e+300,"open":1152921504606847000}',
    ],
    [{ id: 2n ** 60n, weight: 5n }, '{"id":1152921504606846976,"weight":5}'],
    [{ id: 2 ** 64 }, '{"id":18446744073709552000}'],
    [{ a: shared, b: [shared, shared] }, '{"a":{"n":1},"b":[{"n":1},{"n":1}]}'],
    [Object.assign(Object.create(null), { a: undefined, b: null }), '{"b":null}'],
    [
      { at: noon, boxed: [new String('x'), new Number(1), new Boolean(false)] },
      `{"at":"${written}","boxed":["x",1,false]}`,
    ],
    [{ url: new URL('http://localhost/x') }, '{"url":"http://localhost/x"}'],
    [
      new (class Toy {
        name = 'x'
      })(),
      '{"name":"x"}',
    ],
    [lone, '"\\ud800"'],
    [0, '0'],
    [null, 'null'],
  ]
  for (const [body, text] of bodies) t.equal(await write('json', { body }).text(), text)
})

t.test(
  'items are sent line by line, or record by record, from an array or what they are iterated over',
  async (t) => {
    async function* toys() {
      yield { id: 2n ** 60n }
      yield { tags: [1n], open: '\n' }
    }
    const lines = '{"id":1152921504606846976}\n{"tags":[1],"open":"\\n"}\n'
    const request = write('lines', { body: toys() })
    t.equal(request.headers.get('content-type'), 'application/x-ndjson')
    t.equal(await request.text(), lines)
    t.equal(await write('lines', { body: [{ id: 2n ** 60n }, { tags: [1n], open: '\n' }] }).text(), lines)
    t.equal(await write('lines', { body: [] }).text(), '')
    t.equal(await write('records', { body: [{ id: 1n }, {}] }).text(), '\x1e{"id":1}\n\x1e{}\n')
    const many = Array.from({ length: 10_000 }, (_, i) => ({ id: BigInt(i), open: 'a text' }))
    t.equal((await write('lines', { body: many }).text()).split('\n').length, 10_001)
    const message = `body[1].id${inexact}`
    await t.rejects(write('lines', { body: [{}, { id: 2 ** 60 }] }).text(), { name: 'TypeError', message })
  },
)

t.test('the files of a form come behind its fields, and are in the order of the caller', async (t) => {
  const [file, json] = [new Uint8Array([1]), new Blob(['{}'], { type: 'application/json' })]
  const form = await write('parts', {
    body: { front: file, id: 1n, pages: [new Blob(['b']), file], toy: json, back: file, tags: ['x', 'y'] },
  }).formData()
  t.strictSame([...form.keys()], ['id', 'toy', 'tags', 'tags', 'front', 'pages', 'pages', 'back'])
})

t.test('what a text can carry is sent as it is', async (t) => {
  const bare = Object.assign(Object.create(null), { a: 1, b: undefined })
  t.equal(pathOf(write('json', { path: { id: bare } })), '/json/a,1')
  t.equal(pathOf(write('json', { path: { id: noon } })), `/json/${written}`)
  t.equal(pathOf(write('json', { path: { id: 2n ** 60n } })), '/json/1152921504606846976')
  t.equal(queryOf(write('json', { query: { ids: [1, 2n] } })), '?ids=1&ids=2')
  t.equal(queryOf(write('json', { query: bare })), '?a=1')
  t.equal(
    queryOf(write('json', { query: { deep: { n: 1, o: undefined }, free: false, ids: null } })),
    '?deep[n]=1&free=false',
  )
  t.equal(write('json', { header: { 'X-Shop': 5n } }).headers.get('X-Shop'), '5')
  t.equal(write('json', { header: { 'X-Text': 'a \t\xe9' } }).headers.get('X-Text'), 'a \t\xe9')
  t.equal(write('json', { header: { 'X-Json': '\r\n€' } }).headers.get('X-Json'), '"\\r\\n\\u20ac"')
  t.equal(await write('text', { body: noon }).text(), written)
  t.equal(
    await write('form', { body: { id: 1n, at: noon, o: { n: 1n } } }).text(),
    String(new URLSearchParams({ id: '1', at: written, o: '{"n":1}' })),
  )
})

const owner = { name: 'owner', in: 'path', required: true, schema: { type: 'string' } }
const named = ['name', 'type'].map((name) => ({ ...owner, name }))
const routes = {
  '/owners/{owner}': { delete: { operationId: 'deleteOwner', parameters: [owner], responses: {} } },
  '/owners/all': { delete: { operationId: 'deleteAllOwners', responses: {} } },
  '/owners/some': { get: { operationId: 'getSomeOwners', responses: {} } },
  '/files/{name}.{type}': { get: { operationId: 'getFile', parameters: named, responses: {} } },
}
const routed = clientTable(toContract({ document: { ...document, paths: routes }, text: '' }).contract)
const inPath: [operation: string, path: object, result: string | RegExp][] = [
  ['deleteOwner', { owner: 'all' }, 'the path /owners/all is that of another operation'],
  ['deleteOwner', { owner: 'ALL' }, /\/owners\/ALL$/],
  ['deleteOwner', { owner: 'some' }, /\/owners\/some$/],
  ['getFile', { name: 'a.tar', type: 'gz' }, /\/files\/a\.tar\.gz$/],
  [
    'getFile',
    { name: 'a', type: 'tar.gz' },
    'the path parameter name must not contain the text that ends it in /files/a.tar.gz',
  ],
]
for (const [operation, path, result] of inPath) {
  t.test(`${operation} with ${JSON.stringify(path)} is its own, or refused`, async (t) => {
    const target = { baseUrl: 'http://localhost', headers: {}, table: routed }
    const write = () => writeRequest(operationOf(routed, operation), { path } as CallRequest, target).url
    if (typeof result === 'string') t.throws(write, { name: 'TypeError', message: result })
    else t.match(write(), result)
  })
}

t.test('an operation with servers of its own is called under their path', async (t) => {
  const get = (operationId: string, url: string) => ({
    get: { operationId, servers: [{ url }], responses: {} },
  })
  const own = { '/health': get('health', '/'), '/old': get('old', '/v0'), '/same': get('same', '/v1') }
  const moved = { ...document, servers: [{ url: '/v1' }], paths: own }
  const table = clientTable(toContract({ document: moved, text: '' }).contract)
  const urlOf = (id: string, baseUrl: string) =>
    writeRequest(operationOf(table, id), {} as CallRequest, { baseUrl, headers: {}, table }).url
  t.equal(urlOf('health', 'https://a.example/api/v1'), 'https://a.example/api/health')
  t.equal(urlOf('old', 'https://a.example/v1'), 'https://a.example/v0/old')
  t.equal(urlOf('same', 'https://a.example/v1'), 'https://a.example/v1/same')
  t.equal(urlOf('old', 'https://gateway.example/toys'), 'https://gateway.example/toys/v0/old')
})
