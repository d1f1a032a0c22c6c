// Checks at startup, and the cost of a request before it is refused.

import {
  type Check,
  type Contract,
  errorHandler,
  mount,
  notFoundHandler,
  notImplemented,
  RequestError,
  Security,
  verdictOf,
} from 'contract-engine'
import type { ReadContract } from 'contract-engine/compile'
import { contractOf, contractWith, done } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { CheckList } from '../../../src/serve/security/check.js'

const bearer = { type: 'http', scheme: 'bearer' }
const noContent = async () => ({ status: 204 })
const anyone: Check = { caller: () => ({ scopes: new Set() }) }
const withForm = (form: string): Check => ({ ...anyone, recognizes: (text) => text.startsWith(form) })

function contractOfToys(
  security: object[],
  securitySchemes: object,
  more: object = {},
): Promise<ReadContract> {
  const operation = { operationId: 'listToys', security, responses: { 204: { description: 'None.' } } }
  return contractOf({ paths: { '/toys': { get: operation } }, components: { securitySchemes }, ...more })
}

// Returns the problems of a start, with their places.
async function problemsOf(t: Test, contract: Contract, security: CheckList, handler: unknown = noContent) {
  const app = Fastify()
  t.teardown(() => app.close())
  const handlers = Object.fromEntries([...contract.operations.values()].map(({ name }) => [name, handler]))
  try {
    await mount(app, { contract, handlers, security })
    await app.ready()
    return []
  } catch (error) {
    return (error as { problems: { text: string; at: (string | number)[] }[] }).problems.map(
      ({ text, at }) => `/${at.join('/')}: ${text}`,
    )
  }
}

const places: [title: string, scheme: object, kind: string, reason: string][] = [
  ['mutualTLS', { type: 'mutualTLS' }, 'mutualTLS', 'the server cannot check'],
  ['an HTTP scheme without a name', { type: 'http' }, 'http undefined', 'the server cannot check'],
  [
    'an apiKey without a name',
    { type: 'apiKey', in: 'header' },
    'apiKey in header',
    'the server cannot check',
  ],
  [
    'a header that is no name of one',
    { type: 'apiKey', in: 'header', name: 'X Key' },
    'apiKey in header',
    'the server cannot check',
  ],
  [
    'a cookie that is no name of one',
    { type: 'apiKey', in: 'cookie', name: 'a;b' },
    'apiKey in cookie',
    'the server cannot check',
  ],
  [
    'an apiKey in a path',
    { type: 'apiKey', in: 'path', name: 'key' },
    'apiKey in path',
    'the server cannot check',
  ],
]

for (const [title, scheme, kind, reason] of places) {
  t.test(`${title} is refused, with its place`, async (t) => {
    const contract = await contractOfToys([{ key: [] }], { key: scheme })
    const problem = `/paths//toys/get/security/0/key: listToys requires key (${kind}), which ${reason}`
    t.strictSame(await problemsOf(t, contract, { key: anyone }), [problem])
    t.strictSame(await problemsOf(t, contract, {}, notImplemented('listToys')), [], 'a stub may have it')
  })
}

t.test('a start that fails names file, line and column', async (t) => {
  const contract = await contractOfToys([{}, { key: [] }], { key: bearer })
  const app = Fastify()
  t.teardown(() => app.close())
  const mounted = mount(app, { contract, handlers: { listToys: noContent } })
  const lines = contract.text.split('\n')
  const line = lines.findIndex((each) => each.includes('- key: []'))
  const place = `openapi.yaml:${line + 1}:${(lines[line]?.indexOf('key') ?? 0) + 1}`
  const message = `${place}: listToys accepts key (http bearer), which has no check`
  await t.rejects(mounted, { name: 'ContractError', message })
  await t.rejects(Promise.resolve(app.ready()), { message }, 'and it is not ready then')
})

t.test('a scheme without a check is refused, also as an alternative', async (t) => {
  const schemes = { key: bearer, other: { type: 'apiKey', in: 'header', name: 'X-Key' } }
  const contract = await contractOfToys([{ key: [] }, { other: [] }], schemes)
  t.strictSame(await problemsOf(t, contract, { key: anyone }), [
    '/paths//toys/get/security/1/other: listToys accepts other (apiKey in header), which has no check',
  ])
  t.strictSame(await problemsOf(t, contract, { key: anyone, other: anyone }), [])
})

