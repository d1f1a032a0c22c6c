// A contract whose errors are problems (RFC 9457). Every kind of error, wherever it arises, must fit the
// schema of its response, as judged by a separate Ajv.

import { readFileSync } from 'node:fs'
import type net from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { notImplemented, RequestError } from 'contract-engine'
import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import type { AppParts } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import type {} from '../../src/http/graceful-close.js' // announceClose
import { fixture } from '../fixtures/root.js'
import { type Service, sendRaw, startService } from '../fixtures/service.js'

const file = fixture('problems.yaml')
const contract = await readServiceContract(file)
const document = parse(readFileSync(file, 'utf8'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema({ $id: 'contract', components: document.components })

/** Returns the reasons why a body does not fit a schema of the contract. */
function faults(schema: string, body: unknown): unknown {
  const validate = ajv.getSchema(`contract#/components/schemas/${schema}`)
  if (validate === undefined) throw new Error(`no schema ${schema}`)
  return validate(body) ? undefined : validate.errors
}

interface Sent {
  readonly status: number
  readonly type: string
  readonly id: string
  readonly text: string
}

async function ask(
  { origin, auth }: Service,
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Sent> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(origin + url, {
    method,
    headers: { ...auth, ...json, ...headers },
    ...(body !== undefined && { body }),
  })
  const { headers: received } = response
  const [type, id] = ['content-type', 'x-request-id'].map((name) => received.get(name) ?? '')
  return { status: response.status, type: String(type), id: String(id), text: await response.text() }
}

function received(text: string): Sent {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? ''
  return {
    status: Number(head.slice(9, 12)),
    type: header('content-type'),
    id: header('x-request-id'),
    text: body,
  }
}

function fits(t: Test, sent: Sent, status: number, schema: string, expected: object): void {
  t.equal(sent.type, 'application/problem+json; charset=utf-8')
  const body = JSON.parse(sent.text)
  t.equal(faults(schema, body), undefined, `fits ${schema}`)
  t.match(body, expected)
  t.strictSame([sent.status, body.status ?? status], [status, status])
  if (body.instance !== undefined) t.equal(body.instance, `urn:uuid:${sent.id}`)
}

let respond: () => unknown = () => ({ status: 204 })
const answer = async () => respond()
const handlers = {
  listBooks: answer,
  addBook: answer,
  getBook: answer,
  listScrolls: answer,
  addScroll: notImplemented('addScroll'),
} as unknown as AppParts['handlers'] // of another contract than the project's
const parts = { contract, handlers, schemes: { key: apiKeys() } }

function fail(error: Error): () => never {
  return () => {
    throw error
  }
}

const book = '{"title":"Emma"}'
type Kind = readonly [
  title: string,
  request: readonly [method: string, url: string, headers?: Record<string, string>, body?: string],
  status: number,
  schema: string,
  expected: object,
  respond?: () => unknown,
]

const kinds: readonly Kind[] = [
  [
    'an unknown path',
    ['GET', '/v1/nothing'],
    404,
    'Problem',
    { code: 'route_not_found', title: 'Not Found' },
  ],
  ['one outside of the contract', ['GET', '/nothing'], 404, 'Problem', { code: 'route_not_found' }],
  ['an empty parameter', ['GET', '/v1/books/'], 404, 'Problem', { code: 'route_not_found' }],
  ['a wrong method', ['DELETE', '/v1/books'], 405, 'Problem', { code: 'method_not_allowed' }],
  ['a preflight of an origin that is not allowed', ['OPTIONS', '/v1/books'], 405, 'Problem', {}],
  ['a malformed URL', ['GET', '/v1/%zz'], 400, 'Problem', { code: 'malformed_request' }],
  ['a long URL', ['GET', `/v1/books?${'a'.repeat(600)}`], 414, 'Problem', { code: 'uri_too_long' }],
  ['a long unknown path', ['GET', `/v1/${'a'.repeat(600)}`], 414, 'Problem', { code: 'uri_too_long' }],
  ['no key', ['GET', '/v1/books', { authorization: '' }], 401, 'Problem', { code: 'missing_api_key' }],
  [
    'no key, of a closed schema',
    ['GET', '/v1/books/1', { authorization: '' }],
    401,
    'Closed',
    { title: 'Unauthorized' },
  ],
  [
    'a wrong key',
    ['GET', '/v1/books', { authorization: 'Bearer no' }],
    401,
    'Problem',
    { code: 'invalid_api_key' },
  ],
  [
    'a wrong query',
    ['GET', '/v1/books?limit=10&page=2'],
    400,
    'Invalid',
    {
      code: 'invalid_request',
      errors: [
        { detail: 'is not a known parameter', parameter: 'page' },
        { detail: 'must be at most 9', parameter: 'limit' },
      ],
    },
  ],
  [
    'a wrong header and cookie',
    ['GET', '/v1/books', { 'x-shelf': 'a', cookie: 'reader=b' }],
    400,
    'Invalid',
    {
      errors: [
        { detail: 'must be an integer', header: 'x-shelf' },
        { detail: 'must be an integer', parameter: 'reader' },
      ],
    },
  ],
  [
    'a wrong path, of a closed schema',
    ['GET', '/v1/books/one'],
    400,
    'Closed',
    { detail: 'path.bookId must be an integer' },
  ],
  [
    'a wrong body',
    ['POST', '/v1/books', {}, '{"title":"","pages":[{"number":"~/%é"}],"a/b~c%é":1}'],
    400,
    'Invalid',
    {
      errors: [
        { detail: 'is not a known field', pointer: '#/a~1b~0c%25%C3%A9' },
        { detail: 'must have at least 1 character', pointer: '#/title' },
        { detail: 'must be an integer', pointer: '#/pages/0/number' },
      ],
    },
  ],
  ['no body', ['POST', '/v1/books'], 400, 'Invalid', { errors: [{ detail: 'is required', pointer: '#' }] }],
  [
    'a body that is no JSON',
    ['POST', '/v1/books', {}, '{'],
    400,
    'Invalid',
    { code: 'invalid_json', errors: [] },
  ],
  [
    'a body that is no form',
    ['POST', '/v1/books', { 'content-type': 'application/x-www-form-urlencoded' }, 'title=%FF'],
    400,
    'Invalid',
    { code: 'invalid_request' },
  ],
  [
    'a body of another type',
    ['POST', '/v1/books', { 'content-type': 'text/x' }, book],
    415,
    'Problem',
    { code: 'unsupported_media_type' },
  ],
  ['a compressed body', ['POST', '/v1/books', { 'content-encoding': 'gzip' }, book], 415, 'Problem', {}],
  [
    'a body where none is declared',
    ['DELETE', '/v1/books', {}, book],
    405,
    'Problem',
    { code: 'method_not_allowed' },
  ],
  [
    'a long body',
    ['POST', '/v1/books', {}, `{"title":"${'a'.repeat(3000)}"}`],
    413,
    'Problem',
    { code: 'body_too_large' },
  ],
  ['an operation past its sunset', ['GET', '/v1/scrolls'], 410, 'Problem', { code: 'operation_gone' }],
  ['a stub', ['POST', '/v1/scrolls'], 501, 'Problem', { code: 'not_implemented' }],
  [
    'a failure',
    ['GET', '/v1/books'],
    500,
    'Problem',
    { code: 'internal_error', detail: 'Internal Server Error' },
    fail(new Error('secret')),
  ],
  [
    'an invalid response',
    ['GET', '/v1/books/1'],
    500,
    'Closed',
    {},
    () => ({ status: 200, body: { name: 'Emma' } }),
  ],
  [
    "a handler's own code, which the schema has",
    ['POST', '/v1/books', {}, book],
    409,
    'Conflict',
    { code: 'book_lost', detail: 'It is lost.' },
    fail(new RequestError('book_lost', 'It is lost.', { status: 409 })),
  ],
  [
    'one that the schema does not have',
    ['GET', '/v1/books/1'],
    404,
    'Conflict',
    { title: 'Not Found', detail: 'It is lost.' },
    fail(new RequestError('book_burnt', 'It is lost.', { status: 404 })),
  ],
  [
    'an error of a plugin',
    ['GET', '/v1/books'],
    418,
    'Problem',
    { code: 'i_m_a_teapot' },
    fail(Object.assign(new Error('No.'), { statusCode: 418 })),
  ],
  [
    'an outage',
    ['GET', '/v1/books'],
    503,
    'Problem',
    { code: 'unavailable' },
    fail(Object.assign(new Error('No.'), { code: 'CONNECT_TIMEOUT' })),
  ],
]

t.test('each error of a request fits its schema', async (t) => {
  const service = await startService(t, parts)
  for (const [title, [method, url, headers, body], status, schema, expected, run] of kinds) {
    await t.test(`${title} is ${status}`, async (t) => {
      respond = run ?? (() => ({ status: 204 }))
      fits(t, await ask(service, method, url, headers, body), status, schema, expected)
    })
  }
  t.test('to HEAD, it is without its body', async (t) => {
    const { status, type, text } = await ask(service, 'HEAD', '/v1/books?page=2')
    t.strictSame([status, type, text], [400, 'application/problem+json; charset=utf-8', ''])
  })
  t.test("a client's own id of the request is a relative reference", async (t) => {
    const { text } = await ask(service, 'GET', '/nothing', { 'x-request-id': 'mine.1' })
    t.match(JSON.parse(text), { instance: 'mine.1' })
  })
})

const raw: readonly (readonly [title: string, bytes: string, status: number, code: string])[] = [
  ['malformed HTTP', 'GET\r\n\r\n', 400, 'malformed_request'],
  ['a long head', `GET / HTTP/1.1\r\nX: ${'a'.repeat(9000)}\r\n\r\n`, 431, 'headers_too_large'],
  ['no host', 'GET /v1/books HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'malformed_request'],
  [
    'a malformed target',
    'GET /v1/%ff%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    400,
    'malformed_request',
  ],
]

t.test('each error of a connection does', async (t) => {
  const service = await startService(t, { ...parts, env: { REQUEST_TIMEOUT_MS: '1000' } })
  const { origin, auth } = service
  for (const [title, bytes, status, code] of raw) {
    const schema = title === 'no host' ? 'Invalid' : 'Problem' // as its operation declares
    await t.test(`${title} is ${status}`, async (t) =>
      fits(t, received(await sendRaw(origin, bytes)), status, schema, { code }),
    )
  }
  const head = `POST /v1/books HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}`
  const late = [
    ['a head', 'GET / HTT'],
    ['a body', `${head}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n`],
  ] as const
  for (const [title, bytes] of late) {
    await t.test(`${title} that is not sent is 408`, async (t) =>
      fits(t, received(await sendRaw(origin, bytes)), 408, 'Problem', { code: 'request_timeout' }),
    )
  }
})

t.test('so do those of quotas', async (t) => {
  const service = await startService(t, parts)
  const { key } = await service.createKey({ plan: 'free', perMinute: null, perDay: null })
  const authorization = `Bearer ${key}`
  const clocks = stopClocks(t)
  respond = () => ({ status: 200, body: [] })
  const list = () => ask(service, 'GET', '/v1/books', { authorization })
  t.match(await Promise.all([list(), list(), list()]), Array(3).fill({ status: 200 }))
  fits(t, await list(), 429, 'Problem', { code: 'rate_limit_exceeded' })
  clocks.advance(1_000)
  fits(t, await list(), 429, 'Problem', { code: 'key_banned' })
  const closed = await ask(service, 'GET', '/v1/books/1', { authorization })
  fits(t, closed, 429, 'Closed', { title: 'Too Many Requests' })
})

t.test('so do those of Idempotency-Key, and a stored one', async (t) => {
  const service = await startService(t, parts)
  const add = (key: string, body = book) =>
    ask(service, 'POST', '/v1/books', { 'idempotency-key': key }, body)
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const begun = new Promise<void>((resolve) => {
    respond = async () => {
      resolve()
      await ended
      throw new RequestError('book_lost', 'It is lost.', { status: 409 })
    }
  })
  const first = add('a')
  await begun
  fits(t, await add('a'), 409, 'Conflict', { code: 'idempotency_key_in_use' })
  end()
  const { id, text } = await first
  t.match(JSON.parse(text), { code: 'book_lost', title: 'Conflict' })
  const again = await add('a')
  t.strictSame([again.text, again.type], [text, 'application/problem+json; charset=utf-8'])
  t.not(again.id, id)
  fits(t, await add('a', '{"title":"Persuasion"}'), 422, 'Problem', { code: 'idempotency_key_reused' })
})

t.test('so do those of an overload, a timeout and an instance that is not ready', async (t) => {
  const service = await startService(t, {
    ...parts,
    env: { WORK_MAX: '1', HANDLER_TIMEOUT_MS: '1500', METRICS_PORT: '0' },
  })
  const begun = new Promise<void>((resolve) => {
    respond = () => {
      resolve()
      return new Promise(() => {})
    }
  })
  const held = ask(service, 'GET', '/v1/books')
  await begun
  fits(t, await ask(service, 'GET', '/v1/books/1'), 503, 'Closed', { title: 'Service Unavailable' })
  fits(t, await held, 503, 'Problem', { code: 'unavailable' })
  service.app.announceClose()
  fits(t, await ask(service, 'GET', '/readyz'), 503, 'Problem', { code: 'unavailable' })
  const { metricsServer } = service.app
  if (metricsServer === undefined) throw new Error('METRICS_PORT is set')
  await new Promise<void>((resolve) => metricsServer.listen(0, '127.0.0.1', resolve))
  const { port } = metricsServer.address() as net.AddressInfo
  const probed = await fetch(`http://127.0.0.1:${port}/readyz`)
  t.strictSame(
    [probed.status, probed.headers.get('content-type')],
    [503, 'application/problem+json; charset=utf-8'],
  )
  t.equal(faults('Problem', await probed.json()), undefined)
})
