// The credentials of a client, as a server receives them.

import { toContract } from 'contract-engine/tools'
import { listen } from 'contract-testing/port'
import t, { type Test } from 'tap'
import { clientTable } from '../generator/index.js'
import { buildClient } from '../src/client.js'
import type { CredentialOptions, GivenCredentials } from '../src/credentials.js'
import type { AnyClientOptions } from '../src/options.js'

const securitySchemes = {
  token: { type: 'http', scheme: 'Bearer' },
  login: { type: 'http', scheme: 'basic' },
  digest: { type: 'http', scheme: 'digest' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  oauth: { type: 'oauth2', flows: {} },
  oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example/' },
  certificate: { type: 'mutualTLS' },
}

/** The security alternatives of each operation, by its name. */
const operations: Record<string, readonly object[]> = {
  ...Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, [{ [name]: [] }]])),
  both: [{ header: [], cookie: [], query: [] }],
  either: [{ header: [], token: [] }, { oauth: ['read'] }, { login: [] }],
  optional: [{}, { header: [] }],
  open: [],
}

function tableOf(schemes: object, all: Record<string, readonly object[]>) {
  const parameters = [
    { name: 'q', in: 'query', schema: {} },
    { name: 'seen', in: 'cookie', schema: {} },
  ]
  const requestBody = { content: { 'application/json': {} } }
  const paths = Object.fromEntries(
    Object.entries(all).flatMap(([id, security]) => [
      [
        `/${id}`,
        {
          get: { operationId: id, security, parameters, responses: {} },
          put: { operationId: `put_${id}`, security, parameters, requestBody, responses: {} },
        },
      ],
    ]),
  )
  const document = {
    ...{ openapi: '3.1.0', info: { title: 'X', version: '1.0.0' }, paths },
    components: { securitySchemes: schemes },
  }
  return clientTable(toContract({ document, text: '' }).contract)
}

const table = tableOf(securitySchemes, operations)

/** The parts of a request that a server received, without those of all requests. */
interface Received {
  readonly url: string | undefined
  readonly authorization: string | undefined
  readonly key: unknown
  readonly cookie: string | undefined
  readonly body: string
}

async function start(t: Test, options: Partial<AnyClientOptions>, headers: Record<string, string> = {}) {
  const received: Received[] = []
  const baseUrl = await listen(t, async (request, response) => {
    const { authorization, 'x-key': key, cookie } = request.headers
    const body = Buffer.concat(await request.toArray()).toString()
    received.push({ url: request.url, authorization, key, cookie, body })
    response.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end('[]')
  })
  const client = buildClient(table, { baseUrl, ...options })
  const call = async (id: string, request: object = {}) => {
    const result = await client.operations[id]?.(request)
    if (result === undefined) throw new Error(`there is no operation ${id}`)
    return result
  }
  return { baseUrl, received, call, client }
}

const all: GivenCredentials['security'] = {
  token: ' a.b-c ',
  login: async () => ({ username: 'Ann', password: 'pä:ss' }),
  digest: 'username="x"',
  header: 'Token 1',
  query: () => 'a&b c',
  cookie: 'a b',
  oauth: async () => 'o1',
  oidc: 'o2',
}

for (const [id, expected] of Object.entries<Partial<Received>>({
  token: { authorization: 'Bearer a.b-c' },
  login: { authorization: 'Basic QW5uOnDDpDpzcw==' },
  digest: { authorization: 'Digest username="x"' },
  header: { key: 'Token 1' },
  query: { url: '/query?api%20key=a%26b%20c' },
  cookie: { cookie: 'sid=a%20b' },
  oauth: { authorization: 'Bearer o1' },
  oidc: { authorization: 'Bearer o2' },
  certificate: {},
  both: { key: 'Token 1', cookie: 'sid=a%20b', url: '/both?api%20key=a%26b%20c' },
  either: { key: 'Token 1', authorization: 'Bearer a.b-c' },
  optional: { key: 'Token 1' },
  open: {},
}))
  t.test(`a request of ${id} has the credentials of its schemes, and no others`, async (t) => {
    const { received, call } = await start(t, { security: all })
    await call(id)
    const nothing = { url: `/${id}`, authorization: undefined, key: undefined, cookie: undefined, body: '' }
    t.strictSame(received, [{ ...nothing, ...expected }])
  })

