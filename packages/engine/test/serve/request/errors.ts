// Every error of a server with only the engine, as its page shows: all have the same error body.

import { type Contract, errorHandler, mount, notFoundHandler, RequestError } from 'contract-engine'
import { contractOf, contractWith, done } from 'contract-testing/engine'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'

const item = { in: 'path', name: 'id', required: true, schema: { type: 'string' } }
const body = { content: { 'application/json': { schema: { type: 'object' } } } }
const operations = {
  list: { method: 'get', path: '/toys', responses: done },
  get: { method: 'get', path: '/toys/{id}', parameters: [item], responses: done },
  put: { method: 'put', path: '/toys/{id}', parameters: [item], requestBody: body, responses: done },
  note: { path: '/note', 'x-limits': { bodyBytes: 8 }, requestBody: body, responses: done },
  copy: { path: '/copy', 'x-limits': { bodyBytes: 64 }, requestBody: body, responses: done },
}
const limits = { 'x-limits': { bodyBytes: 20, urlBytes: 64, headerBytes: 16_384 } }

interface Started {
  readonly app: FastifyInstance
  readonly log: Record<string, unknown>[]
}

async function start(t: Test, contract: Contract, run: (id: string) => unknown): Promise<Started> {
  const log: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const app: FastifyInstance = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    frameworkErrors: errorHandler(contract),
  })
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  app.get('/own', async () => run('own'))
  await mount(app, { contract, handlers: handlersOf(contract, run) })
  t.teardown(() => app.close())
  return { app, log }
}

function handlersOf({ operations }: Contract, run: (id: string) => unknown): object {
  const handlers = [...operations.values()].map(({ name, id }) => [name, async () => run(id)])
  return Object.fromEntries(handlers)
}

const noContent = () => ({ status: 204 })

const refusals: [title: string, request: object, status: number, code: string, allow?: string][] = [
  ['an unknown path', { url: '/nothing' }, 404, 'route_not_found'],
  [
    'an unknown path with a body that is no JSON',
    { method: 'POST', url: '/nothing', headers: { 'content-type': 'text/x' }, payload: '{' },
    404,
    'route_not_found',
  ],
  ['a wrong method', { method: 'DELETE', url: '/toys' }, 405, 'method_not_allowed', 'GET, HEAD'],
  [
    'a wrong method below a parameter',
    { method: 'POST', url: '/toys/a%2Fb' },
    405,
    'method_not_allowed',
    'GET, HEAD, PUT',
  ],
  [
    'a wrong method at a path of the application',
    { method: 'POST', url: '/own' },
    405,
    'method_not_allowed',
    'GET, HEAD',
  ],
  ['an empty parameter', { url: '/toys/' }, 404, 'route_not_found'],
  ['a malformed URL', { url: '/%zz' }, 400, 'malformed_request'],
  ['a malformed URL of an operation', { url: '/toys/%zz' }, 400, 'malformed_request'],
  ['a URL beyond x-limits', { url: `/toys?${'a'.repeat(64)}` }, 414, 'uri_too_long'],
  ['an unknown path beyond x-limits', { url: `/${'a'.repeat(64)}` }, 414, 'uri_too_long'],
  [
    'a body beyond x-limits',
    { method: 'PUT', url: '/toys/1', payload: { a: 'a'.repeat(20) } },
    413,
    'body_too_large',
  ],
  [
    'a body beyond the smaller x-limits of its operation',
    { method: 'POST', url: '/note', payload: { a: 'a' } },
    413,
    'body_too_large',
  ],
  [
    'a body beyond the larger x-limits of its operation',
    { method: 'POST', url: '/copy', payload: { a: 'a'.repeat(64) } },
    413,
    'body_too_large',
  ],
  ['a query that the operation does not declare', { url: '/toys?a=b' }, 400, 'invalid_request'],
]

for (const [title, request, status, code, allow] of refusals) {
  t.test(`${title} is ${status}`, async (t) => {
    const contract = await contractWith(operations, limits)
    const { app, log } = await start(t, contract, noContent)
    const response = await app.inject(request)
    t.match(response.json(), { code, status })
    t.match(response, { statusCode: status, headers: { 'content-type': 'application/json; charset=utf-8' } })
    t.equal(response.headers.allow, allow)
    t.strictSame(log, [], 'and nothing that an operator must mend')
  })
}