t.test("and at the document's requirement, where the operation has none of its own", async (t) => {
  const responses = { 204: { description: 'None.' } }
  const contract = await contractOf({
    security: [{}, { key: [] }],
    paths: { '/toys': { get: { operationId: 'listToys', responses } } },
    components: { securitySchemes: { key: bearer } },
  })
  t.strictSame(await problemsOf(t, contract, {}), [
    '/security/1/key: listToys accepts key (http bearer), which has no check',
  ])
})

t.test('a check of a scheme that the contract lacks is refused', async (t) => {
  const contract = await contractOfToys([{ key: [] }], { key: bearer })
  t.strictSame(await problemsOf(t, contract, { key: anyone, kye: anyone }), [
    '/components/securitySchemes: there is a check of kye, which is no security scheme of the contract',
  ])
})

const pairs: [title: string, key: object, admin: object][] = [
  ['two bearer schemes', bearer, { type: 'http', scheme: 'Bearer' }],
  ['a bearer scheme and OAuth2', bearer, { type: 'oauth2', flows: {} }],
  [
    'OpenID Connect and OAuth2',
    { type: 'openIdConnect', openIdConnectUrl: 'https://a' },
    { type: 'oauth2', flows: {} },
  ],
  [
    'a bearer scheme and a key in Authorization',
    bearer,
    { type: 'apiKey', in: 'header', name: 'Authorization' },
  ],
  [
    'two keys in a header',
    { type: 'apiKey', in: 'header', name: 'X-Key' },
    { type: 'apiKey', in: 'header', name: 'x-key' },
  ],
]

for (const [title, key, admin] of pairs) {
  t.test(`${title} must be told apart by their checks`, async (t) => {
    const contract = await contractOfToys([{ key: [] }, { admin: [] }], { key, admin })
    const problem =
      /^\/paths\/\/toys\/get\/security\/1\/admin: listToys names admin \(.*\), which a credential for key \(.*\) would meet, too$/
    const ask = withForm('ask_')
    for (const checks of [
      { key: anyone, admin: anyone },
      { key: ask, admin: anyone },
      { key: anyone, admin: ask },
      { key: ask, admin: ask },
      { key: ask, admin: { ...ask } },
    ]) {
      const problems = await problemsOf(t, contract, checks)
      t.match(problems, [problem])
      t.equal(problems.length, 1)
    }
    t.strictSame(await problemsOf(t, contract, { key: ask, admin: withForm('adm_') }), [])
  })
}

// As in Superset's document: one token for calls, one to renew it; HTTP does not distinguish them.
t.test(
  'an access token and a refresh token are each its own check’s, whatever an operation names',
  async (t) => {
    const jwt = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
    const responses = { 204: { description: 'Done.' }, 401: { description: 'No.' } }
    const contract = await contractOf({
      paths: {
        '/toys': { get: { operationId: 'listToys', security: [{ jwt: [] }], responses } },
        '/refresh': { post: { operationId: 'refresh', security: [{ jwt_refresh: [] }], responses } },
        '/either': {
          get: { operationId: 'either', security: [{ jwt: [] }, { jwt_refresh: [] }], responses },
        },
      },
      components: { securitySchemes: { jwt, jwt_refresh: jwt } },
    })
    const checks = { jwt: withForm('access.'), jwt_refresh: withForm('refresh.') }
    t.strictSame(await problemsOf(t, contract, checks), [])
    const app = Fastify()
    t.teardown(() => app.close())
    app.addHook('onSend', async (request, reply) => {
      reply.header('x-met', Object.keys(verdictOf(request)?.callers ?? {}).join())
    })
    const handlers = { listToys: noContent, refresh: noContent, either: noContent }
    await mount(app, { contract, handlers, security: checks })
    const met = async (method: 'GET' | 'POST', url: string, token: string) => {
      const { statusCode, headers } = await app.inject({
        method,
        url,
        headers: { authorization: `Bearer ${token}` },
      })
      return [statusCode, headers['x-met']]
    }
    t.strictSame(await met('GET', '/toys', 'access.a'), [204, 'jwt'])
    t.strictSame(await met('GET', '/toys', 'refresh.a'), [401, ''])
    t.strictSame(await met('POST', '/refresh', 'refresh.a'), [204, 'jwt_refresh'])
    t.strictSame(await met('POST', '/refresh', 'access.a'), [401, ''])
    t.strictSame(await met('GET', '/either', 'access.a'), [204, 'jwt'])
    t.strictSame(await met('GET', '/either', 'refresh.a'), [204, 'jwt_refresh'])
    t.strictSame(await met('GET', '/either', 'other.a'), [401, ''])
  },
)

