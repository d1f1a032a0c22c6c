// Callers by token: what the check reads from it, and how long it remembers the caller.

import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { stopClocks } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import { runWithout } from 'contract-testing/without-package'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-key.js'
import type { Client } from '../../src/auth/client.js'
import { type JwtOptions, jwt } from '../../src/auth/jwt.js'
import { LoadShedder } from '../../src/middleware/load-shedding.js'
import { callerOf, contractOfPartner, createCheck, createJwtCheck, demand } from '../fixtures/checks.js'
import { audience, createSigningKey, startIssuer } from '../fixtures/issuer.js'

/** Makes a check of an issuer's tokens from environment variables, with clocks that only the test moves. */
async function setUp(t: Test, options: JwtOptions = {}) {
  const issuer = await startIssuer(t)
  const clocks = stopClocks(t)
  const check = await createJwtCheck({ OIDC_ISSUER: issuer.url }, options)
  const use = (token: string) => callerOf(check, token)
  const isKnown = (token: string) => !(check.caller(token, demand) instanceof Promise)
  return { issuer, clocks, check, use, isKnown }
}

t.test('a token becomes a caller', async (t) => {
  const { issuer, use } = await setUp(t)
  const claims = issuer.claims({ scope: 'toys:read toys:write', team: { id: 7 } })
  const caller = await use(await issuer.token(claims))
  const quotas = { perMinute: 60, perDay: 1000 }
  const expiresAt = new Date(Number(claims.exp) * 1000)
  const scopes = new Set(['toys:read', 'toys:write'])
  t.strictSame(caller, { scheme: 'partner', subject: 'ann', scopes, plan: 'free', quotas, expiresAt, claims })
  const { claims: shared } = caller as unknown as { claims: { team: { id: number } } }
  t.throws(
    () => {
      shared.team.id = 8
    },
    TypeError,
    'requests share its claims',
  )
})

const scopes: [title: string, claims: object, scopes: string[]][] = [
  ['no scopes', {}, []],
  ['an empty scope', { scope: '' }, []],
  ['words', { scope: 'a  b' }, ['a', 'b']],
  ['a list', { scp: ['a', 'b'] }, ['a', 'b']],
  ['words under the name of a list', { scp: 'a b' }, ['a', 'b']],
  ['a list under the name of words', { scope: ['a', 'b'] }, ['a', 'b']],
  ['other values', { scope: { a: true }, scp: ['a', 7, null] }, ['a']],
]
t.test('scopes are words or a list', async (t) => {
  const { issuer, use } = await setUp(t)
  for (const [title, claims, expected] of scopes)
    t.match(await use(await issuer.token(claims)), { scopes: new Set(expected) }, title)
})

t.test('a team reads scopes and roles from claims of its issuer', async (t) => {
  const { issuer, use } = await setUp(t, {
    scopes: ({ realm_access }) => (realm_access as { roles: string[] }).roles,
  })
  const caller = await use(await issuer.token({ realm_access: { roles: ['admin'] }, scope: 'other' }))
  t.strictSame((caller as Client).scopes, new Set(['admin']))
})

t.test('scopes of a claim that a team names are words, a list of them, or none', async (t) => {
  const { issuer, use } = await setUp(t, { scopes: ({ permissions }) => permissions })
  for (const [permissions, expected] of [
    [undefined, []],
    [7, []],
    ['toys:read toys:write', ['toys:read', 'toys:write']],
    [['toys:read', 7], ['toys:read']],
  ] as const)
    t.match(
      await use(await issuer.token({ permissions })),
      { scopes: new Set(expected) },
      String(permissions),
    )
})

t.test('a claim names the plan, if the contract has it with quotas', async (t) => {
  const { issuer, use } = await setUp(t)
  const planOf = async (claims: object) => ((await use(await issuer.token(claims))) as Client).plan
  t.equal(await planOf({ tier: 'pro' }), 'pro')
  for (const tier of ['unknown', 'enterprise', '__proto__', '', 7, ['pro'], { plan: 'pro' }, null])
    t.equal(await planOf({ tier }), 'free', JSON.stringify(tier))
})

t.test('10,000 requests cost one fetch of the keys, and wait for nothing after the first', async (t) => {
  const { issuer, check, use } = await setUp(t)
  const token = await issuer.token()
  const caller = await use(token)
  for (let i = 1; i < 10_000; i++) {
    if (check.caller(token, demand) !== caller) t.fail('it was verified again')
  }
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 1 })
})

