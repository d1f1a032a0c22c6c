// A mock as its callers see it: over HTTP, or by app.inject.

import { notImplemented } from 'contract-engine'
import { buildMock, type MockOptions } from 'contract-engine/mock'
import { anyError, contractOf } from 'contract-testing/engine'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'

const Pet = {
  type: 'object',
  required: ['id', 'name'],
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string', example: 'Rex' } },
}
const json = (schema: unknown, more: object = {}) => ({ 'application/json': { schema, ...more } })
const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } }
const named = {
  examples: {
    rex: { value: { id: 1, name: 'Rex' } },
    'two words': { value: { id: 2, name: 'Misty' } },
    wrong: { value: { id: 'x' } },
  },
}
const missing = {
  description: 'None.',
  content: json(
    { $ref: '#/components/schemas/Error' },
    {
      examples: { gone: { value: { code: 'gone', message: 'It is gone.', status: 404 } } },
    },
  ),
}
const stream = (type: string, itemSchema: object) => ({
  200: { description: 'All.', content: { [type]: { itemSchema } } },
})
const event = {
  type: 'object',
  required: ['event', 'data'],
  properties: { event: { enum: ['born', 'sold'] }, data: { type: 'integer' } },
}

const document = {
  openapi: '3.2.0',
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        parameters: [id],
        responses: {
          200: { description: 'It.', content: json(Pet, named) },
          404: missing,
          default: anyError,
        },
      },
      put: {
        operationId: 'putPet',
        security: [{ key: ['pets:write'] }],
        parameters: [id],
        requestBody: { required: true, content: json(Pet) },
        responses: { 200: { description: 'It.', content: json(Pet) }, default: anyError },
      },
      delete: {
        operationId: 'deletePet',
        security: [{ certificate: [] }],
        parameters: [id],
        responses: { 204: { description: 'Gone.' }, default: anyError },
      },
    },
    '/pets': {
      post: {
        operationId: 'addPet',
        security: [{ name: [] }, { token: [] }],
        responses: {
          201: {
            description: 'Added.',
            headers: {
              Location: {
                required: true,
                schema: { type: 'string', format: 'uri-reference' },
                example: '/pets/1',
              },
            },
          },
          default: anyError,
        },
      },
      get: {
        operationId: 'listPets',
        responses: {
          200: {
            description: 'All.',
            headers: {
              'X-Total': { schema: { type: 'integer', minimum: 7 } },
              'X-Trace': {
                required: true,
                'x-set-by-server': true,
                schema: { type: 'string', pattern: '^[a-f]{4}$' },
              },
            },
            content: {
              ...json({ type: 'array', items: Pet }),
              'text/csv': { schema: { type: 'array', items: Pet } },
              'text/plain': { schema: { type: 'string' }, example: 'Rex' },
            },
          },
          default: anyError,
        },
      },
    },
    '/photo': {
      get: {
        operationId: 'photo',
        responses: { '2XX': { description: 'It.', content: { 'image/*': {} } }, default: anyError },
      },
    },
    '/never': {
      get: {
        operationId: 'never',
        responses: { 200: { description: 'It.', content: json(false) }, default: anyError },
      },
    },
    '/failing': { get: { operationId: 'failing', responses: { 404: missing } } },
    '/lenient': {
      get: {
        operationId: 'lenient',
        responses: {
          default: {
            description: 'It.',
            content: json(Pet),
          },
        },
      },
    },
    '/events': { get: { operationId: 'events', responses: stream('text/event-stream', event) } },
    '/lines': { get: { operationId: 'lines', responses: stream('application/jsonl', Pet) } },
    '/sequence': { get: { operationId: 'sequence', responses: stream('application/json-seq', Pet) } },
  },
  components: {
    schemas: {
      Error: {
        type: 'object',
        required: ['code', 'message', 'status'],
        properties: { code: { type: 'string' }, message: { type: 'string' }, status: { type: 'integer' } },
      },
    },
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      token: { type: 'http', scheme: 'bearer' },
      name: { type: 'http', scheme: 'basic' },
      certificate: { type: 'mutualTLS' },
    },
  },
}

