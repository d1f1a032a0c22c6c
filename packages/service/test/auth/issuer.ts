// When the check fetches an issuer's keys, and what happens if it cannot.

import type { ServerResponse } from 'node:http'
import type { RequestError } from 'contract-engine'
import { stopClocks } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Issuer } from '../../src/auth/issuer.js'
import { isToGuess } from '../../src/middleware/unavailable.js'
import { createSigningKey, type FakeIssuer, startIssuer } from '../fixtures/issuer.js'

async function setUp(t: Test, url = (issuer: FakeIssuer) => issuer.url) {
  const issuer = await startIssuer(t)
  const clocks = stopClocks(t)
  const lines: object[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const keys = new Issuer(url(issuer), pino({ base: null, timestamp: false }, { write }))
  const find = async (kid = 'first') => {
    try {
      return (await keys.findKeys({ alg: 'ES256', kid })).map(() => 'found').join()
    } catch (error) {
      const { code, headers, cause } = error as RequestError
      return { code, ...(headers && { retryAfter: headers['Retry-After'], cause: (cause as Error).message }) }
    }
  }
  return { issuer, clocks, lines, keys, find }
}

const once = { discovery: 1, keys: 1 }
const unknown = { code: 'ERR_JWKS_NO_MATCHING_KEY' }
const minute = 60_000

t.test('many requests at once fetch the keys once', async (t) => {
  const { issuer, find } = await setUp(t)
  const found = await Promise.all(Array.from({ length: 100 }, () => find()))
  t.strictSame(new Set(found), new Set(['found']))
  t.strictSame(issuer.fetches(), once)
})

t.test('a new key is found by its first token', async (t) => {
  const { issuer, find } = await setUp(t)
  await find()
  issuer.keys.push(await createSigningKey('second'))
  t.strictSame(await Promise.all([find('second'), find('second'), find()]), ['found', 'found', 'found'])
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 2 })
})

t.test('a flood of unknown keys costs one fetch a second, and delays no new key longer', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  const flood = () => Promise.all(Array.from({ length: 1000 }, (_, i) => find(`unknown-${i}`)))
  t.strictSame(
    new Set((await flood()).map((each) => JSON.stringify(each))),
    new Set([JSON.stringify(unknown)]),
  )
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 2 })
  issuer.keys.push(await createSigningKey('second'))
  clocks.advance(900)
  const before = process.hrtime.bigint()
  const [found] = await Promise.all([find('second'), flood()])
  t.equal(found, 'found')
  t.ok(process.hrtime.bigint() - before > 90_000_000n, 'in the next second')
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 3 })
})

t.test('a key that is published while keys are fetched is found by its token', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  const bodies: (() => void)[] = []
  issuer.respond = ({ url }, response) => {
    if (url !== '/keys' || bodies.length > 0) return false
    const body = JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) })
    bodies.push(() => response.end(body))
    return true
  }
  const first = find('unknown')
  await until(() => bodies.length === 1)
  issuer.keys.push(await createSigningKey('second'))
  clocks.advance(1_000) // a new search may begin, and must not join the one in flight
  const second = find('second')
  await new Promise((resolve) => setTimeout(resolve, 50)) // time for a fetch that must not come
  bodies[0]?.()
  t.strictSame(await first, unknown)
  t.equal(await second, 'found')
})

t.test('keys are fetched again every five minutes', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  issuer.keys = [await createSigningKey('second')]
  clocks.advance(5 * minute - 1)
  t.equal(await find(), 'found')
  t.strictSame(issuer.fetches(), once)
  clocks.advance(1)
  t.strictSame(await find(), unknown, 'one that the issuer took back')
  t.equal(await find('second'), 'found')
})

const down = (response: ServerResponse) => {
  response.statusCode = 500
  response.end()
  return true
}

t.test('an issuer that fails is asked again each second', async (t) => {
  const { issuer, clocks, lines, find } = await setUp(t)
  issuer.respond = (_, response) => down(response)
  const cause = `GET ${issuer.url}/.well-known/openid-configuration: the status is 500, not 200`
  const refusal = { code: 'unavailable', retryAfter: '1', cause }
  for (let i = 0; i < 100; i++) t.strictSame(await find(), refusal)
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 0 })
  clocks.advance(1_000)
  t.strictSame(await find(), refusal)
  t.strictSame(issuer.fetches(), { discovery: 2, keys: 0 })
  issuer.respond = undefined
  t.strictSame(await find(), refusal)
  clocks.advance(1_000)
  t.equal(await find(), 'found')
  const log = [
    { level: 40, issuer: issuer.url, reason: cause, msg: 'issuer unavailable' },
    { level: 30, issuer: issuer.url, msg: 'issuer works again' },
  ]
  t.strictSame(lines, log, 'the log says it once')
})

t.test('while an issuer fails, its last keys are used for a day', async (t) => {
  const { issuer, clocks, lines, find } = await setUp(t)
  await find()
  issuer.respond = (_, response) => down(response)
  clocks.advance(24 * 60 * minute - 1)
  t.equal(await find(), 'found')
  t.equal(lines.length, 1)
  t.match(await find('second'), { code: 'unavailable' }, 'a new key may be any')
  clocks.advance(1)
  t.match(await find(), { code: 'unavailable' })
})