t.test('the first alternative that is known is sent, or none if the operation allows that', async (t) => {
  const { received, call } = await start(t, { security: { login: { username: 'a', password: '' } } })
  await call('either')
  await call('either', { security: { oauth: 'o' } })
  await call('either', { security: { token: 't' } })
  await call('either', { security: { token: 't', header: 'h' } })
  await call('optional')
  t.strictSame(
    received.map(({ authorization, key }) => [authorization, key]),
    [
      ['Basic YTo=', undefined],
      ['Bearer o', undefined],
      ['Basic YTo=', undefined],
      ['Bearer t', 'h'],
      [undefined, undefined],
    ],
  )
})

t.test('keys beside a query, cookies and a body leave these as they are', async (t) => {
  const { received, call } = await start(t, { security: all })
  await call('put_both', { query: { q: 'a+b' }, cookie: { seen: 'x' }, body: { n: 1 } })
  const { url, cookie, body } = received[0] ?? {}
  t.equal(url, '/both?q=a%2Bb&api%20key=a%26b%20c')
  t.equal(cookie, 'seen=x; sid=a%20b')
  t.equal(body, '{"n":1}')
})

t.test('a call without the credentials that its operation needs is not sent', async (t) => {
  const { received, call } = await start(t, { security: { token: 't' } })
  const message =
    'either needs credentials that were not given: security of header and token, or oauth, or login'
  await t.rejects(call('either'), { name: 'TypeError', message })
  t.strictSame(received, [])
})

t.test('a function is called once for each attempt, and only if its credential is sent', async (t) => {
  const asked: string[] = []
  const ask = (name: string) => async () => {
    asked.push(name)
    return name
  }
  const { call } = await start(t, {
    security: { header: ask('header'), token: ask('token'), oidc: ask('oidc') },
  })
  await call('either')
  t.strictSame(asked, ['header', 'token'])
  await call('open')
  t.strictSame(asked, ['header', 'token'])
})

const secret = 'SEcret'

for (const [given, message] of [
  [{ security: 3 }, 'security must be an object with a credential for each scheme'],
  [{ key: secret }, 'key is for a contract with one scheme: give security, by the names cookie'],
  [{ security: { other: secret } }, 'security: no scheme is called other, but cookie, digest'],
  [{ security: { certificate: secret } }, 'security: no scheme is called certificate, but'],
  [{ security: { toString: secret } }, 'security: no scheme is called toString, but'],
  [
    { security: { token: `${secret} b` } },
    'security.token must be a string of printable ASCII characters without',
  ],
  [
    { security: { header: `${secret}\n1` } },
    'security.header must be a string of printable ASCII characters',
  ],
  [{ security: { query: 3 } }, 'security.query must be a string of printable ASCII characters'],
  [{ security: { login: secret } }, 'security.login must have a username and a password'],
  [{ security: { login: { username: secret } } }, 'security.login must have a username and a password'],
  [
    { security: { login: { username: `${secret}:`, password: '' } } },
    'security.login must have no control characters, and no colon in its username',
  ],
  [
    { security: { login: { username: '', password: `${secret}\0` } } },
    'security.login must have no control characters, and no colon in its username',
  ],
  [{ headers: { 'x-KEY': secret } }, 'headers must not contain x-key: give it as `security`'],
  [{ headers: { Authorization: secret } }, 'headers must not contain authorization: give it as `security`'],
] as const)
  t.test(`refused: ${JSON.stringify(given)}`, async (t) => {
    const make = () => buildClient(table, { baseUrl: 'http://a', ...given } as unknown as AnyClientOptions)
    // The message begins with this text, and does not contain the credential.
    t.throws(make, { name: 'TypeError', message: new RegExp(`^${message}(?!.*${secret})`) })
    const client = buildClient(table, { baseUrl: 'http://a' })
    await t.rejects(async () => client.operations.open?.(given as object), { name: 'TypeError' })
  })

