// A contract in an application with its own routes, prefixes and plugins.

import {
  type Contract,
  contractFiles,
  documentation,
  errorHandler,
  mount,
  notFoundHandler,
  notImplemented,
} from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { buildEngine, contractOf, startEngine } from 'contract-testing/engine'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { queryIsMissing } from '../fixtures/query-method.js'

const anything = { 200: { description: 'The request.', content: { 'application/json': {} } } }
const ids = { name: 'ids', in: 'path', required: true, schema: { type: 'array', items: { type: 'integer' } } }
const session = {
  name: 'session',
  in: 'cookie',
  explode: false,
  schema: { type: 'array', items: { type: 'string' } },
}
const old = { deprecated: true, 'x-deprecated-at': '2026-11-20', 'x-successor': 'list' }

function contractAt(server: string): Promise<Contract> {
  return contractOf({
    servers: [{ url: server }],
    paths: {
      '/sets': { get: { operationId: 'list', parameters: [session], responses: anything } },
      '/sets/{ids}': { get: { operationId: 'get', ...old, parameters: [ids], responses: anything } },
    },
  })
}

async function mountIn(scope: FastifyInstance, contract: Contract, name = 'it'): Promise<void> {
  scope.setErrorHandler(errorHandler(contract))
  scope.setNotFoundHandler(notFoundHandler(scope, contract))
  contractFiles(scope, contract)
  documentation(scope, contract)
  const handler = async ({ params, cookies }: { params: object; cookies: object }) => {
    return { status: 200, body: { name, params, cookies } }
  }
  await mount(scope, { contract, handlers: { list: handler, get: handler } })
}

async function bare(t: Test): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  return app
}

const under: [title: string, prefix: string, server: string, base: string][] = [
  ['no prefix', '', 'https://toys.example', ''],
  ["the contract's prefix", '', 'https://toys.example/v1', '/v1'],
  ["the application's", '/api', 'https://toys.example', '/api'],
  ['both', '/api', 'https://toys.example/v1', '/api/v1'],
  ['one of several segments', '/a/b', 'https://toys.example/v1/x', '/a/b/v1/x'],
  ['one that ends with a slash', '/api/', 'https://toys.example/v1', '/api/v1'],
  ['one that is encoded', '/caf\u00e9', 'https://toys.example/caf%C3%A9', '/caf%C3%A9/caf%C3%A9'],
]

for (const [title, prefix, server, base] of under) {
  t.test(`under ${title}, all that the engine adds is where it should be`, async (t) => {
    const contract = await contractAt(server)
    const app = await bare(t)
    app.get('/sets', async () => "the application's")
    if (base === '') {
      await t.rejects(mountIn(app, contract), {
        message: 'list: GET /sets is a route of the application already',
      })
      return
    }
    await app.register((scope) => mountIn(scope, contract), { prefix })
    const set = await app.inject(`${base}/sets/1,2,3`)
    t.match(set.json(), { params: { ids: [1, 2, 3] } })
    t.equal(set.headers.link, `<http://localhost${base}/sets>; rel="successor-version"`)
    t.match(await app.inject(`${base}/nothing`), { statusCode: 404, payload: '"code":"route_not_found"' })
    const wrong = await app.inject({ method: 'DELETE', url: `${base}/sets/1` })
    t.match(wrong, { statusCode: 405, headers: { allow: 'GET, HEAD' } })
    t.match(await app.inject(`${base}/sets/`), { statusCode: 404 })

    const root = encodeURI(prefix.replace(/\/$/, ''))
    const [first] = (await app.inject(`${root}/openapi.json`)).json().servers
    const operations = new URL(first.url, `http://a${root}/openapi.json`).pathname.replace(/\/$/, '')
    t.equal(operations, base)
    for (const start of prefix.endsWith('/') || prefix === '' ? [`${root}/`] : [`${root}/`, root]) {
      const { location } = (await app.inject(start)).headers
      const page = new URL(String(location), `http://a${start}`)
      t.equal(page.pathname, `${root}/docs`)
      const [, asset = ''] = /src="([^"]*page\.js)"/.exec((await app.inject(page.pathname)).payload) ?? []
      t.equal((await app.inject(new URL(asset, page).pathname)).statusCode, 200)
    }
    t.equal((await app.inject('/sets')).payload, "the application's")
  })
}