t.test('also if no operation names both', async (t) => {
  const responses = { 204: { description: 'None.' } }
  const contract = await contractOf({
    paths: {
      '/toys': {
        get: { operationId: 'listToys', security: [{ key: [] }], responses },
        put: { operationId: 'setToys', security: [{ admin: [] }], responses },
      },
    },
    components: { securitySchemes: { key: bearer, admin: bearer } },
  })
  t.match(await problemsOf(t, contract, { key: anyone, admin: anyone }), [
    'setToys names admin (http bearer), which a credential for key (http bearer) would meet, too',
  ])
})

t.test('two schemes of one place cannot be required together', async (t) => {
  const contract = await contractOfToys([{ key: [], admin: [] }], { key: bearer, admin: bearer })
  t.strictSame(await problemsOf(t, contract, { key: withForm('ask_'), admin: withForm('adm_') }), [
    '/paths//toys/get/security/0/admin: listToys requires key (http bearer) and admin (http bearer), which are sent in the same place',
  ])
})

const own = { security: [{ key: ['read'] }], responses: done }

t.test("the codes of a check must be the contract's, where it has codes", async (t) => {
  const contract = await contractWith({ listToys: { ...own, method: 'get' } })
  const described = { ...contract, securitySchemes: new Map([['key', bearer]]) }
  const lacks = (code: string, status = 401) =>
    `/components/schemas/ErrorCode: ErrorCode: the enum must contain ${code}, which the server sends with ${status}`
  const all = (missing: string, invalid: string) =>
    [lacks('insufficient_scope', 403), lacks(missing), lacks(invalid)].sort()
  const errors = {
    missing: { code: 'no_key', message: 'Send a key.' },
    invalid: { code: 'bad_key', message: 'It is bad.' },
  }
  const without = {
    ...described,
    errorStatuses: new Map([...described.errorStatuses].filter(([code]) => !/scope|credentials/.test(code))),
  }
  const missingCodes = async (key: Check) =>
    (await problemsOf(t, without, { key })).filter((each) => each.startsWith('/components')).sort()
  t.strictSame(await missingCodes({ ...anyone, errors }), all('no_key', 'bad_key'))
  t.strictSame(await missingCodes(anyone), all('missing_credentials', 'invalid_credentials'))
  t.strictSame(await problemsOf(t, described, { key: anyone }), [])
})

t.test('a check is asked once, by whoever asks first, and never without a credential', async (t) => {
  const asked: string[] = []
  const contract = await contractOfToys([{ key: ['read'] }, { key: ['write'] }], { key: bearer })
  const key: Check = {
    caller: (credential, { scheme, scopes, request }) => {
      asked.push(`${credential} ${scheme} ${scopes} ${request.method}`)
      return { scopes: new Set(['write']) }
    },
  }
  const security = new Security(contract, { key })
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (request) => {
    const verdict = await security.authenticate(request, request.routeOptions.config.operation)
    t.equal(verdictOf(request), verdict)
    t.equal(await security.authenticate(request, request.routeOptions.config.operation), verdict)
  })
  await mount(app, { contract, handlers: { listToys: noContent }, security })
  const headers = { authorization: 'Bearer a' }
  t.equal((await app.inject({ url: '/toys', headers })).statusCode, 204)
  t.strictSame(asked, ['a key read,write GET'])
  t.equal((await app.inject({ url: '/toys' })).statusCode, 401)
  t.equal(asked.length, 1)
})

