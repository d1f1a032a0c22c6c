// A service of two contracts. Each admits and counts its callers separately, and never confuses a name with
// the same name in the other.

import { mount, RequestError } from 'contract-engine'
import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { type AppParts, buildApp, type Served } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { basic } from '../../src/auth/basic.js'
import { readServiceContract } from '../../src/auth/plans.js'
import { silent } from '../fixtures/cluster.js'
import { listenForScrapes, scrape } from '../fixtures/metrics.js'
import {
  createDatabase,
  noServices,
  openPools,
  type Service,
  send,
  sendRaw,
  startService,
  testConfig,
} from '../fixtures/service.js'

const anonymous = { perMinute: 10 }
const limits = {
  plans: { free: { perMinute: 3, perDay: 100 }, agreed: 'custom' },
  anonymous,
  ban: { rejections: 30, withinSeconds: 60, banSeconds: 300 },
}
const keySchemes = { key: { type: 'http', scheme: 'bearer' } }
const plain = { type: 'object', required: ['code'], properties: { code: {}, message: {}, status: {} } }
const problem = { type: 'object', required: ['title'], properties: { title: {}, detail: {} } }
const pet = { type: 'object', required: ['from'], properties: { from: { type: 'string' }, id: {} } }

interface Form {
  readonly title: string
  readonly server: string
  readonly schemes: object
  readonly errors: object
  readonly more?: object
}

const json = (schema: object) => ({ 'application/json': { schema } })
const parameter = (location: string, name: string, schema: object) => ({
  in: location,
  name,
  schema,
  required: location === 'path',
})

