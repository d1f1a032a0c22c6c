import t, { type Test } from 'tap'
import { prefix } from '../fixtures/facts.js'
import { contract, type Service, send, sendRaw, startService } from '../fixtures/service.js'

const shop = 'https://shop.example'
const cors = (service: Service, headers: Record<string, string> = {}) => ({
  ...service.auth,
  origin: shop,
  ...headers,
})
const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,x-new',
}

const startWith = (t: Test, origins: string, env: Record<string, string> = {}) =>
  startService(t, { env: { CORS_ORIGINS: origins, ...env } })

// Every response header that the contract declares.
const declared = new Set(
  [
    ...JSON.stringify(contract.document).matchAll(
      /"(X-[\w-]+|Link|Location|Deprecation|Sunset|Retry-After|Idempotent-Replayed)":\{"\$ref"/g,
    ),
  ].map(([, name = '']) => name.toLowerCase()),
)

function exposed({ headers }: { readonly headers: Headers }): string[] {
  return (headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ')
}

t.test('a page of an allowed origin can read every response', async (t) => {
  const service = await startWith(t, `http://localhost:5173,${shop}`)
  const { origin, base } = service
  const spent = await service.createKey({ perMinute: 1, perDay: 1 })
  const spentHeaders = cors(service, { authorization: `Bearer ${spent.key}` })
  await send(`${base}/pets`, 'GET', spentHeaders)
  const json = { 'content-type': 'application/json' }
  const responses: [
    status: number,
    url: string,
    method?: string,
    headers?: Record<string, string>,
    body?: string,
  ][] = [
    [200, `${base}/pets`],
    [201, `${base}/pets`, 'POST', json, '{"name":"Rex","categoryId":3}'],
    [400, `${base}/pets?limit=0`],
    [400, `${base}/pets/%zz`],
    [401, `${base}/pets`, 'GET', { authorization: 'Bearer nobody' }],
    [404, `${base}/pets/77`],
    [404, `${origin}/nothing`],
    [405, `${base}/pets`, 'DELETE'],
    [413, `${base}/pets`, 'POST', json, 'x'.repeat(contract.limits.body + 1)],
    [414, `${base}/pets?name=${'x'.repeat(contract.limits.url)}`],
    [415, `${base}/pets`, 'POST', { 'content-type': 'text/plain' }, 'Rex'],
    [429, `${base}/pets`, 'GET', spentHeaders],
    [200, `${origin}/openapi.json`],
    [200, `${origin}/docs`],
    [200, `${origin}/healthz`],
  ]
  for (const [status, url, method, headers, body] of responses) {
    const response = await send(url, method, cors(service, headers), body)
    const title = `${method ?? 'GET'} ${url.slice(0, 60)} ${status}`
    t.equal(response.status, status, title)
    t.equal(response.headers.get('access-control-allow-origin'), shop, title)
    t.match(response.headers.get('vary'), /^Origin\b/, title)
    t.equal(response.headers.get('access-control-allow-credentials'), null, title)
    for (const name of declared) t.ok(exposed(response).includes(name), `${title}: ${name}`)
  }
  t.ok(declared.size >= 10)
})

t.test(
  'a page of another origin cannot, and responses vary by Origin so that no cache shares them',
  async (t) => {
    const service = await startWith(t, shop)
    for (const origin of [
      'https://other.example',
      'null',
      `${shop}.evil.example`,
      'http://shop.example',
      `${shop}:8443`,
    ]) {
      const { status, headers } = await send(`${service.base}/pets`, 'GET', cors(service, { origin }))
      t.equal(status, 200)
      t.equal(headers.get('access-control-allow-origin'), null, origin)
      t.equal(headers.get('vary'), 'Origin')
      const asked = await send(`${service.base}/pets`, 'OPTIONS', { origin, ...preflight })
      t.equal(asked.status, 405)
      t.equal(asked.headers.get('access-control-allow-methods'), null)
    }
    const { headers } = await service.call('GET', '/pets')
    t.equal(headers.get('access-control-allow-origin'), null, 'nor is it said to who asks for none')
    t.equal(headers.get('vary'), 'Origin')
    const page = await send(`${service.origin}/docs`)
    t.equal(page.headers.get('vary'), 'Origin, Accept-Encoding')
  },
)

t.test('without CORS_ORIGINS no response has CORS headers', async (t) => {
  const service = await startService(t)
  const { headers } = await send(`${service.base}/pets`, 'GET', cors(service))
  t.strictSame(
    [...headers.keys()].filter((name) => /^access-control|^vary$/.test(name)),
    [],
  )
  t.equal((await send(`${service.base}/pets`, 'OPTIONS', { origin: shop, ...preflight })).status, 405)
})

t.test('a preflight needs no key, costs no quota, and gets a response for any path', async (t) => {
  const service = await startWith(t, shop)
  const left = async () => Number((await send(`${service.base}/pets`)).headers.get('x-ratelimit-remaining'))
  const before = await left()
  for (const path of ['/pets', '/pets/1', '/nothing']) {
    const response = await send(service.base + path, 'OPTIONS', { origin: shop, ...preflight })
    t.match(response, { status: 204, text: '' }, path)
    t.equal(response.headers.get('access-control-allow-origin'), shop)
    t.match(response.headers.get('access-control-allow-methods'), /GET.*POST/)
    t.equal(response.headers.get('access-control-allow-headers'), 'authorization,x-new')
    t.equal(response.headers.get('access-control-max-age'), '600')
    t.equal(response.headers.get('x-ratelimit-remaining'), null)
    t.ok(response.headers.get('x-request-id'))
  }
  t.equal(await left(), before - 1)
  t.equal(
    (await send(`${service.base}/pets`, 'OPTIONS', { origin: shop })).status,
    405,
    'what is none is a request like any',
  )
  const twice = `OPTIONS ${prefix}/pets HTTP/1.1\r\nHost: a\r\nOrigin: ${shop}\r\nAccess-Control-Request-Method: GET\r\n\r\n`
  const received = await sendRaw(
    service.origin,
    twice,
    twice.replace('Host: a', 'Host: a\r\nConnection: close'),
  )
  t.equal(received.match(/HTTP\/1.1 204/g)?.length, 2, 'and its connection goes on')
})
