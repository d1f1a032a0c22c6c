// Requests that pages of other sites send with a browser's cookies: which are refused, and which pass.

import {
  type Caller,
  errorHandler,
  mount,
  notFoundHandler,
  RequestError,
  Security,
  securityAddition,
  verdictOf,
} from 'contract-engine'
import { methodsOfNode, unnamedCodes } from 'contract-engine/tools'
import { contractOf } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { CookieOptions } from '../../../src/serve/security/cookie-guard.js'

const securitySchemes = {
  session: { type: 'apiKey', in: 'cookie', name: '__Host-session' },
  whole: { type: 'apiKey', in: 'header', name: 'Cookie' },
  key: { type: 'apiKey', in: 'header', name: 'X-Key' },
  token: { type: 'http', scheme: 'bearer' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
}
type Needs = readonly Readonly<Partial<Record<keyof typeof securitySchemes, string[]>>>[]

const session: Needs = [{ session: [] }]
const secured: Readonly<Record<string, Needs>> = {
  session,
  whole: [{ whole: [] }],
  key: [{ key: [] }],
  query: [{ query: [] }],
  either: [{ session: [] }, { key: [] }],
  both: [{ session: [], key: [] }],
  bothTurned: [{ key: [], session: [] }],
  optional: [{}, { session: [] }],
  open: [],
  scoped: [{ session: ['write'] }],
}

const responses = { 204: { description: 'Done.' }, 403: { description: 'No.' } }
const form = { content: { 'application/x-www-form-urlencoded': {} } }
const safe = ['get', 'head', 'options', ...(methodsOfNode.has('QUERY') ? ['query'] : [])]
const unsafe = ['post', 'put', 'patch', 'delete'] as const
const contract = await contractOf({
  openapi: '3.2.0',
  paths: {
    ...Object.fromEntries(
      Object.entries(secured).map(([name, security]) => [
        `/${name}`,
        { post: { operationId: name, security, requestBody: form, responses } },
      ]),
    ),
    '/methods': {
      ...Object.fromEntries(
        [...safe, ...unsafe].map((each) => [
          each,
          { operationId: `to-${each}`, security: session, responses },
        ]),
      ),
      additionalOperations: Object.fromEntries(
        ['PROPFIND', 'SEARCH', 'PURGE', 'MKCOL'].map((each) => [
          each,
          { operationId: `to-${each}`, security: session, responses },
        ]),
      ),
    },
  },
  components: { securitySchemes },
})

const caller = (credential: string): Caller | undefined => {
  if (credential === 'down') throw new RequestError('unavailable', 'Later.', { status: 503 })
  return credential.includes('ann') ? { scopes: new Set() } : undefined
}
const checks = Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, { caller }]))

type Headers = Readonly<Record<string, string>>

/** Starts a server that reports its callers, and counts how many handlers have run. */
async function start(t: Test, options: CookieOptions = {}, isAdmitted = false) {
  let runs = 0
  const app = Fastify({ frameworkErrors: errorHandler(contract) })
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  const security = new Security(contract, checks, options)
  // Like an application that authenticates requests before they reach their operation.
  if (isAdmitted)
    app.addHook('onRequest', async (request) => {
      await security.authenticate(request, request.routeOptions.config.operation)
    })
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-callers', Object.keys(verdictOf(request)?.callers ?? {}).join())
  })
  const handler = async () => {
    runs++
    return { status: 204 }
  }
  const handlers = Object.fromEntries([...contract.operations.values()].map(({ name }) => [name, handler]))
  await mount(app, { contract, handlers, ...(isAdmitted ? { security } : { security: checks, ...options }) })
  const send = async (url: string, headers: Headers, method = 'POST') => {
    const before = runs
    const response = await app.inject({ method: method as 'POST', url, headers })
    const { statusCode, headers: sent, payload } = response
    t.equal(runs > before, statusCode === 204, 'the handler runs only if it passes')
    return {
      status: statusCode,
      callers: sent['x-callers'],
      code: payload === '' ? undefined : JSON.parse(payload).code,
      challenge: sent['www-authenticate'],
    }
  }
  return { app, send }
}

const cookie = { cookie: '__Host-session=ann' }
const passes = { status: 204 }
const refused = { status: 403, code: 'cross_site_request' }
const own = { host: 'store.example', origin: 'http://store.example' }
const foreign = { host: 'store.example', origin: 'https://evil.example' }
const site = (value: string) => ({ 'sec-fetch-site': value })
const listed = { origin: 'https://app.example' }

