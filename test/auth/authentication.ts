import t, { type Test } from 'tap'
import { createApiKey, hashApiKey } from '../../src/auth/api-key.js'
import { Authentication, type FindClient } from '../../src/auth/authentication.js'
import type { Client } from '../../src/auth/client.js'
import { RequestError } from '../../src/openapi/index.js'
import { clientOfKey } from '../fixtures/clients.js'
import { stopClocks } from '../fixtures/clocks.js'

const key = createApiKey()
const client: Client = clientOfKey('7')

// Keys by hash, clocks that only move when told to, and a count of look-ups.
function setUp(t: Test, clients: Record<string, Client> = { [key]: client }, findClient?: FindClient) {
  const known = new Map(Object.entries(clients).map(([each, found]) => [hashApiKey(each), found]))
  const clocks = stopClocks(t)
  const lookups: string[] = []
  const find: FindClient = async (hash) => {
    lookups.push(hash)
    return findClient ? findClient(hash) : known.get(hash)
  }
  const authentication = new Authentication(find, 'Test')
  const authenticate = async (authorization: string | undefined) =>
    authentication.known(authorization) ?? authentication.lookUp(authorization)
  const isKnown = (used = key) => authentication.recall(`Bearer ${used}`) !== undefined
  const use = (used = key) => authenticate(`Bearer ${used}`)
  const revoke = (revoked: string) => void known.delete(hashApiKey(revoked))
  return { authentication, authenticate, ...clocks, lookups, revoke, use, isKnown }
}

async function refusal(response: Promise<Client | RequestError>): Promise<object> {
  const found = await response
  if (!(found instanceof RequestError)) return found // a client fails the comparison
  return { code: found.code, challenge: found.headers['WWW-Authenticate'] }
}

const missing = { code: 'missing_api_key', challenge: 'Bearer realm="Test"' }
const invalid = {
  code: 'invalid_api_key',
  challenge:
    'Bearer realm="Test", error="invalid_token", error_description="The API key is mistyped, unknown, expired or revoked"',
}

t.test('a valid key is authenticated by its hash', async (t) => {
  const { use, lookups } = setUp(t)
  t.strictSame(await use(), client)
  t.strictSame(lookups, [hashApiKey(key)])
})

for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
  t.test(`the scheme may be written "${scheme}"`, async (t) => {
    const { authenticate } = setUp(t)
    t.strictSame(await authenticate(`${scheme} ${key}`), client)
  })
}

const withoutKey: [title: string, authorization: string | undefined][] = [
  ['no header', undefined],
  ['an empty header', ''],
  ['the scheme alone', 'Bearer'],
  ['the scheme and blanks', 'Bearer  '],
  ['another scheme', `Basic ${key}`],
  ['the key alone', key],
  ['the key without a blank', `Bearer${key}`],
  ['two keys', `Bearer ${key} ${key}`],
]

for (const [title, authorization] of withoutKey) {
  t.test(`${title} is a missing key, without a look-up`, async (t) => {
    const { authenticate, lookups } = setUp(t)
    t.strictSame(await refusal(authenticate(authorization)), missing)
    t.strictSame(lookups, [])
  })
}

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
    t.strictSame(await refusal(use(text)), invalid)
    t.strictSame(lookups, [])
  })
}

t.test(
  'an unknown key is invalid, and is looked up each time, so that a new key works at once',
  async (t) => {
    const { use, lookups } = setUp(t, {})
    t.strictSame(await refusal(use()), invalid)
    t.strictSame(await refusal(use()), invalid)
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
  t.strictSame(await refusal(use()), invalid)
  t.strictSame(await refusal(use()), invalid, 'though it was remembered before')
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
  const late = refusal(use())
  responses[0]?.(client)
  responses[1]?.(undefined)
  t.strictSame(await early, client)
  t.strictSame(await late, invalid)
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
    t.strictSame(await refusal(use()), invalid, 'nor any later')
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
  t.strictSame(await refusal(use()), invalid)
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
  await refusal(use())
  t.notOk(isKnown())
  await refusal(use(createApiKey()))
  t.notOk(isKnown(createApiKey()), 'nor is a guess')
})

t.test('a look-up that starts after another has found the key sends no query', async (t) => {
  const { authentication, use, lookups } = setUp(t)

  await use()
  t.match(await authentication.lookUp(`Bearer ${key}`), { keyId: '7' })
  t.equal(lookups.length, 1)
})
