// Which route serves a path beside templates with text in a segment, and the 404 or 405 for other paths.

import { errorHandler, mount, notFoundHandler } from 'contract-engine'
import { pathParameterNames } from 'contract-engine/tools'
import { contractOf, startEngine } from 'contract-testing/engine'
import Fastify from 'fastify'
import t from 'tap'

const templates: readonly [path: string, ...methods: string[]][] = [
  ['/a/{id}', 'get', 'put'],
  ['/a/{id}.json', 'get'],
  ['/a/{id}:cancel', 'post'],
  ['/a/{id}:cancel', 'put'],
  ['/a/{id}:cancel/items', 'get'],
  ['/a/{id}/items', 'get'],
  ['/b/{name}.{type}', 'get'],
  ['/b/{from}-{to}', 'post'],
  ['/b/{x}_{y}', 'put'],
  ['/b/v{version}', 'get'],
  ['/b/{all}', 'delete'],
  ['/c/{x}-to-{y}', 'get'],
  ['/c/({x})', 'post'],
]

const paths: Record<string, Record<string, object>> = {}
for (const [path, ...methods] of templates)
  for (const method of methods) {
    const parameters = pathParameterNames(path).map((name) => {
      return { name, in: 'path', required: true, schema: { type: 'string' } }
    })
    const operationId = `${method} ${path}`
    const content = { 'application/json': {} }
    const responses = { 200: { description: 'It.', content }, default: { description: 'An error.', content } }
    paths[path] = { ...paths[path], [method]: { operationId, parameters, responses } }
  }
const contract = await contractOf({ paths })
const handlers = Object.fromEntries(
  [...contract.operations.values()].map(({ name, path }) => [
    name,
    async ({ params }: { params: object }) => ({ status: 200, body: { path, ...params } }),
  ]),
)

const { call } = await startEngine(t, contract, handlers)

// The template and the parameters that a request matches, or its status and `Allow`.
const rows: readonly [request: string, path: string | number, more?: object | string][] = [
  ['GET /a/.json', '/a/{id}', { id: '.json' }],
  ['GET /a/x.json', '/a/{id}.json', { id: 'x' }],
  ['PUT /a/.json', '/a/{id}', { id: '.json' }],
  ['PUT /a/:cancel', '/a/{id}', { id: ':cancel' }],
  ['PUT /a/x:cancel', '/a/{id}:cancel', { id: 'x' }],
  ['PUT /a/x%3Acancel', '/a/{id}:cancel', { id: 'x' }],
  ['POST /a/x:cancel', '/a/{id}:cancel', { id: 'x' }],
  ['POST /a/:cancel', 405, 'GET, HEAD, PUT'],
  ['DELETE /a/:cancel', 405, 'GET, HEAD, PUT'],
  ['DELETE /a/x:cancel', 405, 'GET, HEAD, POST, PUT'],
  ['DELETE /a/x%3Acancel', 405, 'GET, HEAD, POST, PUT'],
  ['OPTIONS /a/.json', 405, 'GET, HEAD, PUT'],
  ['GET /a/:cancel/items', '/a/{id}/items', { id: ':cancel' }],
  ['GET /a/x:cancel/items', '/a/{id}:cancel/items', { id: 'x' }],
  ['GET /a/', 404],
  ['GET /a//items', 404],
  ['GET /b/a.tar.gz', '/b/{name}.{type}', { name: 'a.tar', type: 'gz' }],
  ['GET /b/a.', 405, 'DELETE'],
  ['GET /b/.gz', 405, 'DELETE'],
  ['DELETE /b/...', '/b/{all}', { all: '...' }],
  ['POST /b/x-y-z', '/b/{from}-{to}', { from: 'x-y', to: 'z' }],
  ['POST /b/x--', '/b/{from}-{to}', { from: 'x', to: '-' }],
  ['POST /b/-y', 405, 'DELETE'],
  ['PUT /b/x_y_z', '/b/{x}_{y}', { x: 'x', y: 'y_z' }],
  ['PUT /b/__', 405, 'DELETE'],
  ['PUT /b/___', '/b/{x}_{y}', { x: '_', y: '_' }],
  ['GET /b/v', 405, 'DELETE'],
  ['DELETE /b/v', '/b/{all}', { all: 'v' }],
  ['GET /b/v2', '/b/v{version}', { version: '2' }],
  ['GET /c/a-to-b-to-c', '/c/{x}-to-{y}', { x: 'a-to-b', y: 'c' }],
  ['GET /c/-to-b', 404],
  ['POST /c/()', 404],
  ['POST /c/(%2F)', '/c/({x})', { x: '/' }],
  ['GET /c/(x)', 405, 'POST'],
]

for (const [request, expected, more] of rows)
  t.test(`${request} is ${expected}`, async (t) => {
    const [method = '', path = ''] = request.split(' ')
    const { status, headers, body } = await call(method, path)
    if (typeof expected === 'string') t.strictSame(body, { path: expected, ...(more as object) })
    else t.strictSame([status, headers.get('allow') ?? undefined], [expected, more])
  })

t.test('Allow names all methods that a path has, and no other', async (t) => {
  const texts = [
    '',
    '...',
    '.json',
    'x.json',
    ':cancel',
    'x:cancel',
    '-',
    '--',
    '---',
    'x-',
    '_',
    '___',
    'v',
    'v.v',
    '()',
  ]
  const targets = ['a', 'b', 'c'].flatMap((parent) =>
    texts.flatMap((text) => [`/${parent}/${text}`, `/${parent}/${text}/items`]),
  )
  for (const target of targets) {
    const outcomes: [method: string, status: number, allow: string | null][] = []
    for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH']) {
      const { status, headers } = await call(method, target)
      outcomes.push([method, status, headers.get('allow')])
    }
    const served = outcomes.flatMap(([method, status]) => (status === 200 ? [method] : [])).sort()
    for (const [method, status, allow] of outcomes)
      if (status !== 200)
        t.strictSame(
          [status, allow],
          served.length === 0 ? [404, null] : [405, served.join(', ')],
          `${method} ${target}`,
        )
  }
})

t.test('a long segment is compared in a time that grows with its length', async (t) => {
  const responses = { 204: { description: 'Done.' } }
  const parameters = ['p', 'q', 'r'].map((name) => ({ name, in: 'path', required: true, schema: {} }))
  const long = await contractOf({
    paths: Object.fromEntries(
      ['-', '.', '_', ':'].map((mark) => [
        `/${mark}/{p}${mark}{q}${mark}{r}x`,
        { get: { operationId: `get${mark.charCodeAt(0)}`, parameters, responses } },
      ]),
    ),
  })
  const { call } = await startEngine(t, long, {})
  for (const mark of ['-', '.', '_', ':'])
    for (const unit of [mark, `a${mark}`]) {
      const { status } = await call('GET', `/${mark}/${unit.repeat(6_000 / unit.length)}`)
      t.equal(status, 404, `${unit}: with a cube of its length, it would take minutes`)
    }
})

t.test('a path with an empty parameter has the methods of all routes of its application', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  app.post('/a/', async () => "the application's")
  await mount(app, { contract, handlers })
  t.match(await app.inject('/a/'), { statusCode: 405, headers: { allow: 'POST' } })
  t.match(await app.inject({ method: 'POST', url: '/a/' }), { statusCode: 200 })
})
