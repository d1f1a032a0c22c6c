import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { createApiKey, hashApiKey } from '../../src/auth/api-key.js'
import { apiKeys, type FindClient, KeyCheck } from '../../src/auth/api-keys.js'
import type { Client } from '../../src/auth/client.js'
import { keyErrors } from '../../src/auth/unauthorized.js'
import { LoadShedder, overload } from '../../src/middleware/load-shedding.js'
import { clientOfKey } from '../fixtures/clients.js'

const key = createApiKey()
const client: Client = clientOfKey('7')
const bearer = { type: 'http', scheme: 'bearer' }

// A store of keys by hash, clocks that only the test moves, and the list of look-ups.
function setUp(t: Test, clients: Record<string, Client> = { [key]: client }, findClient?: FindClient) {
  const known = new Map(Object.entries(clients).map(([each, found]) => [hashApiKey(each), found]))
  const clocks = stopClocks(t)
  const lookups: string[] = []
  const find: FindClient = async (hash) => {
    lookups.push(hash)
    return findClient ? findClient(hash) : known.get(hash)
  }
  const loadShedder = new LoadShedder(1_000)
  const check = new KeyCheck(find, loadShedder, keyErrors(bearer))
  const use = async (used = key) => check.caller(used)
  const isKnown = (used = key) => check.recall(used) !== undefined
  const revoke = (revoked: string) => void known.delete(hashApiKey(revoked))
  return { check, loadShedder, ...clocks, lookups, revoke, use, isKnown }
}

t.test('a valid key is authenticated by its hash', async (t) => {
  const { use, lookups } = setUp(t)
  t.strictSame(await use(), client)
  t.strictSame(lookups, [hashApiKey(key)])
})

