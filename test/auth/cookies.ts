// The animals, for callers with a key in a cookie: what a page of another site can do in their name.

import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { contractText, send, startService } from '../fixtures/service.js'

// Like a contract from before the guard, this one has no error code for it.
const document = parseDocument(contractText)
document.setIn(['components', 'securitySchemes', 'apiKey'], {
  type: 'apiKey',
  in: 'cookie',
  name: '__Host-session',
})
document.deleteIn(['components', 'headers', 'WwwAuthenticate', 'schema', 'pattern'])
const contract = await readServiceContract(contractFile, async () => String(document))

const shop = 'https://shop.example'
const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

async function start(t: Test, env: Record<string, string> = {}) {
  const service = await startService(t, { contract, env: { CORS_ORIGINS: shop, ...env } })
  const call = (method: string, headers: Record<string, string>, cookie = `__Host-session=${service.key}`) =>
    send(
      `${service.base}/pets`,
      method,
      { cookie, ...headers },
      method === 'POST' ? { name: 'Rex', categoryId: 3 } : undefined,
    )
  return { ...service, call }
}

t.test('it may read, and change nothing', async (t) => {
  const { call, log, sql } = await start(t)
  t.match(await call('GET', foreign), { status: 200 })
  t.match(await call('POST', foreign), { status: 403, body: { code: 'cross_site_request', status: 403 } })
  t.match(await call('POST', { origin: 'https://evil.example' }), { status: 403 })
  t.match(await call('POST', { origin: 'null' }), { status: 403 })
  t.strictSame([...(await sql`select count(*)::int as rows from pets`)], [{ rows: 0 }])
  t.match(
    log.filter(({ msg }) => msg === 'request').at(-1),
    { status: 403, keyId: '1' },
    'the log says whose',
  )
  t.strictSame(
    log.filter(({ level }) => Number(level) >= 40),
    [],
  )
})

t.test('its refusals count against the quota of the key that its user has', async (t) => {
  const { call } = await start(t)
  const remaining = async (headers: Record<string, string>) =>
    Number((await call('POST', headers)).headers.get('x-ratelimit-remaining'))
  const before = await remaining({})
  t.equal(await remaining(foreign), before - 1)
})

t.test('pages of CORS_ORIGINS and of the service may add an animal, and so may programs', async (t) => {
  const { call, origin } = await start(t, { PUBLIC_URL: 'https://store.example/v1' })
  for (const headers of [
    {},
    { 'sec-fetch-site': 'same-origin', origin },
    { 'sec-fetch-site': 'cross-site', origin: shop },
    { origin: shop },
    { origin },
    { origin: 'https://store.example' },
  ])
    t.match(await call('POST', headers), { status: 201 }, JSON.stringify(headers))
  t.match(await call('POST', { origin: 'https://store.example:8443' }), { status: 403 })
})

t.test('with CROSS_SITE_COOKIES any page may', async (t) => {
  const { call } = await start(t, { CROSS_SITE_COOKIES: 'true' })
  t.match(await call('POST', foreign), { status: 201 })
})

t.test('a cookie of another name is no key', async (t) => {
  const { call, key } = await start(t)
  t.match(await call('GET', {}, `__%48ost-session=${key}`), {
    status: 401,
    body: { code: 'missing_api_key' },
  })
  t.match(await call('GET', {}, `__Host-session=${key}; __%48ost-session=junk`), { status: 200 })
})
