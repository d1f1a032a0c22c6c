// Tokens of a real OpenID provider over TLS: logins by client credentials, rotation of its keys, and outages.

import https from 'node:https'
import { stopClocks } from 'contract-testing/clocks'
import { decodeProtectedHeader } from 'jose'
import t, { type Test } from 'tap'
import { callerOf, createJwtCheck, demand } from '../fixtures/checks.js'
import { startOidcProvider } from '../fixtures/oidc-provider.js'

async function setUp(t: Test) {
  const provider = await startOidcProvider(t, { tier: 'pro' })
  const check = await createJwtCheck({ OIDC_ISSUER: provider.url })
  const use = (token: string) => callerOf(check, token)
  const fetches = () => provider.fetched.filter((each) => each !== '/token')
  return { provider, check, use, fetches }
}

const discovery = '/.well-known/openid-configuration'

t.test('a client that has logged in is a caller', async (t) => {
  const { provider, use } = await setUp(t)
  const caller = { scheme: 'partner', subject: 'partner', plan: 'pro', claims: { client_id: 'partner' } }
  const both = new Set(['toys:read', 'toys:write'])
  t.match(await use(await provider.login()), { ...caller, scopes: both })
  t.match(await use(await provider.login('toys:read')), { ...caller, scopes: new Set(['toys:read']) })
})

t.test('10,000 requests fetch its two documents once', async (t) => {
  const { provider, use, fetches } = await setUp(t)
  const tokens = await Promise.all(Array.from({ length: 10 }, () => provider.login()))
  for (let i = 0; i < 10_000; i++) await use(tokens[i % tokens.length] as string)
  t.strictSame(fetches(), [discovery, '/jwks'])
})

t.test('tokens of a new key are verified at once', async (t) => {
  const { provider, use, fetches } = await setUp(t)
  const token = await provider.login()
  await use(token)
  await provider.rotate()
  const rotated = await provider.login()
  t.not(decodeProtectedHeader(rotated).kid, decodeProtectedHeader(token).kid)
  t.match(await use(rotated), { subject: 'partner' })
  t.match(await use(token), { subject: 'partner' }, 'and remembered ones go on')
  t.strictSame(fetches(), [discovery, '/jwks', '/jwks'])
})

t.test('while it is stopped, callers that are known go on, and new ones are told to wait', async (t) => {
  const { provider, use } = await setUp(t)
  const token = await provider.login()
  await use(token)
  await provider.rotate()
  const rotated = await provider.login()
  await provider.stop()
  t.match(await use(token), { subject: 'partner' })
  t.equal(await use(rotated), 'unavailable: unavailable')
  await provider.start()
  const clocks = stopClocks(t)
  clocks.advance(1_000)
  t.match(await use(rotated), { subject: 'partner' })
})

t.test('a service that starts before it has its callers wait', async (t) => {
  const provider = await startOidcProvider(t)
  const token = await provider.login()
  await provider.stop()
  const check = await createJwtCheck({ OIDC_ISSUER: provider.url })
  const use = async () => check.caller(token, demand)
  await t.rejects(use(), { code: 'unavailable', headers: { 'Retry-After': '1' } })
  await provider.start()
  stopClocks(t).advance(1_000)
  t.match(await use(), { subject: 'partner' })
})

t.test('a provider whose certificate is not trusted is unavailable', async (t) => {
  const provider = await startOidcProvider(t)
  const token = await provider.login()
  const { options } = https.globalAgent
  const { ca } = options
  delete options.ca
  t.teardown(() => Object.assign(options, { ca }))
  const check = await createJwtCheck({ OIDC_ISSUER: provider.url })
  const cause = { message: /: (self-signed certificate|unable to verify)/ }
  await t.rejects(async () => check.caller(token, demand), { code: 'unavailable', cause })
})