t.test('without an operation, the alternatives of all are tried', async (t) => {
  const inHeader = (name: string) => ({ type: 'apiKey', in: 'header', name })
  const schemes = {
    key: bearer,
    header: inHeader('X-Key'),
    id: inHeader('X-Id'),
    secret: inHeader('X-Secret'),
  }
  const contract = await contractOfToys([{ key: ['read'] }, { header: [] }, { id: [], secret: [] }], schemes)
  const check: Check = {
    caller: (credential) => (credential === 'a' ? { scopes: new Set([credential]) } : undefined),
    recall: (credential) => ({ scopes: new Set([`${credential} recalled`]) }),
  }
  const security = new Security(contract, { key: check, header: check, id: check, secret: check })
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (request) => {
    const { caller, refusal } = await security.authenticate(request)
    const recalled = security.recall(request)
    throw new RequestError(
      'seen',
      [...(caller?.scopes ?? []), refusal?.code, ...(recalled?.scopes ?? [])].join(),
      { status: 404 },
    )
  })
  const seen = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/nowhere', headers })).json().message
  t.equal(await seen({ 'x-key': 'a' }), 'a,,a recalled')
  t.equal(await seen({ authorization: 'Bearer a' }), 'a,,a recalled')
  t.equal(await seen({ 'x-key': 'b' }), 'invalid_credentials,b recalled')
  t.equal(await seen({ 'x-id': 'a', 'x-secret': 'a' }), 'a,,a recalled')
  t.equal(await seen({ 'x-id': 'a' }), 'missing_credentials,a recalled', 'one of a set is nobody')
  t.equal(await seen({ 'x-id': 'a', 'x-secret': 'b' }), 'invalid_credentials,a recalled')
  t.equal(await seen({}), 'missing_credentials')
})

const post = `POST /toys HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n`

t.test('a request is refused before its body arrives', async (t) => {
  const contract = await contractWith(
    { toys: { ...own, requestBody: { content: { 'application/json': {} } } } },
    {},
  )
  const origin = await listen(t, { ...contract, securitySchemes: new Map([['key', bearer]]) })
  const missing = await sendRaw(origin, `${post}Content-Length: 1000\r\n\r\n`)
  t.match(missing, /^HTTP\/1\.1 401 .*www-authenticate: Bearer realm="Values"\r\n.*"missing_credentials"/s)
  const lacking = await sendRaw(origin, `${post}Authorization: Bearer a\r\nContent-Length: 1000\r\n\r\n{`)
  t.match(
    lacking,
    /^HTTP\/1\.1 403 .*www-authenticate: Bearer .*error="insufficient_scope", scope="read"\r\n/s,
  )
  t.match(lacking, '"message":"This needs the scope read."')
})

t.test('a header that is sent twice is nobody’s', async (t) => {
  const header = { type: 'apiKey', in: 'header', name: 'X-Key' }
  const contract = await contractOfToys([{ key: [] }, { header: [] }], { key: bearer, header })
  const origin = await listen(t, contract)
  const get = (...headers: string[]) =>
    sendRaw(origin, `GET /toys HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers.join('\r\n')}\r\n\r\n`)
  t.match(await get('Authorization: Bearer a'), /^HTTP\/1\.1 204/)
  t.match(await get('X-Key: a'), /^HTTP\/1\.1 204/)
  for (const name of ['Authorization: Bearer ', 'X-Key: '])
    for (const other of [name, name.toUpperCase().replace('BEARER', 'Bearer')])
      t.match(
        await get(`${name}a`, `${other}a`),
        /^HTTP\/1\.1 401 .*error="invalid_token".*"invalid_credentials"/s,
      )
})

async function listen(t: Test, contract: Contract): Promise<string> {
  const app = Fastify({ frameworkErrors: errorHandler(contract) })
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  const handlers = Object.fromEntries([...contract.operations.values()].map(({ name }) => [name, noContent]))
  const checks = [...contract.securitySchemes.keys()].map((name) => [name, anyone])
  await mount(app, { contract, handlers, security: Object.fromEntries(checks) })
  return app.listen({ host: '127.0.0.1', port: 0 })
}
