// A mock sends examples as they are in the contract, and says in `Preference-Applied` if it applied a
// preference.

import t, { type Test } from 'tap'
import { readContract } from '../../src/compile/index.js'
import { buildMock } from '../../src/mock/index.js'
import { anError, mocked } from '../fixtures/mocked.js'

const Id = { type: 'object', required: ['id'], properties: { id: { type: 'integer', format: 'int64' } } }
const json = (media: object) => ({ 200: { description: 'It.', content: { 'application/json': media } } })
const get = (operationId: string, responses: object, more: object = {}) => ({
  get: { operationId, responses: { ...responses, default: anError }, ...more },
})

async function served(t: Test, document: object) {
  const app = await mocked(t, document)
  return (url: string, prefer?: string, more: object = {}) =>
    app.inject({ url, headers: { ...(prefer !== undefined && { prefer }), ...more } })
}

const big = 2n ** 53n + 1n
const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

const exact: readonly (readonly [title: string, media: object, text: string])[] = [
  ['example', { schema: Id, example: { id: big } }, `{"id":${big}}`],
  ['example of 64 bits', { schema: Id, example: { id: most } }, `{"id":${most}}`],
  ['negative example', { schema: Id, example: { id: least } }, `{"id":${least}}`],
  ['2^53 itself', { schema: Id, example: { id: 2n ** 53n } }, `{"id":${2n ** 53n}}`],
  ['value of examples', { schema: Id, examples: { a: { value: { id: big } } } }, `{"id":${big}}`],
  ['dataValue', { schema: Id, examples: { a: { dataValue: { id: big } } } }, `{"id":${big}}`],
  ['serializedValue', { schema: Id, examples: { a: { serializedValue: `{"id":${big}}` } } }, `{"id":${big}}`],
  [
    'shared example',
    { schema: Id, examples: { a: { $ref: '#/components/examples/Shared' } } },
    `{"id":${most}}`,
  ],
  ['example of a schema', { schema: { ...Id, example: { id: big } } }, `{"id":${big}}`],
  ['examples of a schema', { schema: { ...Id, examples: [{ id: big }] } }, `{"id":${big}}`],
  [
    'example of a field',
    { schema: { type: 'object', properties: { id: { type: 'integer', format: 'int64', example: big } } } },
    `{"id":${big}}`,
  ],
  [
    'example of a shared schema, in a list and a map',
    { schema: { type: 'array', items: { additionalProperties: { $ref: '#/components/schemas/Big' } } } },
    `[{"key":${least}}]`,
  ],
  ['nested one', { example: { a: [{ b: [big, 1.5] }] } }, `{"a":[{"b":[${big},1.5]}]}`],
  ['one beyond 64 bits, of any schema', { example: 2n ** 70n }, String(2n ** 70n)],
  [
    'one beyond 64 bits is passed over where 64 are declared',
    { schema: Id, example: { id: 2n ** 70n } },
    '{"id":1}',
  ],
  ['default', { schema: { type: 'integer', format: 'int64', default: big } }, String(big)],
  ['enum', { schema: { type: 'integer', format: 'int64', enum: [big, most] } }, String(big)],
  ['const', { schema: { type: 'integer', format: 'int64', const: most } }, String(most)],
]

t.test('integers beyond 2^53 are exact', async (t) => {
  const paths = Object.fromEntries(exact.map(([, media], i) => [`/${i}`, get(`get${i}`, json(media))]))
  const ask = await served(t, {
    openapi: '3.2.0',
    paths,
    components: {
      schemas: { Big: { type: 'integer', format: 'int64', example: least } },
      examples: { Shared: { value: { id: most } } },
    },
  })
  for (const [i, [title, , text]] of exact.entries()) t.equal((await ask(`/${i}`)).payload, text, title)
})

t.test('they are so in YAML, in headers and by a name', async (t) => {
  const text = `openapi: 3.0.3
info: { title: Ids, version: 1.0.0 }
paths:
  /id:
    get:
      operationId: getId
      responses:
        '200':
          description: It.
          headers: { X-Last: { schema: { type: integer, format: int64 }, example: 9223372036854775807 } }
          content:
            application/json:
              schema: { type: object, properties: { id: { type: integer, format: int64 }, n: { type: number } } }
              examples: { small: { value: { id: 5 } }, big: { value: { id: -9007199254740993, n: 1.10 } } }
`
  const { app } = await buildMock(await readContract('openapi.yaml', async () => text))
  t.teardown(() => app.close())
  const { payload, headers } = await app.inject({ url: '/id', headers: { prefer: 'example=big' } })
  t.equal(payload, '{"id":-9007199254740993,"n":1.1}')
  t.match(headers, { 'x-last': '9223372036854775807', 'preference-applied': 'example=big' })
})

const Name = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
const missing = { value: { code: 'gone', message: 'It is gone.', status: 404 } }

t.test('only what was applied is said to be', async (t) => {
  const lines = {
    'application/jsonl': { itemSchema: Name, examples: { two: { value: [{ name: 'a' }, { name: 'b' }] } } },
  }
  const ask = await served(t, {
    openapi: '3.2.0',
    paths: {
      '/pet': get('getPet', {
        200: {
          description: 'It.',
          headers: { 'Preference-Applied': { schema: { type: 'string' } } },
          content: {
            'application/json': {
              schema: Name,
              examples: { bob: { value: { name: 'Bob' } }, wrong: { value: { name: 1 } } },
            },
            'text/plain': {
              schema: { type: 'string' },
              examples: { bob: { value: 'Bob!' }, text: { value: 'T' } },
            },
          },
        },
        404: {
          description: 'None.',
          content: { 'application/json': { schema: {}, examples: { gone: missing, wrong: missing } } },
        },
      }),
      '/lines': get('listLines', { 200: { description: 'All.', content: lines } }),
    },
  })
  const cases: readonly (readonly [
    prefer: string | undefined,
    status: number,
    applied: string | undefined,
  ])[] = [
    [undefined, 200, undefined],
    ['example=bob', 200, 'example=bob'],
    ['example=wrong', 404, 'example=wrong'],
    ['code=200, example=wrong', 200, 'code=200'],
    ['code=404, example=gone', 404, 'code=404, example=gone'],
    ['code=404, example=bob', 404, 'code=404'],
    ['code=103, example=gone', 404, 'example=gone'],
    ['code=404, example=none, dynamic=true', 404, 'code=404'],
    ['dynamic=true, respond-async', 200, undefined],
    ['example=text', 200, 'example=text'],
  ]
  for (const [prefer, status, applied] of cases) {
    const { statusCode, headers } = await ask('/pet', prefer)
    t.equal(statusCode, status, `${prefer}`)
    t.equal(headers['preference-applied'], applied, `${prefer}`)
  }
  const text = await ask('/pet', 'example=bob', { accept: 'text/plain' })
  t.equal(text.payload, 'Bob!', 'of the type that is accepted')
  const stream = await ask('/lines', 'example=two')
  t.equal(stream.payload, '{"name":"a"}\n{"name":"b"}\n')
  t.equal(stream.headers['preference-applied'], 'example=two')
  t.equal((await ask('/lines', 'example=none')).headers['preference-applied'], undefined)
})