// Senders, as a browser identifies them: by Sec-Fetch-Site, or before 2023 by Origin.
const senders: readonly [title: string, headers: Headers, expected: object][] = [
  ['no page', {}, passes],
  ['a page of the server', { ...site('same-origin'), ...own }, passes],
  ['a page of the server, without an origin', site('same-origin'), passes],
  ['a user who has typed the address', site('none'), passes],
  ['a page of another site', { ...site('cross-site'), ...foreign }, refused],
  ['a page of another site, without an origin', site('cross-site'), refused],
  ['a page of another site that hides its own', { ...site('cross-site'), origin: 'null' }, refused],
  ['a page of a sibling', { ...site('same-site'), ...own, origin: 'http://blog.store.example' }, refused],
  ['a page of a sibling, without an origin', site('same-site'), refused],
  ['a page of another site that says the own origin', { ...site('cross-site'), ...own }, refused],
  ['an older browser, for a page of the server', own, passes],
  ['an older browser, for another page', foreign, refused],
  ['an older browser, for a page without an origin', { host: 'store.example', origin: 'null' }, refused],
  ['an older browser, for another port', { ...own, origin: 'http://store.example:8080' }, refused],
  ['an older browser, for another scheme', { ...own, origin: 'https://store.example' }, refused],
  [
    'an older browser, for a host that begins alike',
    { ...own, origin: 'http://store.example.evil' },
    refused,
  ],
  [
    'an older browser, for two origins',
    { ...own, origin: 'http://store.example, https://evil.example' },
    refused,
  ],
  ['an older browser, for the own origin as a path', { ...own, origin: 'http://store.example/' }, refused],
  ['an older browser, for an empty origin', { ...own, origin: '' }, refused],
  ['an older browser, without a valid host', { host: 'a b', origin: 'http://a b' }, refused],
  ['an older browser, at a default port', { ...own, host: 'store.example:80' }, passes],
  ['an older browser, at another port', { host: '[::1]:8080', origin: 'http://[::1]:8080' }, passes],
  ['who says two sites', site('same-origin, cross-site'), refused],
  ['who says a site in another case', site('Same-Origin'), refused],
  ['who says an empty site', site(''), refused],
  ['who says an unknown site', site('sibling'), refused],
  [
    'a proxy that is not trusted',
    { ...foreign, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    refused,
  ],
  ['a page that is not listed', { ...site('cross-site'), ...listed }, refused],
]

for (const isAdmitted of [false, true])
  t.test(`of requests with a cookie${isAdmitted ? ', if they are admitted before' : ''}`, async (t) => {
    const { send } = await start(t, {}, isAdmitted)
    for (const [title, headers, expected] of senders) {
      t.match(await send('/session', { ...cookie, ...headers }), expected, `from ${title}`)
      t.match(
        await send('/session', headers),
        { status: 401, code: 'missing_credentials' },
        `${title}, without`,
      )
      t.match(await send('/key', { 'x-key': 'ann', ...headers }), passes, `${title}, with a header`)
      t.match(await send('/query?key=ann', headers), passes, `${title}, with a query`)
      t.match(
        await send('/open', { ...cookie, ...headers }),
        { ...passes, callers: isAdmitted && expected === passes ? 'session' : '' },
        `${title}, if none is required`,
      )
    }
  })

t.test(
  'a refusal says that it is one of the cookie, and who it is remains unknown to handlers',
  async (t) => {
    const { send } = await start(t)
    t.strictSame(await send('/session', { ...cookie, ...site('cross-site') }), {
      ...refused,
      callers: '',
      challenge: 'ApiKey realm="Values", in="cookie", name="__Host-session"',
    })
  },
)

t.test('pages of origins that are listed may use cookies', async (t) => {
  const { send } = await start(t, { cookieOrigins: ['https://app.example', 'http://localhost:5173'] })
  for (const sent of [site('cross-site'), site('same-site'), {}]) {
    t.match(await send('/session', { ...cookie, ...sent, ...listed }), passes)
    t.match(await send('/session', { ...cookie, ...sent, origin: 'http://localhost:5173' }), passes)
    t.match(await send('/session', { ...cookie, ...sent, origin: 'http://localhost:5174' }), refused)
    t.match(await send('/session', { ...cookie, ...sent, origin: 'https://app.example:444' }), refused)
  }
  t.match(await send('/session', { ...cookie, ...site('cross-site') }), refused, 'it has to say which it is')
})

t.test('the guard can be left to others', async (t) => {
  const { send } = await start(t, { cookieOrigins: 'any' })
  for (const [title, headers] of senders)
    t.match(await send('/session', { ...cookie, ...headers }), passes, title)
})

t.test('what is no origin is no option', async (t) => {
  for (const origin of [
    '*',
    'null',
    'app.example',
    'https://app.example/',
    'https://App.example',
    'https://a:443',
  ])
    t.throws(() => new Security(contract, checks, { cookieOrigins: [origin] }), {
      message: `cookieOrigins: ${origin} is no origin, such as https://app.example`,
    })
})

t.test('the own origin is where callers reach the server', async (t) => {
  const trusted = { address: { isProxy: () => true } }
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'store.example' }
  const page = { ...cookie, host: '10.0.0.7:3000', origin: 'https://store.example' }
  const behind = await start(t, trusted)
  t.match(await behind.send('/session', { ...page, ...forwarded }), passes)
  t.match(await behind.send('/session', { ...page, ...forwarded, origin: 'http://10.0.0.7:3000' }), refused)
  const publicly = await start(t, { address: { publicUrl: 'https://store.example/v1' } })
  t.match(await publicly.send('/session', page), passes)
  t.match(
    await publicly.send('/session', { ...page, origin: 'http://10.0.0.7:3000' }),
    passes,
    'as it was reached',
  )
  t.match(await publicly.send('/session', { ...page, ...forwarded, origin: 'http://store.example' }), refused)
})

