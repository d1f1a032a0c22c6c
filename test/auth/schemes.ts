// Several security schemes side by side, as callers see them: the service's keys in a header, and a partner's
// tokens, which a team's own check knows.

import type { UsernamePassword } from 'contract-engine'
import { clientOf } from 'contract-service/fixtures/clients'
import { listenForScrapes, scrape } from 'contract-service/fixtures/metrics'
import { apiKeys } from 'contract-service/internal/auth/api-keys'
import type { CheckFactory, SchemesOf } from 'contract-service/internal/auth/checks'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { unavailable } from 'contract-service/internal/middleware/unavailable'
import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../generated/handlers.js'
import type { Operations, SecuritySchemes } from '../../generated/operations.js'
import type { Context, Handlers } from '../../src/handlers/handler.js'
import { customPlan } from '../fixtures/facts.js'
import { contractText, send, startService } from '../fixtures/service.js'

const read = 'animals:read'
const write = 'animals:write'

// The animals. A list needs a key or a partner's token, a creation needs both, and reading one animal needs
// either or nothing.
const textWith = (creations: readonly object[]) => {
  const document = parseDocument(contractText)
  document.setIn(['components', 'securitySchemes'], {
    storeKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    partner: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' },
  })
  document.setIn(['security'], [{ storeKey: [] }, { partner: [read] }])
  document.setIn(['paths', '/pets', 'post', 'security'], creations)
  document.setIn(['paths', '/pets/{petId}', 'get', 'security'], [{}, { storeKey: [] }, { partner: [] }])
  document.deleteIn(['components', 'headers', 'WwwAuthenticate', 'schema', 'pattern'])
  for (const code of ['invalid_credentials', 'insufficient_scope']) {
    document.addIn(['components', 'schemas', 'ErrorCode', 'enum'], code)
    const status = code === 'insufficient_scope' ? 403 : 401
    document.setIn(['components', 'schemas', 'ErrorCode', 'x-enumStatuses', code], status)
  }
  return String(document)
}

const contractWith = (creations: readonly object[]) =>
  readServiceContract(contractFile, async () => textWith(creations))
const contract = await contractWith([{ storeKey: [], partner: [write] }])

// The subject of each token, and its scopes.
const tokens: Readonly<Record<string, readonly [subject: string, ...scopes: string[]]>> = {
  'token-of-ada': ['ada', read, write],
  'token-of-bob': ['bob', read, write],
  'token-of-eve': ['eve', read],
  'token-of-nobody': ['nobody'],
}

const perMinute = 5

const partners: CheckFactory = ({ scheme }) => ({
  caller(token: string) {
    if (token === 'token-of-outage') throw unavailable(new Error('the partner is away'))
    const [subject, ...scopes] = tokens[token] ?? []
    if (subject === undefined) return undefined
    return { ...clientOf(scheme, subject, perMinute), scopes: new Set(scopes), claims: { via: 'partner' } }
  },
  recognizes: (token: string) => token.startsWith('token-'),
})

async function start(t: Test, served = contract, env: Record<string, string> = {}) {
  const seen: Pick<Context, 'client' | 'callers'>[] = []
  const noting = <Name extends 'listPets' | 'createPet' | 'getPet'>(name: Name): Handlers[Name] => {
    const handler = handlers[name] as (request: unknown, context: Context) => Promise<never>
    const noted = (request: unknown, context: Context) => {
      seen.push({ client: context.client, callers: context.callers })
      return handler(request, context)
    }
    return noted as Handlers[Name]
  }
  const service = await startService(t, {
    contract: served,
    env,
    schemes: { storeKey: apiKeys(), partner: partners },
    handlers: {
      ...handlers,
      listPets: noting('listPets'),
      createPet: noting('createPet'),
      getPet: noting('getPet'),
    },
  })
  const own = { 'x-api-key': service.key }
  const partner = (name: string) => ({ authorization: `Bearer token-of-${name}` })
  const call = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    send(`${service.base}${path}`, method, headers, body)
  return { ...service, call, own, partner, seen }
}

