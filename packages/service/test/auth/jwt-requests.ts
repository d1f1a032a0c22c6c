// Requests with tokens, as the engine judges them by the check: with scopes, and beside keys in the same
// header.

import { errorHandler, mount, verdictOf } from 'contract-engine'
import { send } from 'contract-engine/lib/send'
import { contractWith } from 'contract-testing/engine'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { createApiKey, isApiKey } from '../../src/auth/api-key.js'
import type { Client } from '../../src/auth/client.js'
import type { JwtOptions } from '../../src/auth/jwt.js'
import { createJwtCheck } from '../fixtures/checks.js'
import { createSigningKey, startIssuer } from '../fixtures/issuer.js'

const scopes = { 'toys:read': 'Read toys.', 'toys:write': 'Add toys.' }
const flows = { clientCredentials: { tokenUrl: 'https://login.example/token', scopes } }
const schemes = {
  partner: { type: 'oauth2', flows },
  key: { type: 'http', scheme: 'bearer' },
}
const ok = { 200: { description: 'Who it is.', content: { 'application/json': { schema: {} } } } }
const operations = {
  listToys: { method: 'get', responses: ok, security: [{ partner: ['toys:read'] }, { key: [] }] },
  addToy: { method: 'post', responses: ok, security: [{ partner: ['toys:write'] }] },
}

