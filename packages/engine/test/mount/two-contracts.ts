// Two contracts in one application, each with its own prefix, error form, security and documents. Below its
// prefix, each contract decides the responses, whichever error handler sends them.

import {
  clientErrorHandler,
  contractFiles,
  documentation,
  type ErrorBodyOf,
  errorHandler,
  mount,
  notFoundHandler,
  RequestError,
} from 'contract-engine'
import { send } from 'contract-engine/lib/send'
import { contractOf } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { sendRaw } from 'contract-testing/send-raw'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { CheckList } from '../../src/serve/security/check.js'

const plain = { required: ['code', 'message'], properties: { code: {}, message: {}, status: {} } }
const problem = { type: 'object', required: ['title', 'detail'], properties: { title: {}, detail: {} } }
const own = { type: 'object', required: ['reason'], properties: { reason: { type: 'string' } } }
const reasonOf: ErrorBodyOf = ({ code }) => ({ reason: code })

const answer = { type: 'object', required: ['from', 'id'], properties: { from: {}, id: { type: 'integer' } } }
const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } }
const schemes = {
  key: { type: 'apiKey', in: 'header', name: 'X-Key' },
  member: { type: 'http', scheme: 'basic' },
}

interface Form {
  readonly title: string
  readonly server: string
  readonly type: string
  readonly schema: object
  readonly scheme: keyof typeof schemes
  readonly more?: object
}

// Returns a contract with the same operations and names as the other.
function contractWith({ title, server, type, schema, scheme, more = {} }: Form) {
  const responses = {
    200: { description: 'It.', content: { 'application/json': { schema: answer } } },
    default: { description: 'An error.', content: { [type]: { schema } } },
  }
  return contractOf({
    info: { title, version: '1.0.0' },
    servers: [{ url: server }],
    security: [{ [scheme]: [] }],
    'x-limits': { urlBytes: 1_000 },
    components: { securitySchemes: { [scheme]: schemes[scheme] } },
    paths: { '/pets/{id}': { get: { operationId: 'getPet', parameters: [id], responses } } },
    ...more,
  })
}

const shop: Form = {
  ...{ title: 'Shop', server: 'https://shop.example/v1', scheme: 'key' },
  ...{ type: 'application/json', schema: plain },
}
const admin: Form = {
  ...{ title: 'Admin', server: '/admin', scheme: 'member' },
  ...{ type: 'application/problem+json', schema: problem },
}

function handlersOf(from: string) {
  const getPet = async ({ params }: { params: { id: number } }) => {
    if (params.id === 404) throw new RequestError('no_pet', 'There is no such pet.', { status: 404 })
    return { status: 200, body: { from, id: params.id } }
  }
  return { getPet }
}

const caller = { scopes: new Set<string>() }
const security = {
  key: { caller: (key: string) => (key === 'sesame' ? caller : undefined) },
  member: { caller: (sent: { username: string }) => (sent.username === 'ann' ? caller : undefined) },
}

/** Returns the checks of a contract. */
function only(title: string): CheckList {
  return title === 'Shop' ? { key: security.key } : { member: security.member }
}

const credentials = {
  Shop: { 'x-key': 'sesame' },
  Admin: { authorization: `Basic ${Buffer.from('ann:x').toString('base64')}` },
}

type Place = 'root' | 'plugins' | 'mixed'

/**
 * Starts an application with both contracts. Error handlers that an application has only once are those of
 * the first.
 */