async function mockOf(t: Test, options?: MockOptions, contract: object = document): Promise<FastifyInstance> {
  const { app, left } = await buildMock(await contractOf(contract), options)
  t.teardown(() => app.close())
  t.match(
    left,
    contract === document ? [{ text: /never 200 .* give it an example/, at: ['paths', '/never'] }] : [],
  )
  return app
}

const prefer = (text: string) => ({ headers: { prefer: text } })
const rex = { id: 1, name: 'Rex' }

interface Case {
  readonly title: string
  readonly ask: InjectOptions | string
  readonly status: number
  readonly headers?: object
  readonly body?: unknown
}

const cases: readonly Case[] = [
  {
    title: "the contract's first example",
    ask: '/pets/7',
    status: 200,
    body: rex,
    headers: { vary: 'Prefer', 'preference-applied': undefined },
  },
  {
    title: 'an example by its name',
    ask: { url: '/pets/7', ...prefer('example="two words"') },
    status: 200,
    body: { id: 2, name: 'Misty' },
    headers: { 'preference-applied': 'example="two words"' },
  },
  {
    title: 'another status',
    ask: { url: '/pets/7', ...prefer('code=404') },
    status: 404,
    body: { code: 'gone' },
    headers: { 'preference-applied': 'code=404' },
  },
  {
    title: 'the status that has an example of this name',
    ask: { url: '/pets/7', ...prefer('example=gone') },
    status: 404,
    body: { code: 'gone' },
    headers: { 'preference-applied': 'example=gone' },
  },
  {
    title: 'a status that only default declares',
    ask: { url: '/pets/7', ...prefer('code=409') },
    status: 409,
    headers: { 'preference-applied': 'code=409' },
  },
  {
    title: 'the usual response where there is no such example',
    ask: { url: '/pets/7', ...prefer('example=nobody') },
    status: 200,
    body: rex,
    headers: { 'preference-applied': undefined },
  },
  { title: 'no interim status', ask: { url: '/pets/7', ...prefer('code=103') }, status: 200, body: rex },
  {
    title: 'no status that is none',
    ask: { url: '/pets/7', ...prefer('code=99999') },
    status: 200,
    body: rex,
  },
  {
    title: 'no status without content where content is declared',
    ask: { url: '/lenient', ...prefer('code=204') },
    status: 200,
    headers: { 'preference-applied': undefined },
  },
  {
    title: 'the usual one where no such status is declared',
    ask: { url: '/events', ...prefer('code=302') },
    status: 200,
    headers: { 'preference-applied': undefined },
  },
  {
    title: 'a value of the schema without an example',
    ask: '/pets',
    status: 200,
    body: [rex],
    headers: { 'x-total': '7', 'x-trace': /^[a-f]{4}$/ },
  },
  {
    title: 'what Accept prefers',
    ask: { url: '/pets', headers: { accept: 'text/csv' } },
    status: 200,
    body: 'id,name\r\n1,Rex\r\n',
  },
  { title: 'text', ask: { url: '/pets', headers: { accept: 'text/plain' } }, status: 200, body: 'Rex' },
  {
    title: 'a type of a range, and a status of a class',
    ask: '/photo',
    status: 200,
    headers: { 'content-type': 'image/png' },
  },
  { title: 'the first error where no success is declared', ask: '/failing', status: 404 },
  { title: 'the head alone', ask: { url: '/pets/7', method: 'HEAD' }, status: 200, body: '' },
  { title: '501 where no value is allowed', ask: '/never', status: 501 },
  {
    title: '400 for a parameter that is not as declared',
    ask: '/pets/seven',
    status: 400,
    body: { code: 'invalid_request' },
  },
  { title: '400 before any preference', ask: { url: '/pets/seven', ...prefer('code=404') }, status: 400 },
  { title: '404 for an unknown path', ask: '/nowhere', status: 404, body: { code: 'route_not_found' } },
  {
    title: '405 with Allow',
    ask: { url: '/photo', method: 'DELETE' },
    status: 405,
    headers: { allow: 'GET, HEAD' },
  },
  {
    title: '401 without a credential',
    ask: { url: '/pets/7', method: 'PUT', payload: rex },
    status: 401,
    headers: { 'www-authenticate': /ApiKey.*X-Key/ },
  },
  {
    title: 'with any credential',
    ask: { url: '/pets/7', method: 'PUT', payload: rex, headers: { 'x-key': 'any' } },
    status: 200,
    body: rex,
  },
  {
    title: '400 for a body that is not as declared',
    ask: { url: '/pets/7', method: 'PUT', payload: {}, headers: { 'x-key': 'any' } },
    status: 400,
  },
  {
    title: '415 for another type',
    ask: {
      url: '/pets/7',
      method: 'PUT',
      payload: 'x',
      headers: { 'x-key': 'any', 'content-type': 'text/plain' },
    },
    status: 415,
  },
  {
    title: '401 for a credential of no declared form',
    ask: { url: '/pets', method: 'POST', headers: { authorization: 'Basic ???' } },
    status: 401,
    headers: { 'www-authenticate': /Basic.*Bearer/ },
  },
  {
    title: 'either of two that are sent in one header',
    ask: { url: '/pets', method: 'POST', headers: { authorization: 'Bearer any' } },
    status: 201,
    body: '',
    headers: { location: 'http://localhost/pets/1' },
  },
  {
    title: 'without what no request carries',
    ask: { url: '/pets/7', method: 'DELETE' },
    status: 204,
    body: '',
  },
]