const pet = { name: 'Rex', categoryId: 1 }

t.test('either of two schemes lets a caller in, whom the handler knows', async (t) => {
  const { call, own, partner, seen } = await start(t)
  t.equal((await call('GET', '/pets', own)).status, 200)
  t.equal((await call('GET', '/pets', partner('ada'))).status, 200)
  t.match(seen, [
    { client: { scheme: 'storeKey', keyId: '1', subject: '1' }, callers: { storeKey: { keyId: '1' } } },
    { client: { scheme: 'partner', subject: 'ada', claims: { via: 'partner' } } },
  ])
  t.notOk('keyId' in (seen[1]?.client ?? {}))
})

t.test('a request without a valid credential gets 401 with a challenge for each scheme', async (t) => {
  const { call, seen } = await start(t)
  const challenges = 'ApiKey realm="Animal Store Service", in="header", name="X-API-Key", Bearer realm='
  for (const [headers, code] of [
    [{}, 'missing_api_key'],
    [{ authorization: 'Basic YTpi' }, 'missing_api_key'],
    [{ 'x-api-key': 'nonsense' }, 'invalid_api_key'],
    [{ authorization: 'Bearer token-of-mallory' }, 'invalid_credentials'],
    [{ authorization: 'Bearer nonsense' }, 'invalid_credentials'],
  ] as const) {
    const response = await call('GET', '/pets', headers)
    t.match(response, { status: 401, body: { code, status: 401 } }, JSON.stringify(headers))
    const challenge = response.headers.get('www-authenticate') ?? ''
    for (const part of challenges.split(', ')) t.match(challenge, part)
    t.ok(response.headers.get('x-ratelimit-remaining'), 'counted by its address')
  }
  t.strictSame(seen, [])
})

t.test('the message of a missing key names the header that it belongs into', async (t) => {
  const { call } = await start(t)
  const { body } = await call('GET', '/pets')
  t.equal(body.message, 'Send an API key: "X-API-Key: <API_KEY>".')
})

t.test('a key is no credential in another place than that of its scheme', async (t) => {
  const { call, key } = await start(t)
  t.match(await call('GET', '/pets', { authorization: `Bearer ${key}` }), { status: 401 })
  t.match(await call('GET', `/pets?X-API-Key=${key}`), { status: 401 })
  t.match(await call('GET', '/pets', { cookie: `X-API-Key=${key}` }), { status: 401 })
})

t.test('an operation that requires two schemes lets in who has both', async (t) => {
  const { call, own, partner, seen } = await start(t)
  t.match(await call('POST', '/pets', own, pet), { status: 401 })
  t.match(await call('POST', '/pets', partner('ada'), pet), { status: 401 })
  t.match(await call('POST', '/pets', { ...own, ...partner('mallory') }, pet), { status: 401 })
  t.strictSame(seen, [])
  t.match(await call('POST', '/pets', { ...own, ...partner('ada') }, pet), { status: 201 })
  t.match(seen, [
    {
      client: { scheme: 'storeKey', keyId: '1' },
      callers: { storeKey: { keyId: '1' }, partner: { subject: 'ada' } },
    },
  ])
})

t.test('a known caller without the scope gets 403, which counts as its request', async (t) => {
  const { call, partner, own, seen } = await start(t)
  const refused = await call('GET', '/pets', partner('nobody'))
  t.match(refused, { status: 403, body: { code: 'insufficient_scope', status: 403 } })
  t.match(refused.headers.get('www-authenticate'), `error="insufficient_scope", scope="${read}"`)
  t.equal(refused.headers.get('x-ratelimit-limit'), String(perMinute))
  t.equal(refused.headers.get('x-ratelimit-remaining'), String(perMinute - 1))
  const { status, headers } = await call('POST', '/pets', { ...own, ...partner('eve') }, pet)
  t.equal(status, 403)
  t.match(headers.get('www-authenticate'), `scope="${write}"`)
  t.strictSame(seen, [])
})