t.test('what a function returns is checked, too', async (t) => {
  const { call } = await start(t, { security: { token: async () => 'a b' } })
  await t.rejects(call('token'), { name: 'TypeError', message: /^security\.token must be/ })
})

t.test('a redirect takes no credential to another origin', async (t) => {
  const seen: object[] = []
  const other = await listen(t, ({ headers, url }, response) => {
    seen.push([headers.authorization, headers['x-key'], headers.cookie, url])
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('[]')
  })
  const baseUrl = await listen(t, (_, response) => void response.writeHead(307, { Location: other }).end())
  const client = buildClient(table, { baseUrl, security: all })
  for (const id of ['token', 'login', 'oidc', 'query', 'open']) await client.operations[id]?.()
  t.strictSame(seen, Array(5).fill([undefined, undefined, undefined, '/']), 'fetch leaves Authorization out')
  for (const id of ['header', 'cookie', 'both'])
    await t.rejects(async () => client.operations[id]?.(), { code: 'redirect', status: 307 })
  t.equal(seen.length, 5, 'it would send others along')
})

t.test('a key in a query is in no URL that the client shows', async (t) => {
  const { baseUrl, received, client } = await start(
    t,
    { security: { query: secret } },
    { Link: `<?api+key=${secret}&after=1>; rel="next"` },
  )
  const first = await client.operations.query?.({ query: { q: '1' } })
  t.equal(first?.response.url, `${baseUrl}/query?q=1`)
  t.equal(first?.position, 'after=1')
  const second = await first?.next?.()
  t.equal(second?.response.url, `${baseUrl}/query?after=1`)
  t.equal(received.at(-1)?.url, `/query?after=1&api%20key=${secret}`, 'once, whatever the link says')
  await t.rejects(async () => second?.next?.(), {
    code: 'unexpected_answer',
    message: 'The next page is this one again.',
  })
})

t.test('a contract with one scheme takes its credential as `key`', async (t) => {
  const one = tableOf({ door: securitySchemes.header }, { a: [{ door: [] }] })
  const baseUrl = await listen(t, ({ headers }, response) => {
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(headers['x-key'] ?? null))
  })
  for (const given of [{ key: 'k' }, { security: { door: async () => 'k' } }])
    t.equal((await buildClient(one, { baseUrl, ...given }).operations.a?.())?.data, 'k')
  t.throws(() => buildClient(one, { baseUrl }), { name: 'TypeError', message: /^key must be a string/ })
  const open = tableOf({ door: securitySchemes.header }, { a: [{ door: [] }], b: [] })
  t.equal((await buildClient(open, { baseUrl }).operations.b?.())?.data, null)
})

// Compiled, but not run.
export const typed = [
  { key: 'k' } satisfies CredentialOptions<{ a: string }>,
  { key: async () => 'k' } satisfies CredentialOptions<{ a: string }>,
  {} satisfies CredentialOptions<{ a?: string }>,
  // @ts-expect-error a key that every operation needs
  {} satisfies CredentialOptions<{ a: string }>,
  // @ts-expect-error a key for one of two schemes
  { key: 'k' } satisfies CredentialOptions<{ a: string; b: string }>,
  { security: { a: 'k' } } satisfies CredentialOptions<{ a: string; b: string }>,
  // @ts-expect-error a scheme that the contract does not have
  { security: { c: 'k' } } satisfies CredentialOptions<{ a: string; b: string }>,
  { security: { b: () => ({ username: '', password: '' }) } } satisfies CredentialOptions<{
    a: string
    b: { username: string; password: string }
  }>,
  // @ts-expect-error a text for a name and a password
  { security: { b: 'k' } } satisfies CredentialOptions<{ b: { username: string; password: string } }>,
]