t.test('nobody waits for an issuer that is known to fail, if its last keys will do', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  issuer.respond = (_, response) => down(response)
  clocks.advance(5 * minute)
  await find()
  issuer.respond = () => true // until the end of the test
  clocks.advance(1_000)
  t.equal(await find(), 'found')
  await until(() => issuer.fetched.length === 4)
})

t.test('keys that have moved are found', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  issuer.respond = ({ url }, response) => {
    if (url === '/keys') return down(response)
    const jwks_uri = `${issuer.url}/moved?policy=a`
    const isDiscovery = url !== '/moved?policy=a'
    response.end(
      JSON.stringify(isDiscovery ? { issuer: issuer.url, jwks_uri } : { keys: [issuer.keys[0]?.jwk] }),
    )
    return true
  }
  issuer.keys = [await createSigningKey('second')]
  t.match(await find('second'), { code: 'unavailable' })
  clocks.advance(1_000)
  t.equal(await find('second'), 'found')
})

t.test('keys that have moved are found in five minutes, if their former place still responds', async (t) => {
  const { issuer, clocks, find } = await setUp(t)
  await find()
  const moved = await createSigningKey('second')
  issuer.respond = ({ url }, response) => {
    if (url === '/keys') return false
    const jwks_uri = `${issuer.url}/moved`
    response.end(JSON.stringify(url === '/moved' ? { keys: [moved.jwk] } : { issuer: issuer.url, jwks_uri }))
    return true
  }
  t.strictSame(await find('second'), unknown)
  clocks.advance(5 * minute)
  t.equal(await find('second'), 'found')
})

t.test('only a key that may be a guess is one that counts while the issuer is away', async (t) => {
  const { issuer, keys, clocks, find } = await setUp(t)
  const isCounted = (kid?: string) =>
    keys.findKeys({ alg: 'ES256', ...(kid && { kid }) }).then(
      () => undefined,
      (error) => isToGuess(error),
    )
  issuer.respond = (_, response) => down(response)
  t.equal(await isCounted('first'), false, 'nobody can be told')
  issuer.respond = undefined
  clocks.advance(1_000)
  await find()
  issuer.respond = (_, response) => down(response)
  t.equal(await isCounted('guessed'), true)
  t.equal(await isCounted('first'), undefined)
})

t.test('what is no key among the keys is ignored', async (t) => {
  const { issuer, find } = await setUp(t)
  const [key] = issuer.keys
  issuer.respond = ({ url }, response) => {
    if (url === '/keys') response.end(JSON.stringify({ keys: [null, 'a', [], {}, { kty: 5 }, key?.jwk] }))
    return url === '/keys'
  }
  t.equal(await find(), 'found')
})

// Keys that an issuer publishes, and how many of them match a header.
for (const [title, changes, header, expected] of [
  ['two of a type, one named', [{ kid: 'a' }, { kid: 'b' }], { kid: 'a' }, 1],
  ['two of a type, none named', [{ kid: 'a' }, { kid: 'b' }], {}, 2],
  ['two of a type without names, one named', [{ kid: undefined }, { kid: undefined }], { kid: 'a' }, 0],
  ['one twice, named', [{ kid: 'a' }, { kid: 'a' }], { kid: 'a' }, 2],
  ['one twice, not named', [{ kid: 'a' }, { kid: 'a' }], {}, 2],
  ['one for signatures and one to encrypt', [{ kid: 'a' }, { kid: 'a', use: 'enc' }], { kid: 'a' }, 1],
  ['one for another algorithm', [{ kid: 'a' }, { kid: 'a', alg: 'ES384' }], { kid: 'a' }, 1],
  ['one to derive bits', [{ kid: 'a' }, { kid: 'a', key_ops: ['deriveBits'] }], {}, 1],
  ['one that is broken, and names no other', [{ kid: 'a' }, { kid: 'b', x: 'AA' }], {}, 1],
  ['more than a forged token may cost', Array.from({ length: 30 }, () => ({})), {}, 10],
] as const)
  t.test(`of keys that are ${title}, ${expected} may have signed a token`, async (t) => {
    const { issuer, keys } = await setUp(t)
    const [key] = issuer.keys
    const published = changes.map((each) => ({ ...key?.jwk, ...each }))
    issuer.respond = ({ url }, response) => {
      if (url === '/keys') response.end(JSON.stringify({ keys: published }))
      return url === '/keys'
    }
    const found = keys.findKeys({ alg: 'ES256', ...header })
    if (expected === 0) await t.rejects(found, unknown)
    else t.equal((await found).length, expected)
  })

t.test('keys of two types may have one name', async (t) => {
  const { issuer, keys } = await setUp(t)
  issuer.keys = [await createSigningKey('a', 'ES256'), await createSigningKey('a', 'EdDSA')]
  for (const alg of ['ES256', 'EdDSA']) t.equal((await keys.findKeys({ alg, kid: 'a' })).length, 1)
})

