import t from 'tap'
import { stringify } from 'yaml'
import { readServiceContract } from '../../src/auth/plans.js'
import { firstCall } from '../../src/process/first-call.js'

const responses = { 200: { description: 'It.' } }
const feed = {
  200: { description: 'It.', content: { 'application/jsonl': { schema: { type: 'object' } } } },
}
const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const schemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  header: { type: 'apiKey', in: 'header', name: 'X-Nomad-Token' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
  oauth: { type: 'oauth2', flows: {} },
}

interface Given {
  readonly paths: Readonly<Record<string, object>>
  readonly security?: readonly object[]
  readonly url?: string
  readonly ofKeys?: readonly (keyof typeof schemes)[]
  readonly key?: string | undefined
}

async function called({ paths, security = [], url = '/v1', ofKeys = [], ...given }: Given) {
  const document = {
    openapi: '3.1.0',
    info: { title: 'Toys', version: '1' },
    servers: [{ url }],
    security,
    paths,
    components: { securitySchemes: schemes },
  }
  const contract = await readServiceContract('openapi.yaml', async () => stringify(document))
  const key = 'key' in given ? given.key : 'k'
  return firstCall(contract, 'http://127.0.0.1:3000', new Set(ofKeys), key)
}

const list = { get: { operationId: 'list', responses } }
const one = { get: { operationId: 'get', parameters: [id], responses } }

const calls: [title: string, given: Given, curl: string][] = [
  ['an operation for anybody', { paths: { '/toys': list } }, 'http://127.0.0.1:3000/v1/toys'],
  [
    'one with a key as a bearer token',
    { paths: { '/toys': list }, security: [{ bearer: [] }], ofKeys: ['bearer'] },
    "-H 'Authorization: Bearer k' http://127.0.0.1:3000/v1/toys",
  ],
  [
    'one with a key in a header',
    { paths: { '/toys': list }, security: [{ oauth: [] }, { header: [] }], ofKeys: ['header'] },
    "-H 'X-Nomad-Token: k' http://127.0.0.1:3000/v1/toys",
  ],
  [
    'one with a key in the query',
    { paths: { '/toys': list }, security: [{ query: [] }], ofKeys: ['query'] },
    "'http://127.0.0.1:3000/v1/toys?key=k'",
  ],
  [
    'one with a key in a cookie',
    { paths: { '/toys': list }, security: [{ cookie: [] }], ofKeys: ['cookie'] },
    "-b 'session=k' http://127.0.0.1:3000/v1/toys",
  ],
  [
    'one whose key is optional, without it',
    { paths: { '/toys': list }, security: [{}, { bearer: [] }], ofKeys: ['bearer'] },
    'http://127.0.0.1:3000/v1/toys',
  ],
  [
    'the one that needs no parameter, of several',
    { paths: { '/toys/{id}': one, '/toys': { post: { operationId: 'add', responses }, ...list } } },
    'http://127.0.0.1:3000/v1/toys',
  ],
  [
    'the one that is no stream',
    { paths: { '/feed': { get: { operationId: 'feed', responses: feed } }, '/toys': list } },
    'http://127.0.0.1:3000/v1/toys',
  ],
  [
    'one that is not deprecated',
    {
      paths: {
        '/old': {
          get: { operationId: 'old', deprecated: true, 'x-deprecated-at': '2026-01-01', responses },
        },
        '/toys': list,
      },
    },
    'http://127.0.0.1:3000/v1/toys',
  ],
  [
    'one for anybody, where others need what no key is for',
    {
      paths: {
        '/toys': list,
        '/health': { get: { operationId: 'health', security: [], responses } },
      },
      security: [{ oauth: [] }],
    },
    'http://127.0.0.1:3000/v1/health',
  ],
  [
    'one whose parameters have known values',
    {
      paths: {
        '/areas/{area}': {
          get: {
            operationId: 'get',
            parameters: [
              { name: 'area', in: 'path', required: true, schema: { type: 'string', enum: ["it's", 'b'] } },
              { name: 'X-Version', in: 'header', required: true, schema: { const: 2 } },
              { name: 'q', in: 'query', required: true, schema: { enum: ['a b'] } },
              { name: 'limit', in: 'query', schema: { type: 'integer' } },
            ],
            responses,
          },
        },
      },
    },
    "-H 'X-Version: 2' 'http://127.0.0.1:3000/v1/areas/it'\\''s?q=a+b'",
  ],
  [
    'one of a prefix of several parts, and of a path that is not ASCII',
    { paths: { '/größe': list }, url: 'https://toys.example/ga4gh/tes/v1' },
    'http://127.0.0.1:3000/ga4gh/tes/v1/gr%C3%B6%C3%9Fe',
  ],
]

for (const [title, given, curl] of calls)
  t.test(`curl calls ${title}`, async (t) =>
    t.strictSame(await called(given), { curl: `curl -i -w '\\n' ${curl}` }),
  )

const needs: [title: string, given: Given, text: string][] = [
  ['a path parameter', { paths: { '/toys/{id}': one } }, 'get needs the path parameter id'],
  [
    'a body, or more',
    { paths: { '/toys': { post: { operationId: 'add', responses } } } },
    'add needs a POST with what it takes',
  ],
  [
    'a credential that is no key',
    { paths: { '/toys': list, '/toys/{id}': one }, security: [{ oauth: [] }], ofKeys: ['bearer'] },
    'list needs "Authorization: Bearer <TOKEN>" (oauth)',
  ],
  [
    'a key that is not there',
    { paths: { '/toys': list }, security: [{ header: [] }], ofKeys: ['header'], key: undefined },
    'list needs "X-Nomad-Token: <KEY>" (header)',
  ],
  [
    'two credentials',
    { paths: { '/toys': list }, security: [{ header: [], oauth: [] }], ofKeys: ['header'] },
    'list needs "X-Nomad-Token: <KEY>" (header) and "Authorization: Bearer <TOKEN>" (oauth)',
  ],
]

for (const [title, given, text] of needs)
  t.test(`what a call needs is told where it is ${title}`, async (t) =>
    t.strictSame(await called(given), { needs: text }),
  )

t.test('nothing is told of a contract without operations', async (t) =>
  t.equal(await called({ paths: {} }), undefined),
)