async function start(
  t: Test,
  place: Place,
  second: Form = admin,
  { errorBody, hasDocuments = true }: { errorBody?: ErrorBodyOf; hasDocuments?: boolean } = {},
) {
  const [first, other] = [await contractWith(shop), await contractWith(second)]
  const app: FastifyInstance = Fastify({
    frameworkErrors: errorHandler(first),
    clientErrorHandler: clientErrorHandler(first),
  })
  app.setErrorHandler(errorHandler(first))
  app.setNotFoundHandler(notFoundHandler(app, first))
  for (const [contract, form, body] of [
    [first, shop, undefined],
    [other, second, errorBody],
  ] as const) {
    const parts = {
      contract,
      handlers: handlersOf(form.title),
      security: only(form.title),
      ...(body && { errorBody: body }),
    }
    const add = async (scope: FastifyInstance) => {
      if (hasDocuments) contractFiles(scope, contract)
      if (hasDocuments) documentation(scope, contract)
      await mount(scope, parts)
    }
    if (place === 'root' || (place === 'mixed' && contract === first)) await add(app)
    else
      await app.register(
        async (scope) => {
          scope.setErrorHandler(errorHandler(contract, { errorBody: body }))
          scope.setNotFoundHandler(notFoundHandler(scope, contract))
          await add(scope)
        },
        { prefix: `/of-${form.title.toLowerCase()}` },
      )
  }
  t.teardown(() => app.close())
  return { app, origin: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

// The base paths of each contract's operations.
const bases: Record<Place, Record<'Shop' | 'Admin', string>> = {
  root: { Shop: '/v1', Admin: '/admin' },
  plugins: { Shop: '/of-shop/v1', Admin: '/of-admin/admin' },
  mixed: { Shop: '/v1', Admin: '/of-admin/admin' },
}
const places = ['root', 'plugins', 'mixed'] as const

const raw = (origin: string, line: string, more = '') =>
  sendRaw(origin, `${line}\r\nHost: a\r\nConnection: close\r\n${more}\r\n`)
const formOf = (text: string) =>
  /"title":"[^"]*",.*"detail"|"detail":.*"title"/s.test(text) ? 'Admin' : 'Shop'

const refusals: [title: string, line: (base: string) => string, status: number, more?: string][] = [
  ['an unknown path', (base) => `GET ${base}/nothing HTTP/1.1`, 404],
  ['an unknown path with a query', (base) => `GET ${base}/nothing?a=/v1/pets/1 HTTP/1.1`, 404],
  ['an encoded unknown path', (base) => `GET ${base.replace(/[ai]/, encodedLetter)}/nothing HTTP/1.1`, 404],
  ['an empty parameter', (base) => `GET ${base}/pets/ HTTP/1.1`, 404],
  ['the prefix alone', (base) => `GET ${base} HTTP/1.1`, 404],
  ['a wrong method', (base) => `DELETE ${base}/pets/1 HTTP/1.1`, 405],
  ['a malformed URL', (base) => `GET ${base}/%zz HTTP/1.1`, 400],
  ['a malformed URL of an operation', (base) => `GET ${base}/pets/%zz HTTP/1.1`, 400],
  ['a malformed URL in absolute form', (base) => `GET http://a${base}/%zz HTTP/1.1`, 400],
  ['a parameter that is too long', (base) => `GET ${base}/pets/${'1'.repeat(1_000)} HTTP/1.1`, 414],
  ['no credential', (base) => `GET ${base}/pets/1 HTTP/1.1`, 401],
  [
    'a header section that is too long',
    (base) => `GET ${base}/pets/1 HTTP/1.1`,
    431,
    `A: ${'a'.repeat(20_000)}\r\n`,
  ],
  ['a header without a name', (base) => `GET ${base}/pets/1 HTTP/1.1`, 400, ': b\r\n'],
]

function encodedLetter(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`
}

for (const place of places)
  t.test(`${place}: each refusal below a prefix has the form of its contract`, async (t) => {
    const { origin } = await start(t, place)
    for (const [title, line, status, more] of refusals)
      for (const [contract, base] of Object.entries(bases[place])) {
        const response = await raw(origin, line(base), more)
        t.match(response, new RegExp(`^HTTP/1.1 ${status} `), `${title} of ${contract}`)
        t.equal(formOf(response), contract, `${title} of ${contract}: ${response.split('\r\n\r\n')[1]}`)
      }
  })

for (const place of places)
  t.test(`${place}: what is below neither has that of the application`, async (t) => {
    const { origin } = await start(t, place)
    for (const target of ['/nowhere', '/administrators', '/v11/%zz', '/%zz', '/of-shopping'])
      t.equal(formOf(await raw(origin, `GET ${target} HTTP/1.1`)), 'Shop', target)
    t.equal(formOf(await raw(origin, 'GET / HTTP/9.9')), 'Shop', 'what is no HTTP')
    t.equal(formOf(await raw(origin, 'OPTIONS * HTTP/1.1')), 'Shop', 'no path')
  })

t.test(
  'below the prefix of a plugin, the form is that of its contract, also beside its operations',
  async (t) => {
    const { origin } = await start(t, 'plugins')
    for (const target of ['/of-admin/nothing', '/of-admin/%zz', '/of-admin'])
      t.equal(formOf(await raw(origin, `DELETE ${target} HTTP/1.1`)), 'Admin', target)
  },
)

t.test('a form of the application is that of one contract alone', async (t) => {
  const { origin } = await start(
    t,
    'root',
    { ...admin, type: 'application/json', schema: own },
    { errorBody: reasonOf },
  )
  for (const [target, reason] of [
    ['/admin/nothing', 'route_not_found'],
    ['/admin/%zz', 'malformed_request'],
    ['/admin/pets/x', 'missing_credentials'],
  ] as const)
    t.ok((await raw(origin, `GET ${target} HTTP/1.1`)).endsWith(`\r\n\r\n{"reason":"${reason}"}`), target)
  t.match(await raw(origin, 'GET /v1/%zz HTTP/1.1'), /"code":"malformed_request"/)
})

t.test('a limit of URLs is that of the contract whose path it is', async (t) => {
  const { origin } = await start(t, 'root', {
    ...admin,
    more: { 'x-limits': { bodyBytes: 1, urlBytes: 70, headerBytes: 9_000 } },
  })
  const long = 'a'.repeat(70)
  t.match(await raw(origin, `GET /admin/${long} HTTP/1.1`), /^HTTP\/1\.1 414 .* longer than 70 bytes/s)
  t.match(await raw(origin, `GET /v1/${long} HTTP/1.1`), /^HTTP\/1\.1 404 /)
})

t.test(
  'the longest prefix decides, and of contracts with the same one, which has more of the path',
  async (t) => {
    for (const [server, paths] of [
      ['/v1/admin', '/pets/{id}'],
      ['/v1', '/admin/pets/{id}'],
      ['/', '/v1/admin/pets/{id}'],
    ] as const) {
      const { paths: written } = (await contractWith(admin)).document as { paths: Record<string, object> }
      const more = { paths: { [paths]: written['/pets/{id}'] } }
      const { origin } = await start(t, 'root', { ...admin, server, more }, { hasDocuments: false })
      const expected = server === '/' ? 'Shop' : 'Admin'
      t.equal(formOf(await raw(origin, 'GET /v1/admin/nothing HTTP/1.1')), expected, server)
      t.equal(formOf(await raw(origin, 'DELETE /v1/pets/1 HTTP/1.1')), 'Shop', server)
      t.equal(formOf(await raw(origin, 'GET /v1/pets/%zz HTTP/1.1')), 'Shop', server)
    }
  },
)

t.test('a prefix with a parameter gives way to one without, as routes do', async (t) => {
  const app: FastifyInstance = Fastify()
  t.teardown(() => app.close())
  const [first, second] = [
    await contractWith({ ...shop, server: '/' }),
    await contractWith({ ...admin, server: '/' }),
  ]
  app.setErrorHandler(errorHandler(first))
  app.setNotFoundHandler(notFoundHandler(app, first))
  for (const [contract, prefix] of [
    [first, '/:tenant'],
    [second, '/staff'],
  ] as const) {
    const parts = { contract, handlers: handlersOf(contract.title), security: only(contract.title) }
    await app.register((scope) => mount(scope, parts), { prefix })
  }
  for (const [url, expected] of [
    ['/staff/nothing', 'Admin'],
    ['/else/nothing', 'Shop'],
    ['/a%2Fb/nothing', 'Shop'],
    ['/%73taff/nothing', 'Admin'],
  ] as const)
    t.equal(formOf((await app.inject(url)).payload), expected, url)
})

t.test(
  'a target that the application rewrites belongs to the contract that has it then, or had it before',
  async (t) => {
    const [first, second] = [await contractWith(shop), await contractWith(admin)]
    for (const [rewriteUrl, target] of [
      [({ url = '' }: { url?: string | undefined }) => url.replace('/gateway', ''), '/gateway/admin/nothing'],
      [() => '//', '/admin/nothing'],
    ] as const) {
      const app: FastifyInstance = Fastify({ rewriteUrl })
      t.teardown(() => app.close())
      app.setErrorHandler(errorHandler(first))
      app.setNotFoundHandler(notFoundHandler(app, first))
      for (const contract of [first, second])
        await mount(app, { contract, handlers: handlersOf(contract.title), security: only(contract.title) })
      t.equal(formOf((await app.inject(target)).payload), 'Admin', target)
    }
  },
)

t.test('both have their files and pages, and the only catalogue names both', async (t) => {
  for (const [place, folders] of [
    ['root', { Shop: '', Admin: '/admin' }],
    ['plugins', { Shop: '/of-shop', Admin: '/of-admin' }],
  ] as const) {
    const { origin } = await start(t, place)
    for (const title of ['Shop', 'Admin'] as const) {
      const [folder, base] = [folders[title], bases[place][title]]
      for (const file of ['openapi.json', 'openapi.yaml', 'openapi-3.0.json', 'openapi-3.1.yaml']) {
        const { status, text } = await send(`${origin}${folder}/${file}`)
        t.equal(status, 200, `${folder}/${file}`)
        t.match(text, title, `${folder}/${file}`)
        t.ok(text.includes(`${origin}${base}`), `${folder}/${file} names ${base}`)
        t.notMatch(text, /url"?: "?\//, 'a path alone would lead elsewhere')
      }
      const page = await send(`${origin}${folder}/docs`)
      t.match(page.text, `<title>${title}</title>`)
      for (const file of ['page.js', 'page.css', 'contract.json'])
        t.equal((await send(`${origin}${folder}/docs/${file}`)).status, 200, file)
      const shown = (await send(`${origin}${folder}/docs/contract.json`)).body.servers[0].url
      t.equal(new URL(shown, `${origin}${folder}/docs`).pathname, base, 'where the page sends requests')
      t.match((await send(`${origin}${folder}/llms.txt`)).text, `base address: ${origin}${base}\n`)
      const start = await fetch(`${origin}${folder}/`)
      t.equal(new URL(start.url).pathname, `${folder}/docs`)
    }
    if (place !== 'root') continue
    const { linkset } = JSON.parse((await send(`${origin}/.well-known/api-catalog`)).text)
    t.match(linkset, [
      { anchor: `${origin}/v1`, 'service-desc': [{ href: `${origin}/openapi.json` }, {}] },
      { anchor: `${origin}/admin`, 'service-desc': [{ href: `${origin}/admin/openapi.json` }, {}] },
    ])
  }
})

t.test('documents in another scope than the operations name the place of these', async (t) => {
  for (const [files, operations, server, base] of [
    ['/admin', '', '/admin', '/admin'],
    ['/of/staff', '', '/admin', '/admin'],
    ['', '/api', '/', '/api'],
    ['/files', '/api', '/admin', '/api/admin'],
  ] as const) {
    const contract = await contractWith({ ...admin, server })
    const app: FastifyInstance = Fastify()
    t.teardown(() => app.close())
    await app.register(
      async (scope) => {
        contractFiles(scope, contract)
        documentation(scope, contract)
      },
      { prefix: files },
    )
    await app.register(
      (scope) => mount(scope, { contract, handlers: handlersOf('Admin'), security: only('Admin') }),
      { prefix: operations },
    )
    const ask = async (path: string) => (await app.inject(files + path)).payload
    const url = `http://localhost${base}`
    t.equal(JSON.parse(await ask('/openapi.json')).servers[0].url, url, files)
    t.match(await ask('/llms.txt'), `base address: ${url}\n`)
    const shown = JSON.parse(await ask('/docs/contract.json')).servers[0].url
    t.equal(new URL(shown, `http://localhost${files}/docs`).href.replace(/\/$/, ''), url)
    t.equal(JSON.parse(await ask('/.well-known/api-catalog')).linkset[0].anchor, url)
  }
})

