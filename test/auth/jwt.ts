// Callers by token in the whole service, beside keys: their plans and quotas, and an issuer that is down.

import { audience, createSigningKey, type FakeIssuer, startIssuer } from 'contract-service/fixtures/issuer'
import { apiKeys } from 'contract-service/internal/auth/api-keys'
import { jwt } from 'contract-service/internal/auth/jwt'
import { fixedPlans, readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { contract as animals, contractText, send, startService } from '../fixtures/service.js'

const [low, high] = fixedPlans(animals)
if (low === undefined || high === undefined) throw new Error('the contract has no two plans with quotas')

// The animals, for callers with keys, and with tokens of a partner. A claim of a token may name the plan.
const document = parseDocument(contractText)
document.setIn(['components', 'securitySchemes', 'partner'], {
  type: 'openIdConnect',
  openIdConnectUrl: 'https://login.example/.well-known/openid-configuration',
})
document.setIn(['security'], [{ apiKey: [] }, { partner: ['animals:read'] }])
document.setIn(['x-rate-limits', 'schemes'], { partner: { plan: low.name, claim: 'tier' } })
document.deleteIn(['components', 'headers', 'WwwAuthenticate', 'schema', 'pattern'])
for (const [code, status] of Object.entries({ invalid_credentials: 401, insufficient_scope: 403 })) {
  document.addIn(['components', 'schemas', 'ErrorCode', 'enum'], code)
  document.setIn(['components', 'schemas', 'ErrorCode', 'x-enumStatuses', code], status)
}
const contract = await readServiceContract(contractFile, async () => String(document))

async function start(t: Test, given?: FakeIssuer) {
  const issuer = given ?? (await startIssuer(t))
  const service = await startService(t, {
    contract,
    schemes: { apiKey: apiKeys(), partner: jwt() },
    env: { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: audience },
  })
  const list = (token: string) => send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${token}` })
  const token = (claims: object = {}) => issuer.token({ scope: 'animals:read', ...claims })
  return { ...service, issuer, list, token }
}

const shared = await start(t)

t.test('a caller by token has the plan of its scheme, or the one that it claims', async (t) => {
  const { list, token } = shared
  const limitOf = async (claims: object) =>
    Number((await list(await token(claims))).headers.get('x-ratelimit-limit'))
  t.equal(await limitOf({}), low.perMinute)
  t.equal(await limitOf({ sub: 'bob', tier: high.name }), high.perMinute)
  t.equal(await limitOf({ sub: 'eve', tier: 'boundless' }), low.perMinute)
})

t.test('its quota is one for all of its tokens', async (t) => {
  const { list, token } = shared
  const remaining: number[] = []
  for (const jti of ['a', 'b', 'c'])
    remaining.push(
      Number((await list(await token({ sub: 'one', jti }))).headers.get('x-ratelimit-remaining')),
    )
  t.strictSame(
    remaining,
    [1, 2, 3].map((n) => low.perMinute - n),
  )
})

t.test('a token that does not do is 401 or 403, counted by address or by its caller', async (t) => {
  const { list, token, key } = shared
  t.match(await list(key), { status: 200 }, 'keys go on')
  t.match(await list(await token({ exp: 1 })), { status: 401, body: { code: 'invalid_credentials' } })
  const refused = await list(await token({ sub: 'other', scope: 'other' }))
  t.match(refused, { status: 403, body: { code: 'insufficient_scope' } })
  t.equal(refused.headers.get('x-ratelimit-remaining'), String(low.perMinute - 1))
})

t.test('a service whose issuer is down starts, is ready, and serves keys', async (t) => {
  const issuer = await startIssuer(t)
  issuer.respond = (_, response) => {
    response.destroy()
    return true
  }
  const { origin, list, token, key, log } = await start(t, issuer)
  const refused = await list(await token())
  t.match(refused, { status: 503, body: { code: 'unavailable' } })
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal(refused.headers.get('www-authenticate'), null)
  await until(async () => (await send(`${origin}/readyz`)).body.status === 'ok')
  t.match(await list(key), { status: 200 })
  const lines = log.filter(({ msg }) => msg === 'issuer unavailable')
  t.match(lines, [{ level: 40, issuer: issuer.url, reason: /^GET .*: socket hang up$/ }], 'said once')
})

t.test('tokens of unknown keys are slow while the issuer is away, by their address', async (t) => {
  const { issuer, list, token, key } = await start(t)
  t.match(await list(await token()), { status: 200 })
  issuer.respond = (_, response) => {
    response.destroy()
    return true
  }
  const other = await createSigningKey('forged')
  const forged = await issuer.token({}, {}, other)
  const { perMinute } = contract.rateLimits.anonymous
  const refused = await Promise.all(Array.from({ length: perMinute + 3 }, () => list(forged)))
  const times = (status: number) => refused.filter((each) => each.status === status).length
  t.strictSame([times(503), times(429)], [perMinute, 3])
  t.ok(refused.every(({ headers }) => headers.get('x-ratelimit-limit') === String(perMinute)))
  t.match(await list(await token({ sub: 'new' })), { status: 200 }, 'others go on')
  t.match(await list(key), { status: 200 })
})

t.test('the log says why a token is refused, and its caller learns no more', async (t) => {
  const { issuer, list, token, log } = shared
  const stranger = await createSigningKey('first')
  for (const [sent, reason] of [
    [await token({ exp: 1 }), '"exp" claim timestamp check failed'],
    [await issuer.token({}, {}, stranger), 'signature verification failed'],
    [await issuer.token({}, {}, await createSigningKey('none')), /no applicable key/],
    [await token({ aud: 'other' }), 'unexpected "aud" claim value'],
    ['ask_guessed', undefined],
  ] as const) {
    t.match(await list(sent), { status: 401 })
    t.match(log.filter(({ msg }) => msg === 'request').at(-1), { status: 401, reason })
  }
})

t.test('the log has the subject of a caller, and no token', async (t) => {
  const { issuer, list, token, log } = shared
  const used = [await token({ email: 'ann@store.example' }), await token({ exp: 1 })]
  for (const each of used) await list(each)
  issuer.respond = (_, response) => {
    response.destroy()
    return true
  }
  const unknown = await issuer.token({}, {}, await createSigningKey('second'))
  t.match(await list(unknown), { status: 503 })
  const lines = log.filter(({ msg }) => msg === 'request').slice(-3)
  t.match(lines, [{ scheme: 'partner', subject: 'ann' }, { status: 401 }, { status: 503 }])
  const text = JSON.stringify(log)
  const parts = [...used, unknown].flatMap((each) => each.split('.'))
  t.strictSame(
    ['ann@store.example', ...parts].filter((part) => text.includes(part)),
    [],
  )
})

t.test('without its variables the service does not start, and says which', async (t) => {
  const schemes = { apiKey: apiKeys(), partner: jwt() }
  const starts = (env: Record<string, string>) => startService(t, { contract, schemes, env, sql: shared.sql })
  const text = 'The security scheme partner needs the'
  await t.rejects(starts({}), { message: `${text} issuer of its tokens: set OIDC_ISSUER.` })
  const message = `${text} audience of its tokens: set OIDC_AUDIENCE.`
  await t.rejects(starts({ OIDC_ISSUER: 'https://login.example' }), { message })
})