/** Starts a server whose operations respond with the name of their caller. */
async function setUp(t: Test) {
  const issuer = await startIssuer(t)
  const contract = await contractWith(operations, { components: { securitySchemes: schemes } })
  const app = Fastify()
  app.setErrorHandler(errorHandler(contract))
  const name = async (_: unknown, { caller }: { caller?: Client }) => ({ status: 200, body: caller?.subject })
  await mount(app, {
    contract,
    handlers: { listToys: name, addToy: name },
    security: {
      partner: await createJwtCheck({ OIDC_ISSUER: issuer.url }),
      key: { caller: () => ({ subject: 'a key', scopes: new Set() }), recognizes: isApiKey },
    },
    context: (request) => ({ caller: verdictOf(request)?.caller as Client }),
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const call = async (path: string, credential?: string, method = 'GET') => {
    const headers: Record<string, string> = credential === undefined ? {} : { authorization: credential }
    const { status, headers: sent, body } = await send(`${origin}${path}`, method, headers)
    return { status, challenge: sent.get('www-authenticate'), retryAfter: sent.get('retry-after'), body }
  }
  const list = async (token: string) => call('/listToys', `Bearer ${token}`)
  const add = async (token: string) => call('/addToy', `Bearer ${token}`, 'POST')
  return { issuer, call, list, add }
}

t.test('a token and a key are told apart in one header', async (t) => {
  const { issuer, list, add } = await setUp(t)
  t.match(await list(await issuer.token({ scope: 'toys:read' })), { status: 200, body: 'ann' })
  t.match(await list(createApiKey()), { status: 200, body: 'a key' })
  t.match(await add(createApiKey()), { status: 401 })
})

t.test('what is wrong is said by the challenge', async (t) => {
  const { issuer, call, list, add } = await setUp(t)
  const bearer = 'Bearer realm="Values"'
  const invalid = (description: string) => {
    const challenge = `${bearer}, error="invalid_token", error_description="${description}"`
    return { status: 401, challenge, body: { code: 'invalid_credentials', message: `${description}.` } }
  }
  t.match(await call('/listToys'), { status: 401, challenge: bearer, body: { code: 'missing_credentials' } })
  t.match(await list(await issuer.token({ exp: 1 })), invalid('The token has expired'))
  const token = await issuer.token({ scope: 'toys:read' })
  const other = 'The token is malformed, not signed by the issuer, or lacks a claim'
  t.match(await list(`${token.slice(0, -4)}AAAA`), invalid(other))
  t.match(await add(`${token.slice(0, -4)}AAAA`), invalid(other))
  const challenge = `${bearer}, error="insufficient_scope", scope="toys:write"`
  t.match(await add(token), { status: 403, challenge, body: { code: 'insufficient_scope' } })
  t.match(await add(await issuer.token({ scope: 'toys:write' })), { status: 200, body: 'ann' })
})

t.test('an issuer that cannot be asked is 503 with Retry-After, and no challenge', async (t) => {
  const { issuer, list } = await setUp(t)
  const token = await issuer.token({ scope: 'toys:read' })
  t.match(await list(token), { status: 200 })
  issuer.respond = (_, response) => {
    response.destroy()
    return true
  }
  const rotated = await issuer.token({ scope: 'toys:read' }, {}, await createSigningKey('second'))
  const refusal = { status: 503, challenge: null, retryAfter: '1', body: { code: 'unavailable' } }
  t.match(await list(rotated), refusal)
  t.match(await list(token), { status: 200 })
  t.match(await list(createApiKey()), { status: 200 }, 'nor are keys affected')
})

// Starts a server with two schemes whose credentials are tokens, each of a different issuer.
async function startBoth(t: Test, partner: string, staff: string, ofStaff: JwtOptions = {}): Promise<string> {
  const securitySchemes = { partner: schemes.partner, staff: schemes.key }
  const security = [{ partner: ['toys:read'] }, { staff: [] }]
  const listToys = { ...operations.listToys, security }
  const contract = await contractWith({ listToys }, { components: { securitySchemes } })
  const app = Fastify()
  app.setErrorHandler(errorHandler(contract))
  t.teardown(() => app.close())
  await mount(app, {
    contract,
    handlers: {
      listToys: async (_: unknown, { schemes }: { schemes: string[] }) => ({ status: 200, body: schemes }),
    },
    security: {
      partner: await createJwtCheck({ OIDC_ISSUER: partner }),
      staff: await createJwtCheck({ OIDC_ISSUER: staff }, ofStaff),
    },
    context: (request) => ({ schemes: Object.keys(verdictOf(request)?.callers ?? {}) }),
  })
  return app.listen({ host: '127.0.0.1', port: 0 })
}

t.test('tokens of two issuers are told apart', async (t) => {
  const [partner, staff] = [await startIssuer(t), await startIssuer(t)]
  const origin = await startBoth(t, partner.url, staff.url)
  const list = async (token: string) =>
    send(`${origin}/listToys`, 'GET', { authorization: `Bearer ${token}` })
  t.match(await list(await partner.token({ scope: 'toys:read' })), { status: 200, body: ['partner'] })
  t.match(await list(await staff.token()), { status: 200, body: ['staff'] })
  t.match(await list(await partner.token()), { status: 403 })
  const forged = await partner.token({ iss: staff.url })
  t.match(await list(forged), { status: 401 }, 'one that names the other issuer is not of either')
  t.match(await list(await partner.token({ iss: 'https://other.example' })), { status: 401 })
})

t.test('two schemes for tokens of one issuer are refused, unless one has a type of its own', async (t) => {
  const issuer = await startIssuer(t)
  const { url } = issuer
  const refusal = { name: 'ContractError', message: /partner.*staff|staff.*partner/ }
  await t.rejects(startBoth(t, url, url), refusal)
  for (const type of ['at+jwt', 'JWT', 'application/jwt'])
    await t.rejects(startBoth(t, url, url, { type }), refusal, type)
  const origin = await startBoth(t, url, url, { type: 'application/Refresh+JWT' })
  const list = async (typ: string | undefined, scope?: string) => {
    const token = await issuer.token({ scope }, { typ })
    return send(`${origin}/listToys`, 'GET', { authorization: `Bearer ${token}` })
  }
  t.match(await list('refresh+jwt'), { status: 200, body: ['staff'] })
  t.match(await list('at+jwt', 'toys:read'), { status: 200, body: ['partner'] })
  t.match(await list(undefined, 'toys:read'), { status: 200, body: ['partner'] })
  t.match(await list('at+jwt'), { status: 403 })
  t.match(await list('logout+jwt', 'toys:read'), { status: 401 })
})