t.test(
  'files that would be at the same paths stop the start, with both contracts and the way out',
  async (t) => {
    const rows: [first: object, second: object, add: typeof contractFiles | typeof documentation][] = [
      [shop, { ...admin, server: '/' }, contractFiles],
      [shop, { ...admin, server: '/' }, documentation],
      [{ ...shop, server: '/' }, { ...admin, server: '/' }, contractFiles],
    ]
    for (const [first, second, add] of rows) {
      const app = Fastify()
      t.teardown(() => app.close())
      add(app, await contractWith(first as Form))
      const other = await contractWith(second as Form)
      t.throws(() => add(app, other), {
        name: 'ContractError',
        message: /Admin 1.0.0 .* Shop 1.0.0: .*app\.register\(.*\{ prefix: /s,
      })
    }
  },
)

t.test('nor may the files of one be added twice, or at a route of the application', async (t) => {
  const contract = await contractWith(shop)
  for (const add of [contractFiles, documentation]) {
    const app = Fastify()
    t.teardown(() => app.close())
    add(app, contract)
    t.throws(() => add(app, contract), {
      name: 'ContractError',
      message: /is a route of the application already/,
    })
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/openapi.yaml', async () => 'own')
  const message = 'Shop 1.0.0: GET /openapi.yaml is a route of the application already'
  t.throws(() => contractFiles(app, contract), { name: 'ContractError', message })
})

t.test('under load, no request gets the response of the other contract', async (t) => {
  for (const place of places) {
    const { origin } = await start(t, place)
    const wrong: unknown[] = []
    const all = rounds(120)
    const ask = async (title: 'Shop' | 'Admin', i: number) => {
      const [url, other] = [`${origin}${bases[place][title]}`, title === 'Shop' ? 'Admin' : 'Shop'] as const
      const sent = credentials[title]
      const responses = await Promise.all([
        send(`${url}/pets/${i + 1_000}`, 'GET', sent),
        send(`${url}/pets/404`, 'GET', sent),
        send(`${url}/pets/x`, 'GET', sent),
        send(`${url}/pets/1`, 'GET', credentials[other]),
        send(`${url}/nothing`, 'GET', sent),
        send(`${url}/pets/1`, 'PUT', sent),
      ])
      const statuses = responses.map(({ status }) => status)
      const forms = responses.slice(1).map(({ text }) => formOf(text))
      const { body } = responses[0]
      const isRight =
        String(statuses) === '200,404,400,401,404,405' &&
        forms.every((form) => form === title) &&
        body.from === title &&
        body.id === i + 1_000
      if (!isRight) wrong.push([title, i, statuses, forms, body])
    }
    const next = Array.from({ length: all }, (_, i) => [i % 2 === 0 ? 'Shop' : 'Admin', i] as const)
    const worker = async () => {
      for (let each = next.pop(); each !== undefined; each = next.pop()) await ask(...each)
    }
    await Promise.all(Array.from({ length: 16 }, worker))
    t.strictSame(wrong, [], place)
  }
})