t.test('several keys none of which can be used are no fault of the token', async (t) => {
  const { issuer, find } = await setUp(t)
  const [key] = issuer.keys
  const broken = { ...key?.jwk, x: 'AA' }
  issuer.respond = ({ url }, response) => {
    if (url === '/keys') response.end(JSON.stringify({ keys: [broken, broken] }))
    return url === '/keys'
  }
  t.match(await find(), { code: 'ERR_JWKS_INVALID' })
})

t.test('an issuer with a path and a slash at its end is found', async (t) => {
  const { issuer, find } = await setUp(t, ({ url }) => `${url}/realms/store/`)
  issuer.respond = ({ url }, response) => {
    if (url !== '/realms/store/.well-known/openid-configuration') return false
    response.end(JSON.stringify({ issuer: `${issuer.url}/realms/store/`, jwks_uri: `${issuer.url}/keys` }))
    return true
  }
  t.equal(await find(), 'found')
})

const discovery = '/.well-known/openid-configuration'

/** Responses that make an issuer unavailable: title, path, what it sends, and the cause in the error. */
const broken: [
  title: string,
  path: string,
  send: (response: ServerResponse, url: string) => void,
  cause: RegExp,
][] = [
  [
    'of another issuer',
    discovery,
    (response, url) => response.end(JSON.stringify({ issuer: `${url}/`, jwks_uri: `${url}/keys` })),
    /^the discovery document is of the issuer "http.*\/"$/,
  ],
  [
    'without its keys',
    discovery,
    (response, url) => response.end(JSON.stringify({ issuer: url })),
    /^jwks_uri must be an https URL, not undefined$/,
  ],
  [
    'with keys that anybody could replace on the way',
    discovery,
    (response, url) => response.end(JSON.stringify({ issuer: url, jwks_uri: 'http://keys.example/' })),
    /^jwks_uri must be an https URL, not "http:\/\/keys\.example\/"$/,
  ],
  [
    'with keys in a file',
    discovery,
    (response, url) => response.end(JSON.stringify({ issuer: url, jwks_uri: 'file:///etc/keys' })),
    /^jwks_uri must be an https URL/,
  ],
  [
    'of null',
    discovery,
    (response) => response.end('null'),
    /^the discovery document is of the issuer undefined$/,
  ],
  ['of HTML', discovery, (response) => response.end('<html>'), /openid-configuration: .*not valid JSON/],
  [
    'that is elsewhere',
    discovery,
    (response, url) => response.writeHead(302, { location: `${url}/theirs` }).end(),
    /the status is 302, not 200$/,
  ],
  [
    'that never ends',
    discovery,
    (response) => {
      const timer = setInterval(() => response.write(' '.repeat(65_536)), 1)
      response.on('close', () => clearInterval(timer))
    },
    /longer than 262144 characters$/,
  ],
  ['that is cut off', discovery, (response) => cutOff(response), /openid-configuration: aborted$/],
  ['of no keys', '/keys', (response) => response.end('{"keys":[]}'), /^the issuer has no keys$/],
  [
    'of keys that are no list',
    '/keys',
    (response) => response.end('{"keys":{}}'),
    /^the keys of the issuer are no list$/,
  ],
  ['of null for keys', '/keys', (response) => response.end('null'), /^the keys of the issuer are no list$/],
  [
    'of keys that are text',
    '/keys',
    (response) => response.end('{"keys":["a",null,[]]}'),
    /^the issuer has no keys$/,
  ],
  ['of keys in HTML', '/keys', (response) => response.end('<html>'), /keys: .*not valid JSON/],
]

function cutOff(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '100' }).write('{')
  setTimeout(() => response.destroy(), 10)
}

for (const [title, path, send, cause] of broken) {
  t.test(`a document ${title} makes the issuer unavailable`, async (t) => {
    const { issuer, find } = await setUp(t)
    issuer.respond = ({ url }, response) => {
      if (url !== path) return false
      send(response, issuer.url)
      return true
    }
    t.match(await find(), { code: 'unavailable', retryAfter: '1', cause })
    t.notOk(issuer.fetched.includes('/theirs'))
  })
}

t.test('an issuer that does not respond is given up after five seconds', async (t) => {
  const { issuer, find } = await setUp(t)
  t.after(() => {
    AbortSignal.timeout = timeout
  })
  const { timeout } = AbortSignal
  const limits: number[] = []
  AbortSignal.timeout = (ms) => {
    limits.push(ms)
    return timeout.call(AbortSignal, 20)
  }
  issuer.respond = () => true
  t.match(await find(), { code: 'unavailable', cause: /: no complete response in time$/ })
  t.strictSame(limits, [5_000])
})

t.test('an issuer whose connections are refused is unavailable', async (t) => {
  const { find } = await setUp(t, () => 'http://127.0.0.1:1')
  t.match(await find(), { code: 'unavailable', cause: /ECONNREFUSED/ })
})
