import { isDeepStrictEqual } from 'node:util'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { until } from 'contract-testing/until'
import t from 'tap'
import { parse, parseDocument } from 'yaml'
import { handlers } from '../generated/handlers.js'
import { ApiError } from '../src/handlers/handler.js'
import { prefix } from './fixtures/facts.js'
import { problemsOf } from './fixtures/openapi-problems.js'
import { contract, contractText, send, sendRaw, startService } from './fixtures/service.js'

t.test('the service apart from its operations', async (t) => {
  const publicUrl = 'https://store.example/v1'
  const { origin, base, auth, log, key, call } = await startService(t, { env: { PUBLIC_URL: publicUrl } })

  t.test('responds to liveness and readiness probes', async (t) => {
    t.equal((await send(`${origin}/healthz`)).status, 200)
    const ready = { status: 'ok', counters: 'memory' } // not on a busy machine, whose probe may be late
    await until(async () => isDeepStrictEqual((await send(`${origin}/readyz`)).body, ready))
  })

  t.test('serves its contract in both forms, with its public URL', async (t) => {
    const yaml = await send(`${origin}/openapi.yaml`)
    t.match(yaml.text, `\nservers:\n  - url: "${publicUrl}"\n`)
    t.notMatch(yaml.text, 'localhost:3000/v1\n', 'and no other')
    t.equal(yaml.headers.get('content-type'), 'application/yaml; charset=utf-8')
    const { servers, ...document } = (await send(`${origin}/openapi.json`)).body
    t.strictSame(servers, [{ url: publicUrl, description: 'This service' }])
    t.match(JSON.parse(JSON.stringify(contract.document)), document)
  })

  t.test('serves it in OpenAPI 3.0, with the same operations', async (t) => {
    const { status, headers, text } = await send(`${origin}/openapi-3.0.yaml`)
    t.strictSame([status, headers.get('content-type')], [200, 'application/yaml; charset=utf-8'])
    const document = parse(text, { intAsBigInt: true })
    t.match(document.openapi, /^3\.0\./)
    t.strictSame(await problemsOf(document), [])
    const read = await readServiceContract(contractFile, async () => text)
    t.strictSame(read.operations, contract.operations)
  })

  t.test('distinguishes an unknown path from a wrong method', async (t) => {
    const unknown = await send(`${base}/nothing`, 'POST', {}, '{')
    t.match(unknown, { status: 404, body: { code: 'route_not_found', status: 404 } })
    const wrong = await send(`${base}/pets`, 'DELETE')
    t.match(wrong, { status: 405, body: { code: 'method_not_allowed' } })
    t.equal(wrong.headers.get('allow'), 'GET, HEAD, POST')
    const known = [...contract.operations.values()]
      .filter(({ path }) => path === '/pets/{petId}')
      .map(({ method }) => method)
    const allow = (await send(`${base}/pets/1`, 'PATCH', {}, '{}')).headers.get('allow')
    t.equal(allow, [...known, 'HEAD'].sort().join(', '))
  })

  t.test("returns the request id, the client's own if it is valid", async (t) => {
    t.equal(
      (await send(`${origin}/healthz`, 'GET', { 'x-request-id': 'abc-1.2_3' })).headers.get('x-request-id'),
      'abc-1.2_3',
    )
    for (const hostile of [key, '', 'a b', 'x'.repeat(129), '"', 'a\\', 'é', '<string>']) {
      for (const url of [`${origin}/healthz`, `${base}/pets`]) {
        const response = await send(url, 'GET', { ...auth, 'x-request-id': hostile })
        t.equal(response.status, 200, 'it is no reason to refuse a request')
        t.match(response.headers.get('x-request-id'), /^[0-9a-f-]{36}$/, `not ${hostile.slice(0, 10)}`)
      }
    }
  })

  t.test('takes an own request id from every operation, as the contract declares it', (t) => {
    const texts = [...contract.operations.values()].map(({ parameters }) => {
      const own = parameters.find(({ name }) => name === 'X-Request-Id')
      return own && { in: own.in, required: own.required, schema: own.schema }
    })
    const any = { in: 'header', required: false, schema: { type: 'string' } }
    t.strictSame(
      texts,
      texts.map(() => any),
    )
    t.end()
  })

  t.test('sends the security headers of a JSON API with every response', async (t) => {
    for (const [response, caching] of [
      [await call('GET', '/pets'), 'private, no-cache, must-revalidate'],
      [await call('GET', '/pets/1'), 'no-store'],
      [await send(`${base}/nothing`), 'no-store'],
      [await send(`${base}/pets`), 'no-store'],
    ] as const) {
      t.equal(response.headers.get('x-content-type-options'), 'nosniff')
      t.equal(response.headers.get('cache-control'), caching)
      t.match(response.headers.get('content-security-policy'), /default-src 'none'/)
    }
  })

  t.test('refuses a URL that is too long or malformed', async (t) => {
    const long = await call('GET', `/pets?name=${'a'.repeat(contract.limits.url)}`)
    t.match(long, { status: 414, body: { code: 'uri_too_long' } })
    t.match(await send(`${base}/%zz`), { status: 400, body: { code: 'malformed_request' } })
    t.match(await call('GET', `/pets/${'1'.repeat(500)}`), { status: 400, body: { code: 'invalid_request' } })
  })

  t.test('responds to malformed HTTP with the error body', async (t) => {
    const cases: [string, string, number, string][] = [
      ['no HTTP at all', 'hello\r\n\r\n', 400, 'malformed_request'],
      [
        'a bad header',
        `GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n`,
        400,
        'malformed_request',
      ],
      [
        'two hosts',
        'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
        400,
        'malformed_request',
      ],
      [
        'two keys',
        `GET ${prefix}/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n`,
        400,
        'malformed_request',
      ],
      ['no host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'malformed_request'],
      [
        'two lengths',
        `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
        400,
        'malformed_request',
      ],
      [
        'a length and chunks',
        `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
        'malformed_request',
      ],
      [
        'headers too large',
        `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(contract.limits.header)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
    ]
    for (const [title, request, status, code] of cases) {
      const response = await sendRaw(origin, request)
      t.match(response, new RegExp(`^HTTP/1.1 ${status} `), title)
      t.match(response, /\r\nx-request-id: /i, 'with a request id')
      t.match(
        JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4)),
        { code, status },
        'and the error body',
      )
    }
  })

  t.test('ignores an unknown Expect, and reads every header of many', async (t) => {
    const expecting = await sendRaw(
      origin,
      'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
    )
    t.match(expecting, /^HTTP\/1.1 200 /)
    const many = Array.from({ length: 1_500 }, () => 'A: 1\r\n').join('')
    const response = await sendRaw(
      origin,
      `GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\n${many}Authorization: ${auth.authorization}\r\nConnection: close\r\n\r\n`,
    )
    t.match(response, /^HTTP\/1.1 200 /)
  })

  t.test('responds 408 to a request that does not arrive', async (t) => {
    const slow = await startService(t, { env: { REQUEST_TIMEOUT_MS: '100' } })
    const response = await sendRaw(slow.origin, 'GET /healthz HTTP/1.1\r\nHost: x\r\n')
    t.match(response, /^HTTP\/1.1 408 /)
    t.match(response, /"code":"request_timeout"/)
  })

  t.test('logs one line for a request, and never a key', async (t) => {
    log.length = 0
    const response = await send(`${base}/pets?api_key=${key}`, 'GET', { ...auth, 'x-request-id': 'line-1' })
    t.equal(response.status, 400)
    const lines = log.filter(({ requestId }) => requestId === 'line-1')
    t.equal(lines.length, 1)
    t.match(lines[0], { method: 'GET', route: `${prefix}/pets`, status: 400, ms: Number, keyId: '1' })
    t.notMatch(JSON.stringify(log), key)
  })
})

t.test('a handler that fails', async (t) => {
  let fail: () => unknown = () => undefined
  const { call, log } = await startService(t, {
    handlers: { ...handlers, listPets: async () => fail() as never },
  })
  const thrown = (error: Error) => () => {
    throw error
  }
  const ofServer = { code: 'internal_error', message: 'Internal Server Error', status: 500 }
  const faults: [
    title: string,
    fail: () => unknown,
    body: { code: string; message: string; status: number },
    logged: object,
  ][] = [
    [
      'is not implemented: 501',
      thrown(new ApiError('not_implemented', 'secret')),
      { code: 'not_implemented', message: 'Not Implemented', status: 501 },
      { level: 40, reason: 'secret' },
    ],
    ['throws: 500', thrown(new Error('secret')), ofServer, { level: 50, err: { message: 'secret' } }],
    [
      'violates the contract: 500',
      () => ({ status: 200, body: 'secret' }),
      ofServer,
      { level: 50, err: { type: 'ResponseError', message: 'listPets 200: body at "" must be array' } },
    ],
  ]
  for (const [title, way, body, logged] of faults) {
    t.test(`${title}, without details`, async (t) => {
      fail = way
      log.length = 0
      const response = await call('GET', '/pets', { headers: { 'x-request-id': 'failing' } })
      t.match(response, { status: body.status, body })
      t.notMatch(response.text, /secret/)
      const lines = log.filter(({ requestId, level }) => requestId === 'failing' && Number(level) > 30)
      t.match(lines, [logged], 'the log has the details, with the request id')
    })
  }
})

t.test('errors have the media type that the contract declares', async (t) => {
  const document = parseDocument(contractText)
  const names = Object.keys(document.toJS().components.responses)
  for (const name of names) {
    const place = ['components', 'responses', name, 'content']
    const json = document.getIn([...place, 'application/json'])
    if (json === undefined) continue // it has no body
    document.setIn(place, document.createNode({}))
    document.setIn([...place, 'application/problem+json'], json)
  }
  const service = await startService(t, {
    contract: await readServiceContract('pets.yaml', async () => String(document)),
  })
  const typeOf = ({ headers }: { headers: Headers }) => headers.get('content-type')
  const problem = 'application/problem+json; charset=utf-8'
  t.equal(typeOf(await service.call('GET', '/pets?limit=x')), problem)
  t.equal(typeOf(await service.call('GET', '/pets/1')), problem, 'a refusal of a handler')
  t.equal(typeOf(await service.call('GET', '/nothing')), problem)
  t.equal(typeOf(await send(`${service.base}/pets`)), problem)
  t.match(await sendRaw(service.origin, 'nonsense\r\n\r\n'), `Content-Type: ${problem}`)
  t.equal(typeOf(await service.call('GET', '/pets')), 'application/json; charset=utf-8')
})