const mistyped: [title: string, text: string][] = [
  ['a word', 'nonsense'],
  ['a character too few', key.slice(0, -1)],
  ['a character too many', `${key}0`],
  ['one wrong character', key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')],
  ['a key in quotes', `"${key}"`],
]

for (const [title, text] of mistyped) {
  t.test(`${title} is an invalid key, without a look-up`, async (t) => {
    const { use, lookups } = setUp(t)
    t.equal(await use(text), undefined)
    t.strictSame(lookups, [])
  })
}

t.test(
  'an unknown key is invalid, and is looked up each time, so that a new key works at once',
  async (t) => {
    const { use, lookups } = setUp(t, {})
    t.equal(await use(), undefined)
    t.equal(await use(), undefined)
    t.equal(lookups.length, 2)
  },
)

t.test('a key is looked up once a second', async (t) => {
  const { use, advance, lookups } = setUp(t)
  await use()
  advance(500)
  await use()
  t.equal(lookups.length, 1)
  advance(500)
  await use()
  t.equal(lookups.length, 2)
})

t.test('a revoked key is refused within a second, and stays refused', async (t) => {
  const { use, advance, revoke } = setUp(t)
  await use()
  revoke(key)
  advance(1000)
  t.equal(await use(), undefined)
  t.equal(await use(), undefined, 'though it was remembered before')
})

t.test('the age of a cached key counts from the start of its look-up', async (t) => {
  const { use, advance, lookups } = setUp(t, {}, async () => {
    advance(1000)
    return client
  })
  await use()
  await use()
  t.equal(lookups.length, 2)
})

t.test('a request does not join a look-up that started more than a second ago', async (t) => {
  const responses: ((found: Client | undefined) => void)[] = []
  const { use, advance, lookups } = setUp(t, {}, () => new Promise((resolve) => responses.push(resolve)))
  const early = use()
  advance(1000) // the key is revoked meanwhile
  const late = use()
  responses[0]?.(client)
  responses[1]?.(undefined)
  t.strictSame(await early, client)
  t.equal(await late, undefined)
  t.equal(lookups.length, 2)
})

for (const [title, ms] of [
  ['back', -3_600_000],
  ['forward', 3_600_000],
] as const) {
  t.test(`a wall clock set ${title} does not affect the cache`, async (t) => {
    const { use, setWallClock, advance, lookups, revoke } = setUp(t)
    await use()
    revoke(key)
    setWallClock(ms)
    t.match(await use(), { keyId: '7' })
    t.equal(lookups.length, 1, 'it is not looked up any earlier')
    advance(900)
    t.equal(await use(), undefined, 'nor any later')
  })
}

t.test('a key expires by the wall clock, even while it is cached', async (t) => {
  const { now } = stopClocks(t)
  const { use, advance, lookups } = setUp(t, {
    [key]: { ...client, expiresAt: new Date(now() + 100) },
  })
  advance(99)
  t.match(await use(), { keyId: '7' })
  advance(1)
  t.equal(await use(), undefined)
  t.equal(lookups.length, 1)
})

t.test('concurrent requests with the same key share a look-up, and others do not', async (t) => {
  const other = createApiKey()
  const { use, lookups } = setUp(t, { [key]: client, [other]: { ...client, keyId: '8' } })
  const found = await Promise.all([use(), use(other), use(), use(other), use()])
  t.strictSame(
    found,
    ['7', '8', '7', '8', '7'].map((keyId) => ({ ...client, keyId })),
  )
  t.equal(lookups.length, 2)
})

t.test('a failed look-up rejects for all that joined it, and is not cached', async (t) => {
  const outage = new Error('no database')
  const responses: (() => Promise<Client>)[] = [() => Promise.reject(outage), async () => client]
  const { use, lookups } = setUp(t, {}, async () => responses.shift()?.())
  const waiting = await Promise.allSettled([use(), use()])
  for (const settled of waiting) t.equal(settled.status === 'rejected' && settled.reason, outage)
  t.strictSame(await use(), client)
  t.equal(lookups.length, 2)
})

t.test('a stale key is not accepted when its look-up fails', async (t) => {
  const outage = new Error('no database')
  const responses: (() => Promise<Client>)[] = [async () => client, () => Promise.reject(outage)]
  const { use, advance } = setUp(t, {}, async () => responses.shift()?.())
  await use()
  advance(1000)
  await t.rejects(use(), outage)
})

t.test('at most 10,000 keys are cached, and the least recently used is evicted', async (t) => {
  const keys = Array.from({ length: 10_001 }, createApiKey)
  const { use, lookups } = setUp(t, {}, async () => client)
  const [first = '', ...others] = keys
  for (const each of keys) await use(each)
  await use(others.at(-1))
  t.equal(lookups.length, 10_001)
  await use(first)
  t.equal(lookups.length, 10_002)
})

t.test('a key is known once it was found, even with a stale entry, until it is revoked', async (t) => {
  const { use, advance, isKnown, revoke } = setUp(t)
  t.notOk(isKnown())
  await use()
  advance(3_600_000)
  t.ok(isKnown())
  revoke(key)
  await use()
  t.notOk(isKnown())
  await use(createApiKey())
  t.notOk(isKnown(createApiKey()), 'nor is a guess')
})

t.test('a key that is known is found at once, without a promise', async (t) => {
  const { check, use } = setUp(t)
  t.ok(check.caller(key) instanceof Promise)
  await use()
  t.equal(check.caller(key), client)
})

t.test('look-ups of keys that were never found take slots of their own', async (t) => {
  const lanes: number[] = []
  const { loadShedder, use, advance } = setUp(t, {}, async () => {
    lanes.push(loadShedder.inFlight)
    return client
  })
  await use()
  advance(1000)
  await use()
  t.strictSame(lanes, [0, 1], 'of work that is in flight')
})

t.test('a look-up beyond the limit is refused', async (t) => {
  const full = new KeyCheck(async () => client, new LoadShedder(0), keyErrors(bearer))
  await t.rejects(async () => full.caller(key), overload)
})

t.test('what may be meant as a key is recognized, by the same function for all schemes', (t) => {
  const { check } = setUp(t)
  for (const [text, isKey] of [
    [key, true],
    [key.slice(0, -1), true],
    ['ask_', true],
    ['eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl', false],
    ['', false],
    [` ${key}`, false],
  ] as const)
    t.equal(check.recognizes(text), isKey, text)
  t.equal(
    new KeyCheck(async () => client, new LoadShedder(1), keyErrors(bearer)).recognizes,
    check.recognizes,
  )
  t.end()
})

const places: [title: string, scheme: Parameters<typeof keyErrors>[0], message: string][] = [
  ['a bearer token', bearer, 'Send an API key: "Authorization: Bearer <API_KEY>".'],
  ['an oauth2 token', { type: 'oauth2' }, 'Send an API key: "Authorization: Bearer <API_KEY>".'],
  [
    'an own scheme of HTTP',
    { type: 'http', scheme: 'APIKEY' },
    'Send an API key: "Authorization: Apikey <API_KEY>".',
  ],
  [
    'a header',
    { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    'Send an API key: "X-API-Key: <API_KEY>".',
  ],
  ['a query', { type: 'apiKey', in: 'query', name: 'key' }, 'Send an API key as the query parameter key.'],
  ['a cookie', { type: 'apiKey', in: 'cookie', name: 'key' }, 'Send an API key as the cookie key.'],
]

for (const [title, scheme, message] of places)
  t.test(`the 401 of a request without ${title} says where the key belongs`, (t) => {
    t.strictSame(keyErrors(scheme).missing, { code: 'missing_api_key', message })
    t.end()
  })

t.test('a scheme whose credential is a name and a password takes no API key', (t) => {
  const contract = { securitySchemes: new Map([['login', { type: 'http', scheme: 'Basic' }]]) }
  t.throws(() => apiKeys()({ scheme: 'login', contract } as never), {
    name: 'OperatorError',
    message: /^An API key is no name and password: login \(http basic\)/,
  })
  t.end()
})