t.test('a check that cannot tell now makes a 503, which counts against no quota', async (t) => {
  const { call, partner, seen, log } = await start(t)
  for (let i = 0; i < 3; i++) {
    const response = await call('GET', '/pets', partner('outage'))
    t.match(response, {
      status: 503,
      body: { code: 'unavailable', message: 'Service Unavailable. Try again in 1 second.' },
    })
    t.equal(response.headers.get('retry-after'), '1')
    t.equal(response.headers.get('www-authenticate'), null)
  }
  t.match(
    log.find(({ msg }) => msg === 'request failed'),
    { err: { message: 'the partner is away' } },
  )
  const next = await call('GET', '/pets')
  t.equal(Number(next.headers.get('x-ratelimit-remaining')), contract.rateLimits.anonymous.perMinute - 1)
  t.match(await call('GET', '/nothing', partner('outage')), { status: 503 }, 'as with keys')
  t.strictSame(seen, [])
})

t.test('where a credential is optional, a request without one has no client', async (t) => {
  const { call, own, partner, seen } = await start(t)
  const { body } = await call('POST', '/pets', { ...own, ...partner('ada') }, pet)
  seen.length = 0
  for (const headers of [{}, own, partner('eve'), { 'x-api-key': 'nonsense' }])
    t.match(await call('GET', `/pets/${body.id}`, headers), { status: 200 })
  t.match(
    seen.map(({ client }) => client?.subject),
    [undefined, '1', 'eve', undefined],
  )
})

t.test('of two callers with one key of the store, each has responses of its own', async (t) => {
  const { call, own, partner, seen } = await start(t)
  const create = (name: string) =>
    call('POST', '/pets', { ...own, ...partner(name), 'idempotency-key': 'a' }, pet)
  const created = []
  for (const name of ['ada', 'bob', 'ada', 'bob']) created.push(await create(name))
  t.match(
    created.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
    [...[201, 201].map((status) => [status, null]), ...[201, 201].map((status) => [status, 'true'])],
  )
  t.equal(seen.length, 2)
  const [ada, bob, adaAgain, bobAgain] = created.map(({ body }) => body.id)
  t.strictSame([adaAgain, bobAgain], [ada, bob])
  t.not(ada, bob)
})

t.test('each caller has a quota of its own, by scheme and subject', async (t) => {
  const { call, partner, createKey } = await start(t)
  const plan = { perMinute, perDay: 100 }
  const { key } = await createKey({ ...plan, plan: customPlan })
  const callers = [partner('ada'), partner('eve'), { 'x-api-key': key }]
  for (const headers of callers) {
    for (let i = perMinute; i > 0; i--) {
      const response = await call('GET', '/pets', headers)
      t.equal(response.headers.get('x-ratelimit-remaining'), String(i - 1))
    }
    t.match(await call('GET', '/pets', headers), { status: 429, body: { code: 'rate_limit_exceeded' } })
  }
})

t.test('a caller without a key who continues after 429s is banned, and no other', async (t) => {
  const { call, partner, log } = await start(t)
  const { rejections } = contract.rateLimits.ban
  const clock = stopClocks(t)
  for (let i = 0; i < perMinute; i++) await call('GET', '/pets', partner('ada'))
  for (let i = 0; i < rejections; i++) {
    t.match(await call('GET', '/pets', partner('ada')), {
      status: 429,
      body: { code: 'rate_limit_exceeded' },
    })
    clock.advance(1_000)
  }
  const banned = await call('GET', '/pets', partner('ada'))
  t.match(banned, { status: 429, body: { code: 'key_banned', message: /^This caller is banned / } })
  t.match(await call('GET', '/pets', partner('eve')), { status: 200 })
  const lines = log.filter(({ msg }) => msg === 'caller banned')
  t.match(lines, [{ level: 40, scheme: 'partner', subject: 'ada', keyId: undefined }])
})