t.test(
  'a body within the x-limits of its operation passes, however small those of the document',
  async (t) => {
    const { app } = await start(t, await contractWith(operations, limits), noContent)
    const response = await app.inject({ method: 'POST', url: '/copy', payload: { a: 'a'.repeat(50) } })
    t.equal(response.statusCode, 204)
  },
)

t.test('the cause of a 500 is logged, and not sent', async (t) => {
  const { app, log } = await start(t, await contractWith(operations), () => {
    throw new Error('the shelf fell')
  })
  for (const url of ['/toys', '/own']) {
    const response = await app.inject(url)
    t.strictSame(response.json(), { code: 'internal_error', message: 'Internal Server Error', status: 500 })
    t.match(log.pop(), { msg: 'request failed', err: { message: 'the shelf fell' } })
  }
})

t.test('a response that the contract does not declare is logged as such', async (t) => {
  const { app, log } = await start(t, await contractWith(operations), () => ({ status: 204, body: 1 }))
  t.equal((await app.inject('/toys')).statusCode, 500)
  t.match(log, [{ err: { type: 'ResponseError', message: 'list 204: no body is declared' } }])
})

const thrown: [title: string, error: Error, status: number, code: string, headers: object][] = [
  ['a code of the contract', new RequestError('not_here', 'No such toy.'), 404, 'not_here', {}],
  [
    'a code of another part',
    new RequestError('too_soon', 'Wait.', { status: 425, headers: { 'Retry-After': '3' } }),
    425,
    'too_soon',
    { 'retry-after': '3' },
  ],
  [
    'an error of a plugin',
    Object.assign(new Error('Slow down.'), { statusCode: 429, code: 'FST_SLOW' }),
    429,
    'FST_SLOW',
    {},
  ],
  [
    'an error of http-errors',
    Object.assign(new Error('Slow down.'), { statusCode: 429 }),
    429,
    'too_many_requests',
    {},
  ],
]
for (const [title, error, status, code, headers] of thrown) {
  t.test(`${title} keeps its status`, async (t) => {
    const { app } = await start(t, await contractWith(operations), () => {
      throw error
    })
    for (const url of ['/own', '/toys'])
      t.match(await app.inject(url), { statusCode: status, headers, payload: `"code":"${code}"` })
  })
}

t.test('without these handlers, the errors of operations are the same', async (t) => {
  const contract = await contractWith(operations, limits)
  const app = Fastify()
  t.teardown(() => app.close())
  await mount(app, { contract, handlers: handlersOf(contract, noContent) })
  const ofOperations = refusals.filter(([title]) => !/path|method|malformed/.test(title))
  t.equal(ofOperations.length, 6)
  for (const [title, request, status, code] of ofOperations)
    t.match(await app.inject(request), { statusCode: status, payload: `"code":"${code}"` }, title)
})

for (const [title, key] of [
  ['throws', { caller: () => refuseKey() }],
  ['rejects', { caller: async () => refuseKey() }],
] as const) {
  t.test(`a check of keys that ${title} refuses the request`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const contract = await contractOf({
      security: [{ key: [] }],
      paths: { '/toys': { get: { operationId: 'list', responses: { 204: { description: 'All.' } } } } },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    })
    await mount(app, { contract, handlers: handlersOf(contract, noContent), security: { key } })
    t.match(await app.inject({ url: '/toys', headers: { authorization: 'Bearer a' } }), {
      statusCode: 401,
      payload: '"code":"no_key"',
    })
  })
}

function refuseKey(): never {
  throw new RequestError('no_key', 'Send a key.', { status: 401 })
}

t.test('an application lists its own codes, and those that the engine sends', async (t) => {
  const contract = await contractWith(operations)
  t.notOk(contract.errorStatuses.has('missing_api_key'))
  const { app } = await start(t, contract, noContent)
  t.equal((await app.inject('/toys')).statusCode, 204)
})

t.test('and those of the parts that it adds, each with its place', async (t) => {
  const contract = await contractWith(operations)
  const app = Fastify()
  t.teardown(() => app.close())
  const tooSoon = new RequestError('too_soon', 'Wait.', { status: 425 })
  const mounted = mount(app, {
    contract,
    handlers: handlersOf(contract, noContent),
    additions: [{ headers: [], errors: () => [tooSoon] }],
  })
  const at = ['components', 'schemas', 'ErrorCode']
  const text = 'ErrorCode: the enum must contain too_soon, which the server sends with 425'
  await t.rejects(mounted, { name: 'ContractError', problems: [{ text, at }] })
})