t.test('a mock responds with', async (t) => {
  const app = await mockOf(t)
  for (const { title, ask, status, headers = {}, body } of cases) {
    t.test(title, async (t) => {
      const first = await app.inject(ask)
      const second = await app.inject(ask)
      t.equal(first.statusCode, status, first.payload)
      t.equal(second.payload, first.payload, 'the same again')
      for (const [name, value] of Object.entries(headers)) t.match(first.headers[name] ?? '', value ?? '')
      if (body !== undefined) t.match(typeof body === 'string' ? first.payload : first.json(), body)
    })
  }
})

t.test('each item of a request is validated', async (t) => {
  const requestBody = { content: { 'application/x-ndjson': { itemSchema: Pet } } }
  const responses = { 204: { description: 'Done.' }, default: anyError }
  const { app } = await buildMock(
    await contractOf({
      openapi: '3.2.0',
      paths: { '/pets': { post: { operationId: 'importPets', requestBody, responses } } },
      components: document.components,
    }),
  )
  t.teardown(() => app.close())
  const send = (payload: string) =>
    app.inject({ method: 'POST', url: '/pets', headers: { 'content-type': 'application/x-ndjson' }, payload })
  t.equal((await send('{"id":1,"name":"Rex"}\n')).statusCode, 204)
  const refused = await send('{"id":1,"name":"Rex"}\n{"id":2}\n')
  t.match(refused, { statusCode: 400 })
  t.match(refused.json().message, 'body[1].name is required (line 2)')
})

t.test('streams are a few items', async (t) => {
  const app = await mockOf(t)
  const texts: readonly (readonly [url: string, text: string])[] = [
    [
      '/events',
      ['event: born\ndata: 1\n\n', 'event: born\ndata: 1\n\n', 'event: born\ndata: 1\n\n'].join(''),
    ],
    ['/lines', '{"id":1,"name":"Rex"}\n'.repeat(3)],
    ['/sequence', '\x1e{"id":1,"name":"Rex"}\n'.repeat(3)],
  ]
  for (const [url, text] of texts) t.equal((await app.inject(url)).payload, text, url)
})