/** Creates a contract with the same operations and names as the other. */
function contractWith({ title, server, schemes, errors, more = {} }: Form) {
  const error = { default: { description: 'An error.', content: errors } }
  const it = { description: 'It.', content: json(pet) }
  const document = {
    openapi: '3.1.0',
    info: { title, version: '1.0.0' },
    servers: [{ url: server }],
    security: [{ [Object.keys(schemes)[0] ?? '']: [] }],
    components: { securitySchemes: schemes },
    paths: {
      '/pets/{id}': {
        get: {
          operationId: 'getPet',
          parameters: [parameter('path', 'id', { type: 'integer' })],
          responses: { 200: it, ...error },
        },
      },
      '/pets': {
        post: {
          operationId: 'addPet',
          'x-idempotent': true,
          parameters: [parameter('header', 'Idempotency-Key', { type: 'string' })],
          responses: { 201: it, ...error },
        },
      },
    },
    ...more,
  }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

function handlersOf(from: string) {
  return {
    getPet: async ({ params }: { params: { id: number } }) => {
      if (params.id === 404) throw new RequestError('no_pet', 'There is no such pet.', { status: 404 })
      return { status: 200, body: { from, id: params.id } }
    },
    addPet: async () => ({ status: 201, body: { from } }),
  }
}

const own = await contractWith({
  ...{ title: 'Store', server: '/v1', schemes: keySchemes, errors: json(plain) },
  more: { 'x-rate-limits': limits },
})
const next = await contractWith({
  ...{ title: 'Store', server: '/v2', schemes: keySchemes, errors: json(plain) },
  more: { 'x-rate-limits': limits },
})
const admin = await contractWith({
  ...{ title: 'Admin', server: '/admin', schemes: { operator: { type: 'http', scheme: 'basic' } } },
  errors: { 'application/problem+json': { schema: problem } },
  more: { 'x-limits': { bodyBytes: 1_000, urlBytes: 300, headerBytes: 8_000 } },
})

const first = {
  contract: own,
  handlers: handlersOf('Store') as unknown as AppParts['handlers'], // of another contract than the project's
  schemes: { key: apiKeys() },
}
const second: Served = { contract: next, handlers: handlersOf('Next'), schemes: { key: apiKeys() } }
const isAnn = (name: string) => (name === 'ann' ? { subject: name } : undefined)
const third: Served = { contract: admin, handlers: handlersOf('Admin'), schemes: { operator: basic(isAnn) } }

const basicOf = (name: string) => ({ authorization: `Basic ${Buffer.from(`${name}:x`).toString('base64')}` })
const ann = basicOf('ann')

function start(t: Test, env: Record<string, string> = {}): Promise<Service> {
  return startService(t, { ...first, beside: [second, third], env: { METRICS_PORT: '9464', ...env } })
}

const isProblem = (text: string) => /"title":/.test(text)

t.test('callers of a contract without rate limits are not counted, whoever they are', async (t) => {
  const { origin } = await start(t)
  for (let i = 0; i < anonymous.perMinute * 2; i++) {
    const known = await send(`${origin}/admin/pets/1`, 'GET', ann)
    t.match(known, { status: 200, body: { from: 'Admin' } })
    t.equal(known.headers.get('x-ratelimit-limit'), null)
    const unknown = await send(`${origin}/admin/pets/1`, 'GET', i % 2 === 0 ? {} : basicOf('eve'))
    t.match(unknown, { status: 401, body: { title: 'Unauthorized' } })
    t.match(await send(`${origin}/admin/nothing`), { status: 404, body: { title: 'Not Found' } })
  }
  const { status, headers } = await send(`${origin}/v1/pets/1`)
  t.strictSame([status, headers.get('x-ratelimit-remaining')], [401, String(anonymous.perMinute - 1)])
})

t.test('a contract with rate limits counts a key in the same windows, and so strangers', async (t) => {
  const { origin, createKey } = await start(t)
  stopClocks(t) // no window resets during the test
  const { key } = await createKey({ plan: 'free', perMinute: null, perDay: null })
  const auth = { authorization: `Bearer ${key}` }
  const statuses: number[] = []
  for (const version of ['v1', 'v2', 'v1', 'v2', 'v1'])
    statuses.push((await send(`${origin}/${version}/pets/1`, 'GET', auth)).status)
  t.strictSame(statuses, [200, 200, 200, 429, 429])
  for (let i = 0; i < anonymous.perMinute; i++)
    t.match(await send(`${origin}/${i % 2 === 0 ? 'v1' : 'v2'}/pets/1`), { status: 401 })
  for (const path of ['/v1/pets/1', '/v2/pets/1', '/v2/nothing'])
    t.match(await send(origin + path), { status: 429 }, path)
  t.match(await send(`${origin}/admin/pets/1`, 'GET', ann), { status: 200 })
})

t.test('metrics name the operations of each, those of the first as ever', async (t) => {
  const service = await start(t)
  const { origin, auth, app } = service
  for (const [path, headers, times] of [
    ['/v1/pets/1', auth, 2],
    ['/v2/pets/1', auth, 3],
    ['/admin/pets/1', ann, 4],
    ['/admin/nothing', ann, 1],
  ] as const)
    for (let i = 0; i < times; i++) await send(origin + path, 'GET', headers)
  await send(`${origin}/admin/pets/1`, 'HEAD', ann)
  const found = await scrape(await listenForScrapes({ app }))
  const counted = [...found].filter(([name]) => name.startsWith('animal_store_request_seconds_count'))
  const sample = (operation: string, status: number) =>
    `animal_store_request_seconds_count{operation="${operation}",status="${status}"}`
  t.strictSame(Object.fromEntries(counted), {
    [sample('getPet', 200)]: 2,
    [sample('/v2 getPet', 200)]: 3,
    [sample('/admin getPet', 200)]: 5,
    [sample('none', 404)]: 1,
  })
})

t.test('the log has the route and the caller of each', async (t) => {
  const { origin, auth, log } = await start(t)
  await send(`${origin}/v2/pets/1`, 'GET', auth)
  await send(`${origin}/admin/pets/1`, 'GET', ann)
  t.match(
    log.filter(({ msg }) => msg === 'request'),
    [
      { route: '/v2/pets/:id', status: 200, keyId: /^\d+$/ },
      { route: '/admin/pets/:id', status: 200, scheme: 'operator', subject: 'ann' },
    ],
  )
})

t.test('an Idempotency-Key is that of one operation, not of those with its name', async (t) => {
  const { origin, auth } = await start(t)
  const headers = { ...auth, 'idempotency-key': 'a' }
  const add = (version: string) => send(`${origin}/${version}/pets`, 'POST', headers)
  t.match(await add('v1'), { status: 201, body: { from: 'Store' } })
  t.match(await add('v2'), { status: 422, body: { code: 'idempotency_key_reused' } })
  const again = await add('v1')
  t.match(again, { status: 201, body: { from: 'Store' } })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
})

t.test('what has no operation gets the form of the contract below whose prefix it is', async (t) => {
  const { origin, auth } = await start(t)
  const ask = (line: string, more = '') =>
    sendRaw(
      origin,
      `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: ${auth.authorization}\r\n${more}Connection: close\r\n\r\n`,
    )
  for (const [target, status] of [
    ['GET %/nothing', 404],
    ['GET %/%zz', 400],
    ['GET http://a%/%zz', 400],
    ['DELETE %/pets/1', 405],
  ] as const)
    for (const prefix of ['/v1', '/v2', '/admin']) {
      const response = await ask(target.replace('%', prefix))
      t.match(response, new RegExp(`^HTTP/1.1 ${status} `), `${target} ${prefix}`)
      t.equal(isProblem(response), prefix === '/admin', `${target} ${prefix}`)
    }
  const long = 'a'.repeat(300)
  t.match(await ask(`GET /admin/${long}`), /^HTTP\/1\.1 414 .*"title":/s)
  t.match(await ask(`GET /v1/${long}`), /^HTTP\/1\.1 404 /)
  const tooLong = `A: ${'a'.repeat(20_000)}\r\n`
  for (const prefix of ['/v1', '/admin']) {
    const response = await ask(`GET ${prefix}/pets/1`, tooLong)
    t.match(response, /^HTTP\/1\.1 431 /)
    t.equal(isProblem(response), prefix === '/admin', prefix)
  }
})

t.test('the limits of one are no limits of the others', async (t) => {
  const { origin, auth } = await start(t)
  const long = `pets/1?x=${'a'.repeat(300)}`
  t.match(await send(`${origin}/admin/${long}`, 'GET', ann), { status: 414, body: { title: 'URI Too Long' } })
  for (const version of ['v1', 'v2'])
    t.match(await send(`${origin}/${version}/${long}`, 'GET', auth), { status: 400 }, version)
})

t.test('each is served as a file, with the address at which its callers reach it', async (t) => {
  const { origin } = await start(t, { PUBLIC_URL: 'https://store.example/api/v1' })
  for (const [path, url] of [
    ['/openapi.json', 'https://store.example/api/v1'],
    ['/v2/openapi.json', 'https://store.example/api/v2'],
    ['/admin/openapi.json', 'https://store.example/api/admin'],
  ] as const)
    t.match((await send(origin + path)).body.servers, [{ url }], path)
  for (const page of ['/docs', '/v2/docs', '/admin/docs', '/admin/llms.txt'])
    t.equal((await send(origin + page)).status, 200, page)
})

t.test('a contract that a team mounts itself judges its callers, and nobody counts them', async (t) => {
  const sql = await createDatabase(t)
  const config = testConfig({ METRICS_PORT: '9464' })
  const pools = await openPools(t, sql, config)
  const app = await buildApp({ ...first, config, pools, services: noServices, log: silent })
  t.teardown(() => app.close())
  const operator = {
    caller: ({ username }: { username: string }) =>
      isAnn(username) ? { scopes: new Set<string>() } : undefined,
  }
  await mount(app, { contract: admin, handlers: handlersOf('Admin'), security: { operator } })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  for (let i = 0; i < anonymous.perMinute * 2; i++) {
    const known = await send(`${origin}/admin/pets/1`, 'GET', ann)
    t.match(known, { status: 200, body: { from: 'Admin' } })
    t.equal(known.headers.get('x-ratelimit-limit'), null)
    t.match(await send(`${origin}/admin/pets/1`), { status: 401, body: { title: 'Unauthorized' } })
  }
  t.match(await send(`${origin}/admin/nothing`), { status: 404, body: { title: 'Not Found' } })
  const { status, headers } = await send(`${origin}/v1/pets/1`)
  t.strictSame([status, headers.get('x-ratelimit-remaining')], [401, String(anonymous.perMinute - 1)])
  const found = await scrape(await listenForScrapes({ app }))
  const ofAdmin = 'animal_store_request_seconds_count{operation="/admin getPet",status="200"}'
  t.equal(found.get(ofAdmin), anonymous.perMinute * 2)
})

t.test('other numbers for addresses and bans stop the start: each is counted once', async (t) => {
  const other = { ...limits, anonymous: { perMinute: 11 } }
  const contract = await contractWith({
    ...{ title: 'Other', server: '/other', schemes: keySchemes, errors: json(plain) },
    more: { 'x-rate-limits': other },
  })
  const beside = [{ contract, handlers: handlersOf('Other'), schemes: { key: apiKeys() } }]
  await t.rejects(startService(t, { ...first, beside }), {
    name: 'ContractError',
    message:
      'x-rate-limits: anonymous and ban of Other 1.0.0 must be those of Store 1.0.0: each caller is counted once',
  })
})

t.test('under load, no caller gets the response of another contract', async (t) => {
  const { origin, auth } = await start(t)
  const wrong: unknown[] = []
  const expected = { v1: 'Store', v2: 'Next', admin: 'Admin' } as const
  const ask = async (prefix: keyof typeof expected, i: number) => {
    const sent = prefix === 'admin' ? ann : auth
    const [found, missing, refused] = await Promise.all([
      send(`${origin}/${prefix}/pets/${i + 1_000}`, 'GET', sent),
      send(`${origin}/${prefix}/pets/404`, 'GET', sent),
      send(`${origin}/${prefix}/pets/x`, 'GET', sent),
    ])
    const statuses = [found, missing, refused].map(({ status }) => status)
    const areProblems = [missing, refused].map(({ text }) => isProblem(text))
    const isRight =
      String(statuses) === '200,404,400' &&
      areProblems.every((each) => each === (prefix === 'admin')) &&
      found.text === JSON.stringify({ from: expected[prefix], id: i + 1_000 })
    if (!isRight) wrong.push([prefix, i, statuses, areProblems, found.text])
  }
  const prefixes = ['v1', 'v2', 'admin'] as const
  const next = Array.from({ length: 300 }, (_, i) => [prefixes[i % 3] ?? 'v1', i] as const)
  const worker = async () => {
    for (let each = next.pop(); each !== undefined; each = next.pop()) await ask(...each)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  t.strictSame(wrong, [])
})