t.test('so do 100 tokens', async (t) => {
  const { issuer, use } = await setUp(t)
  for (let i = 0; i < 100; i++) t.match(await use(await issuer.token({ sub: `${i}` })), { subject: `${i}` })
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 1 })
})

t.test('a token is remembered until it expires', async (t) => {
  const { issuer, clocks, check, use, isKnown } = await setUp(t)
  const token = await issuer.token({ exp: Math.floor(clocks.now() / 1000) + 60 })
  await use(token)
  clocks.advance(64_999)
  t.ok(isKnown(token), 'and the tolerance of clocks longer')
  clocks.advance(1)
  t.equal(await use(token), 'invalid_credentials: The token has expired.')
  t.match(check.recall?.(token), { subject: 'ann' }, 'it is known who that was')
})

t.test('a token whose key the issuer has taken back ends after five minutes', async (t) => {
  const { issuer, clocks, use, isKnown } = await setUp(t)
  const token = await issuer.token()
  await use(token)
  issuer.keys = [await createSigningKey('second')]
  clocks.advance(299_999)
  t.ok(isKnown(token))
  clocks.advance(1)
  t.match(await use(token), /^invalid_credentials: The token is malformed, not signed by the issuer/)
})

t.test('an issuer that is away stops nobody who is known', async (t) => {
  const { issuer, clocks, use } = await setUp(t)
  const token = await issuer.token()
  await use(token)
  issuer.respond = (_, response) => {
    response.destroy()
    return true
  }
  clocks.advance(400_000)
  t.match(await use(token), { subject: 'ann' })
  t.match(await use(await issuer.token({ sub: 'bob' })), { subject: 'bob' }, 'nor another with a known key')
  const token2 = await issuer.token({}, {}, await createSigningKey('second'))
  t.equal(await use(token2), 'unavailable: unavailable', 'a token with an unknown key may be valid')
})

t.test('a forged token is never remembered, and evicts none', async (t) => {
  const { issuer, check, use, isKnown } = await setUp(t)
  const token = await issuer.token()
  await use(token)
  const [header, , signature] = token.split('.')
  for (let i = 0; i < 1_200; i++) {
    const claims = Buffer.from(JSON.stringify(issuer.claims({ sub: `${i}`.repeat(2_000) })))
    const forged = `${header}.${claims.toString('base64url')}.${signature}`
    t.match(await use(forged), /^invalid_credentials/)
    t.equal(check.recall?.(forged), undefined)
  }
  t.ok(isKnown(token))
})

t.test('of many tokens, those used last are remembered', async (t) => {
  const { issuer, use, isKnown } = await setUp(t)
  const more = 'a'.repeat(100_000) // a tenth of the tokens that fit a header
  const tokens = await Promise.all(Array.from({ length: 70 }, (_, i) => issuer.token({ more, i })))
  for (const token of tokens) t.match(await use(token), { subject: 'ann' })
  t.strictSame(tokens.map(isKnown).indexOf(true), 11, 'by their size')
})

t.test('while an issuer hangs, forged tokens take no slot of others, nor of keys', async (t) => {
  const issuer = await startIssuer(t)
  const loadShedder = new LoadShedder(2)
  const check = await createJwtCheck({ OIDC_ISSUER: issuer.url }, {}, loadShedder)
  t.match(await callerOf(check, await issuer.token()), { subject: 'ann' })
  const held: ServerResponse[] = []
  issuer.respond = (_, response) => held.push(response) > 0
  const forged = await issuer.token({}, {}, await createSigningKey('forged'))
  const both = [callerOf(check, forged), callerOf(check, forged)] // both wait for the same search
  await until(() => held.length === 1)
  t.equal(await callerOf(check, forged), 'unavailable: unavailable', 'a third is refused at once')
  t.equal(loadShedder.refused, 1)
  t.equal(loadShedder.inFlight, 0)
  t.match(await callerOf(check, await issuer.token({ sub: 'bob' })), { subject: 'bob' })
  loadShedder.check('unknown keys')
  for (const response of held) response.destroy()
  t.strictSame(await Promise.all(both), Array(2).fill('unavailable: unavailable'))
})