t.test('a handler responds itself, and a stub is made', async (t) => {
  const handlers = {
    getPet: async ({ params }: { params: { id: number } }, context: unknown) => {
      return { status: 200, body: { id: params.id, name: String(context) } }
    },
    listPets: notImplemented('listPets'),
  }
  const app = await mockOf(t, { handlers, context: () => 'mine' })
  t.strictSame((await app.inject({ url: '/pets/7', ...prefer('code=404') })).json(), { id: 7, name: 'mine' })
  t.strictSame((await app.inject('/pets')).json(), [rex])
})

t.test('a check that is given is asked, and others accept any credential', async (t) => {
  const security = {
    key: { caller: (key: string) => (key === 'mine' ? { scopes: new Set(['pets:write']) } : undefined) },
  }
  const app = await mockOf(t, { security })
  const put = { url: '/pets/7', method: 'PUT', payload: rex } as const
  t.equal((await app.inject({ ...put, headers: { 'x-key': 'any' } })).statusCode, 401)
  t.equal((await app.inject({ ...put, headers: { 'x-key': 'mine' } })).statusCode, 200)
  t.equal(
    (await app.inject({ url: '/pets', method: 'POST', headers: { authorization: 'Bearer x' } })).statusCode,
    201,
  )
})

t.test("errors have the form of the document, also one that is neither of the engine's", async (t) => {
  const schema = {
    type: 'object',
    required: ['fault', 'trace'],
    additionalProperties: false,
    properties: {
      fault: { type: 'object', required: ['description'], properties: { description: { type: 'string' } } },
      trace: { type: 'string', format: 'uuid' },
    },
  }
  const error = {
    description: 'An error.',
    headers: { 'X-Fault': { required: true, schema: { type: 'integer' } } },
    content: json(schema),
  }
  const paths = {
    '/pets/{id}': {
      get: {
        operationId: 'get',
        parameters: [id],
        responses: { 200: { description: 'It.' }, '4XX': error, '5XX': error },
      },
    },
  }
  const app = await mockOf(t, {}, { paths })
  const { statusCode, headers, ...rest } = await app.inject('/pets/seven')
  t.equal(statusCode, 400)
  t.equal(headers['x-fault'], '1')
  t.match(rest.json(), { fault: { description: /^path.id must be/ }, trace: String })
})

t.test('a page of another origin may call it', async (t) => {
  const app = await mockOf(t)
  const origin = 'http://localhost:5173'
  const asked = { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-key' }
  const preflight = await app.inject({ url: '/pets/7', method: 'OPTIONS', headers: asked })
  t.match(preflight, {
    statusCode: 204,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'PUT',
      'access-control-allow-headers': 'x-key',
    },
  })
  t.equal(
    (await app.inject({ url: '/pets/7', headers: { origin } })).headers['access-control-allow-origin'],
    origin,
  )
  t.equal((await app.inject('/pets/7')).headers['access-control-allow-origin'], undefined)
})

t.test('what cannot be served yet responds 501, with its reason, and the others are served', async (t) => {
  const clash = { 200: { description: 'It.', content: json({ type: 'string', pattern: '(' }) } }
  const paths = {
    '/a': { get: { operationId: 'a', responses: clash } },
    '/b': {
      get: { operationId: 'b', responses: { 200: { description: 'It.', content: json({ const: 1 }) } } },
    },
  }
  const { app, left } = await buildMock(await contractOf({ paths }))
  t.teardown(() => app.close())
  t.match(left, [{ text: /pattern/ }])
  t.equal((await app.inject('/a')).statusCode, 501)
  t.equal((await app.inject('/b')).payload, '1')
})