t.test('an Idempotency-Key is of one caller, whatever the credential', async (t) => {
  const either = await contractWith([{ partner: [] }, { storeKey: [] }])
  const { call, own, partner, createKey, sql } = await start(t, either)
  const other = { 'x-api-key': (await createKey()).key }
  const ids = new Set<unknown>()
  for (const credential of [own, other, partner('ada'), partner('eve')]) {
    const headers = { ...credential, 'idempotency-key': 'same' }
    const first = await call('POST', '/pets', headers, pet)
    t.equal(first.status, 201)
    t.equal((await call('POST', '/pets', headers, pet)).headers.get('idempotent-replayed'), 'true')
    ids.add(first.body.id)
  }
  t.equal(ids.size, 4)
  const rows = await sql`select api_key_id::int as id, idempotency_key as key
    from idempotent_answers where api_key_id > 0 order by id`
  t.strictSame(
    [...rows],
    [1, 2].map((id) => ({ id, key: 'same' })),
    'as the release before reads them',
  )
})

t.test('calls of a deprecated operation are counted by the scheme of callers without a key', async (t) => {
  const service = await start(t, contract, { METRICS_PORT: '9464' })
  const url = await listenForScrapes(service)
  for (const headers of [service.own, service.partner('ada'), service.partner('eve'), {}])
    await service.call('GET', '/pets/1', headers)
  const counts = [...(await scrape(url))].filter(([name]) => name.includes('deprecated_requests_total{'))
  const name = (key: string) => `animal_store_deprecated_requests_total{operation="getPet",key="${key}"}`
  t.strictSame(counts, [
    [name('1'), 1],
    [name('partner'), 2],
  ])
})

t.test('a log line names a key by its id, others by scheme and subject, and has no credential', async (t) => {
  const { call, own, partner, log, key } = await start(t)
  for (const headers of [own, partner('ada'), {}, { authorization: 'Bearer token-of-mallory' }])
    await call('GET', '/pets', headers)
  const lines = log.filter(({ msg }) => msg === 'request')
  t.strictSame(
    lines.map(({ keyId, scheme, subject }) => ({ keyId, scheme, subject })),
    [
      { keyId: '1', scheme: undefined, subject: undefined },
      { keyId: undefined, scheme: 'partner', subject: 'ada' },
      { keyId: undefined, scheme: undefined, subject: undefined },
      { keyId: undefined, scheme: undefined, subject: undefined },
    ],
  )
  t.notMatch(JSON.stringify(log), key)
  t.notMatch(JSON.stringify(log), 'token-of')
})

type Schemes = SchemesOf<Operations, SecuritySchemes, typeof handlers>

t.test('a list without a check that is needed, or with one for other credentials, does not compile', (t) => {
  const listed = { apiKey: apiKeys() } satisfies Schemes
  // @ts-expect-error every operation names apiKey
  const missing = {} satisfies Schemes
  const passwords: CheckFactory<UsernamePassword> = () => ({
    caller: ({ username }) => clientOf('any', username),
  })
  // @ts-expect-error it carries a key, and no name and password
  const other = { apiKey: passwords } satisfies Schemes
  // @ts-expect-error the contract has no such scheme
  const unknown = { apiKey: apiKeys(), partner: apiKeys() } satisfies Schemes
  const context: Context<'listPets'> = { ...({ callers: {} } as Context), client: clientOf('apiKey', '1') }
  const plan: string = context.client.plan // never undefined: the operation requires a key
  // @ts-expect-error nor has the operation
  const caller = context.callers.partner
  t.strictSame([missing, Object.keys(listed), plan, caller], [{}, ['apiKey'], 'free', undefined])
  t.ok([other, unknown])
  t.end()
})