t.test('an error has neither the token nor its claims', async (t) => {
  const { issuer, check } = await setUp(t)
  const secret = 'ann@store.example'
  const tokens = [
    issuer.token({ email: secret, exp: 1 }),
    issuer.token({ email: secret, aud: 'other' }),
    'a.b.c',
  ]
  for (const token of await Promise.all(tokens)) {
    const error = await Promise.resolve(check.caller(token, demand)).catch((error: Error) => error)
    const shown = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })
    t.match(shown, 'RequestError')
    const parts = token.split('.').filter((each) => each.length > 1)
    t.strictSame(
      [secret, ...parts].filter((part) => shown.includes(part)),
      [],
    )
  }
})

t.test('a token is recognized by its form and its issuer', async (t) => {
  const { issuer, check } = await setUp(t)
  const other = await createJwtCheck({ OIDC_ISSUER: 'http://127.0.0.1:1' })
  const recognizes = (token: string) => check.recognizes?.(token)
  t.ok(recognizes(await issuer.token({ exp: 1 })), 'an expired one, too')
  t.notOk(other.recognizes?.(await issuer.token()))
  t.notOk(recognizes(createApiKey()))
  const claims = Buffer.from(JSON.stringify(issuer.claims())).toString('base64url')
  for (const text of [
    '',
    'a',
    'a.b.c',
    '..',
    `${claims}`,
    `a.${claims}`,
    `.${claims}.`,
    `a.${claims}.b.c`,
    'a.W10.b',
  ])
    t.notOk(recognizes(text), text)
  const again = await createJwtCheck({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: 'another' })
  t.equal(again.recognizes, check.recognizes, 'tokens for another audience are not told apart')
})

const incomplete: [
  title: string,
  environment: Record<string, string>,
  options: JwtOptions,
  message: string,
][] = [
  [
    'an issuer',
    {},
    { audience },
    'The security scheme partner needs the issuer of its tokens: set OIDC_ISSUER.',
  ],
  [
    'an audience',
    { OIDC_ISSUER: 'https://login.example' },
    {},
    'The security scheme partner needs the audience of its tokens: set OIDC_AUDIENCE.',
  ],
  [
    'any audience',
    { OIDC_ISSUER: 'https://login.example' },
    { audience: [] },
    'The security scheme partner needs the audience of its tokens: set OIDC_AUDIENCE.',
  ],
  [
    'an issuer over TLS',
    {},
    { issuer: 'http://login.example', audience },
    'The issuer of the security scheme partner must be an https URL, not http://login.example.',
  ],
  [
    'an algorithm with a public key',
    { OIDC_ISSUER: 'https://login.example' },
    { audience, algorithms: ['HS256' as 'RS256'] },
    'The algorithms of the security scheme partner must be some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519.',
  ],
  [
    'any algorithm',
    { OIDC_ISSUER: 'https://login.example' },
    { audience, algorithms: [] },
    'The algorithms of the security scheme partner must be some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519.',
  ],
  [
    'a possible tolerance',
    { OIDC_ISSUER: 'https://login.example' },
    { audience, clockToleranceSeconds: -1 },
    'clockToleranceSeconds of the security scheme partner must be from 0 to 300.',
  ],
]
for (const [title, environment, options, message] of incomplete) {
  t.test(`without ${title} the service does not start`, async (t) => {
    await t.rejects(createJwtCheck({ OIDC_AUDIENCE: '', ...environment }, options), {
      name: 'OperatorError',
      message,
    })
  })
}

t.test('without a plan for its callers the service does not start', async (t) => {
  const contract = await contractOfPartner({ schemes: undefined })
  const variables = { OIDC_ISSUER: 'https://login.example', OIDC_AUDIENCE: audience }
  const message =
    'x-rate-limits: callers of the scheme partner have no plan: add schemes: { partner: { plan: … } }'
  await t.rejects(createCheck(jwt(), variables, contract), { name: 'ContractError', message })
})

t.test('a service without jose has the other checks, and is told what to install', async (t) => {
  const program = `
    import { apiKeys, basic, jwt } from 'contract-service/checks'
    console.log(typeof apiKeys(), typeof basic(), typeof jwt())
    await jwt()({ scheme: 'partner' }).catch(({ name, message }) => console.log(name, message))`
  const message =
    'The security scheme partner needs jose, which is not installed: npm install --save-prod jose@6'
  t.equal(await runWithout(t, 'jose', program), `function function function\nOperatorError ${message}`)
})