t.test('a prefix may have a parameter, which handlers receive', async (t) => {
  const app = await bare(t)
  const contract = await contractAt('/v1')
  await app.register((scope) => mountIn(scope, contract), { prefix: '/:tenant' })
  const set = await app.inject('/a/v1/sets/1,2')
  t.match(set.json(), { params: { tenant: 'a', ids: [1, 2] } })
  t.equal(set.headers.link, '<http://localhost/a/v1/sets>; rel="successor-version"')
  t.equal((await app.inject('/a/openapi.json')).json().servers[0].url, 'http://localhost/a/v1')
})

t.test('one contract may be mounted twice', async (t) => {
  const contract = await contractAt('/v1')
  const app = await bare(t)
  for (const tenant of ['a', 'b'])
    await app.register((scope) => mountIn(scope, contract, tenant), { prefix: `/${tenant}` })
  for (const tenant of ['a', 'b'])
    t.match((await app.inject(`/${tenant}/v1/sets/1`)).json(), { name: tenant, params: { ids: [1] } })
})

t.test('so may two versions of it', async (t) => {
  const app = await bare(t)
  const handler = (version: number) => async () => ({ status: 200, body: version })
  for (const version of [1, 2]) {
    const handlers = { list: handler(version), get: handler(version) }
    await mount(app, { contract: await contractAt(`/v${version}`), handlers })
  }
  for (const version of [1, 2]) t.equal((await app.inject(`/v${version}/sets`)).json(), version)
})

t.test('but not at the same place', async (t) => {
  const contract = await contractAt('/v1')
  const app = await bare(t)
  const handlers = { list: async () => ({}), get: async () => ({}) }
  await mount(app, { contract, handlers })
  await t.rejects(mount(app, { contract, handlers }), {
    name: 'ContractError',
    message: 'list: GET /v1/sets is a route of the application already',
  })
})

t.test('a plugin may have put its own values on requests, as @fastify/cookie does', async (t) => {
  const app = await bare(t)
  // The decorator that @fastify/cookie adds.
  app.decorateRequest('cookies', null)
  app.decorateRequest('readErrors', null)
  app.addHook('onRequest', async (request) => void Object.assign(request, { cookies: { session: 'theirs' } }))
  const seen: unknown[] = []
  app.addHook('onResponse', async (request) => void seen.push((request as { cookies?: object }).cookies))
  await mountIn(app, await contractAt('/v1'))
  const response = await app.inject({ url: '/v1/sets', headers: { cookie: 'session=a; other=b' } })
  t.strictSame(response.json().cookies, { session: ['a'] }, 'the contract says how a handler gets them')
  t.strictSame(seen, [{ session: 'theirs' }], 'and the plugin keeps its own')
})

const withKeys = await contractOf({
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/toys': {
      get: { operationId: 'listToys', responses: { 204: { description: 'None.' } } },
      post: { operationId: 'addToy', security: [], responses: { 204: { description: 'Added.' } } },
    },
  },
})
const noContent = async () => ({ status: 204 })

t.test('an operation that requires a key is not served without a check of keys', async (t) => {
  const app = await bare(t)
  const mounted = mount(app, { contract: withKeys, handlers: { listToys: noContent, addToy: noContent } })
  const text = 'listToys requires key (http bearer), which has no check'
  await t.rejects(mounted, { name: 'ContractError', problems: [{ text }] })
})