t.test(
  'a schema that cannot be served keeps only the operations that use it from being served',
  async (t) => {
    const of = (schema: object) => ({ 200: { description: 'It.', content: json(schema) } })
    const versions = { $ref: '#/components/schemas/Versions' }
    const paths = {
      '/a': { get: { operationId: 'a', responses: of({ $ref: '#/components/schemas/Version' }) } },
      '/b': {
        post: { operationId: 'b', requestBody: { content: json(versions) }, responses: of({ const: 2 }) },
      },
      '/c': { get: { operationId: 'c', responses: of({ const: 1 }) } },
    }
    const schemas = {
      Version: { type: 'string', enum: ['1', 4.1] }, // as YAML reads it
      Versions: { type: 'array', items: { $ref: '#/components/schemas/Version' } },
    }
    const { app, left } = await buildMock(await contractOf({ paths, components: { schemas } }))
    t.teardown(() => app.close())
    t.match(left, [{ text: /the enum value 4\.1 is not of type string/ }, { text: /the enum value 4\.1/ }])
    t.equal((await app.inject('/a')).statusCode, 501)
    t.equal((await app.inject({ url: '/b', method: 'POST', payload: [] })).statusCode, 501)
    t.equal((await app.inject('/c')).payload, '1')
  },
)

t.test('what cannot be made is known at the start, also of what is only preferred', async (t) => {
  const none = json({ type: 'object', required: ['a'], properties: { a: false } })
  const header = { required: true, schema: { type: 'string', pattern: '^a$', maxLength: 0 } }
  const paths = {
    '/a': {
      get: {
        operationId: 'a',
        responses: { 200: { description: 'It.' }, 404: { description: 'None.', content: none } },
      },
    },
    '/b': {
      get: { operationId: 'b', responses: { 200: { description: 'It.', headers: { 'X-B': header } } } },
    },
    '/c': { get: { operationId: 'c', responses: { 200: { description: 'It.', content: json({}) } } } },
  }
  const { app, left } = await buildMock(await contractOf({ paths }))
  t.teardown(() => app.close())
  t.match(left, [
    { text: /a 404 application.json/, at: ['paths', '/a', 'get', 'responses', '404'] },
    { text: /header X-B of b 200/, at: ['paths', '/b', 'get', 'responses', '200'] },
  ])
  t.equal((await app.inject('/a')).statusCode, 200)
  t.equal((await app.inject({ url: '/a', ...prefer('code=404') })).statusCode, 501)
  t.equal((await app.inject('/b')).statusCode, 501)
  t.equal((await app.inject('/c')).statusCode, 200)
})

t.test('headers that all clients know are what they are', async (t) => {
  const header = { schema: { type: 'string' } }
  const headers = Object.fromEntries(
    ['Last-Modified', 'Expires', 'Retry-After', 'Age', 'ETag', 'Link', 'Location'].map((name) => [
      name,
      header,
    ]),
  )
  const responses = { 200: { description: 'It.', headers } }
  const app = await mockOf(t, {}, { paths: { '/a': { get: { operationId: 'a', responses } } } })
  const sent = (await app.inject('/a')).headers
  const date = 'Wed, 25 Nov 2026 14:05:00 GMT'
  t.match(sent, { 'last-modified': date, expires: date, 'retry-after': '1', age: '0', etag: /^"[^"]+"$/ })
  t.match([sent.link, sent.location], [undefined, undefined], 'what is made up leads nowhere')
})

t.test('in production it is refused, by name', async (t) => {
  const before = process.env.NODE_ENV
  t.teardown(() => {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  })
  process.env.NODE_ENV = 'production'
  await t.rejects(buildMock(await contractOf(document)), {
    name: 'ContractError',
    message: /a mock .* never in production/,
  })
})

t.test('a header of the server whose schema is none is refused at its place', async (t) => {
  for (const [schema, reason] of [
    [{ type: 'string', pattern: null }, /schema is invalid: data\/pattern must be string/],
    [{ type: 'string', enum: [1] }, /the enum value 1 is not of type string/],
  ] as const) {
    const headers = { 'X-Place': { 'x-set-by-server': true, schema } }
    const responses = { 200: { description: 'It.', headers } }
    const contract = await contractOf({
      ...document,
      paths: { '/a': { get: { operationId: 'a', responses } } },
    })
    const problems = [
      { text: reason, at: ['paths', '/a', 'get', 'responses', '200', 'headers', 'X-Place', 'schema'] },
    ]
    await t.rejects(buildMock(contract), { name: 'ContractError', problems })
  }
})