t.test('only what may change something is guarded', async (t) => {
  const { send } = await start(t)
  const sent = { ...cookie, ...site('cross-site'), ...foreign }
  for (const method of [...safe.map((each) => each.toUpperCase()), 'PROPFIND', 'SEARCH'])
    t.not((await send('/methods', sent, method)).status, 403, method) // QUERY without a body is a 415
  for (const method of [...unsafe.map((each) => each.toUpperCase()), 'PURGE', 'MKCOL'])
    t.match(await send('/methods', sent, method), { status: 403 }, method)
})

t.test('an alternative is guarded by what it is met by', async (t) => {
  const { send } = await start(t)
  const from = site('cross-site')
  const key = { 'x-key': 'ann' }
  t.match(await send('/whole', { cookie: 'ann', ...from }), refused, 'the header of all cookies')
  t.match(await send('/either', { ...cookie, ...from }), refused)
  t.match(await send('/either', { ...cookie, ...key, ...from }), { ...passes, callers: 'key' })
  t.match(await send('/either', { ...cookie, ...key }), { ...passes, callers: 'session' })
  t.match(await send('/either', { ...cookie, 'x-key': 'eve', ...from }), refused)
  t.match(await send('/either', { ...cookie, 'x-key': 'down', ...from }), { status: 503 })
  for (const url of ['/both', '/bothTurned']) {
    t.match(await send(url, { ...cookie, ...key }), passes)
    t.match(await send(url, { ...cookie, ...key, ...from }), refused, 'a cookie is needed')
    t.match(await send(url, { ...cookie, ...from }), { status: 401 })
  }
  t.match(await send('/optional', { ...cookie, ...from }), refused)
  t.match(await send('/optional', from), { ...passes, callers: '' })
  t.match(await send('/session', { cookie: '__Host-session=eve', ...from }), { status: 401 })
  t.match(await send('/scoped', { ...cookie, ...from }), { status: 403, code: 'insufficient_scope' })
})

t.test('a form of another site is refused before its body arrives', async (t) => {
  const { app } = await start(t)
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const head = `POST /session HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: __Host-session=ann\r\n`
  const type = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n'
  const of = (more: string) => sendRaw(origin, `${head}${type}${more}\r\n`)
  t.match(await of('Sec-Fetch-Site: cross-site\r\n'), /^HTTP\/1\.1 403 .*"cross_site_request"/s)
  t.match(await of('Origin: http://x\r\nOrigin: http://x\r\n'), /^HTTP\/1\.1 403 /s, 'two are none')
  t.match(await of('Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n'), /^HTTP\/1\.1 403 /s)
})

t.test('a contract whose codes are older than the guard is served, and warned of', async (t) => {
  const named = { ...contract, describesErrors: true }
  const older = new Map([...contract.errorStatuses].filter(([code]) => code !== 'cross_site_request'))
  const unnamed = { ...named, errorStatuses: older }
  const app = Fastify()
  t.teardown(() => app.close())
  const handler = async () => ({ status: 204 })
  const handlers = Object.fromEntries([...contract.operations.values()].map(({ name }) => [name, handler]))
  await mount(app, { contract: unnamed, handlers, security: checks })
  const response = await app.inject({
    method: 'POST',
    url: '/session',
    headers: { ...cookie, ...site('cross-site') },
  })
  t.match([response.statusCode, response.json()], [403, { code: 'cross_site_request' }])
  const warned = (each: typeof contract, options?: CookieOptions) =>
    unnamedCodes(each, new Security(each, checks, options)).map(({ text }) => text)
  t.strictSame(warned(unnamed), [
    'ErrorCode: the enum lacks cross_site_request, which session sends with 403',
  ])
  t.strictSame(warned(unnamed, { cookieOrigins: 'any' }), [])
  t.strictSame(warned(named), [])
})

t.test('its error is one of those that a start checks', async (t) => {
  const security = new Security(contract, checks)
  const codes = (name: string) => {
    const operation = contract.operations.get(name)
    const errors = operation && securityAddition(security).errors?.(operation, contract)
    return errors?.map(({ code }) => code).filter((code) => code === 'cross_site_request')
  }
  for (const name of ['session', 'whole', 'either', 'both', 'optional', 'scoped', 'to-delete'])
    t.strictSame(codes(name), ['cross_site_request'], name)
  for (const name of ['key', 'query', 'open', 'to-get', 'to-options', 'to-SEARCH'])
    t.strictSame(codes(name), [], name)
})