t.test(
  'what is wrong with schemas of requests is told with the rest, when the contract is mounted',
  async (t) => {
    const app = await bare(t)
    const broken = (pattern: string) => ({ type: 'string', pattern })
    const contract = await contractOf({
      security: [{ key: [] }],
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      paths: {
        '/toys': {
          post: {
            operationId: 'addToy',
            parameters: [{ name: 'q', in: 'query', schema: broken('(a') }],
            requestBody: { content: { 'application/json': { schema: broken('[b') } } },
            responses: { 204: { description: 'Added.' } },
          },
        },
      },
    })
    const mounted = mount(app, { contract, handlers: { addToy: noContent } })
    await t.rejects(mounted, {
      name: 'ContractError',
      problems: [{ text: /which has no check$/ }, { text: /\(a/ }, { text: /\[b/ }],
    })
  },
)

t.test('each schema of a request is compiled once', async (t) => {
  const app = await bare(t)
  const contract = await contractOf({
    paths: {
      '/toys/{id}': {
        put: {
          operationId: 'putToy',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'X-A', in: 'header', schema: { type: 'integer' } },
          ],
          requestBody: {
            content: {
              'application/json': { schema: { type: 'object' } },
              'application/x-www-form-urlencoded': { schema: { type: 'object' } },
            },
          },
          responses: { 204: { description: 'Put.' } },
        },
      },
    },
  })
  const asked: string[] = []
  const functions = () => {
    const made = contract.functions()
    const validator: typeof made.validator = (name) => {
      asked.push(contract.named.judges.get(name)?.how ?? '')
      return made.validator(name)
    }
    return { ...made, validator }
  }
  await mount(app, { contract: { ...contract, functions }, handlers: { putToy: noContent } })
  await app.ready()
  t.strictSame(asked.sort(), ['body', 'body', 'headers', 'params', 'querystring'])
})

t.test('a stub of such an operation responds 501, and public operations are served', async (t) => {
  const app = await bare(t)
  await mount(app, {
    contract: withKeys,
    handlers: { listToys: notImplemented('listToys'), addToy: noContent },
  })
  t.equal((await app.inject({ url: '/toys' })).statusCode, 501)
  t.equal((await app.inject({ method: 'POST', url: '/toys' })).statusCode, 204)
})

t.test('operations without a handler stop the start, each with its line and what it may have', async (t) => {
  const contract = await readContract(
    'toys.yaml',
    async () => `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys:
    get: { operationId: listToys, responses: { '204': { description: None. } } }
    post: { operationId: addToy, responses: { '204': { description: Added. } } }
    delete: { operationId: endToys, responses: { '204': { description: None. } } }
`,
  )
  const message = ['5:5: listToys', '7:5: endToys']
    .map(
      (each) =>
        `toys.yaml:${each} has no handler, nor a stub, which notImplemented('${each.slice(5)}') makes`,
    )
    .join('\n')
  const mounted = mount(await bare(t), { contract, handlers: { addToy: noContent } })
  await t.rejects(mounted, { name: 'ContractError', message })
})

t.test(
  'QUERY and additional operations of OpenAPI 3.2 are served over HTTP',
  { skip: queryIsMissing },
  async (t) => {
    const content = { 'application/json': { schema: { type: 'array', items: { type: 'integer' } } } }
    const responses = { 200: { description: 'What was sent.', content }, '4XX': { description: 'An error.' } }
    const contract = await contractOf({
      openapi: '3.2.0',
      servers: [{ url: 'http://localhost/v1' }],
      paths: {
        '/values': {
          query: { operationId: 'find', requestBody: { required: true, content }, responses },
          additionalOperations: { PROPFIND: { operationId: 'list', responses } },
        },
      },
    })
    const { call } = await startEngine(t, contract, {
      find: async ({ body }) => ({ status: 200, body }),
      list: async () => ({ status: 200, body: [1] }),
    })
    const headers = { 'content-type': 'application/json' }
    t.match(await call('QUERY', '/values', { headers, body: '[1,2]' }), { status: 200, text: '[1,2]' })
    t.match(await call('QUERY', '/values', { headers, body: '["a"]' }), { status: 400 })
    t.match(await call('QUERY', '/values'), { status: 415 })
    t.match(await call('PROPFIND', '/values'), { status: 200, text: '[1]' })
    const refused = await call('POST', '/values', { headers, body: '[]' })
    t.strictSame([refused.status, refused.headers.get('allow')], [405, 'PROPFIND, QUERY'])
  },
)

t.test('a schema that does not compile is named where it is written, not where it is used', async (t) => {
  const text = `openapi: 3.1.0
info: { title: T, version: 1.0.0 }
paths:
  /a:
    get: { operationId: a, responses: { '200': { $ref: '#/components/responses/R' } } }
components:
  responses:
    R: { description: A., content: { application/json: { schema: { type: text } } } }
`
  const contract = await readContract('openapi.yaml', async () => text)
  const mounted = buildEngine(contract, () => async () => ({}))
  await t.rejects(mounted, { message: /openapi\.yaml:8:\d+: a: schema is invalid/ })
})
