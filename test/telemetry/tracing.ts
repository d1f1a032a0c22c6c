import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { fixture } from 'contract-service/fixtures/root'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { startCollector, startUnresponsiveCollector } from '../fixtures/collector.js'
import { prefix } from '../fixtures/facts.js'
import { holdInserts } from '../fixtures/locks.js'
import { contract, createDatabase, send, startService } from '../fixtures/service.js'

const certificates = fixture('tls')
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

// As a process, because OpenTelemetry reads the environment.
async function start(t: Test, env: Record<string, string>) {
  const sql = await createDatabase(t)
  const { key } = await startService(t, { sql }) // creates a key
  const proxy = await startDatabaseProxy(t, sql)
  const service = await startProcess(t, { DATABASE_URL: proxy.url, OTEL_BSP_SCHEDULE_DELAY: '50', ...env })
  const auth = { authorization: `Bearer ${key}` }
  const linesOf = (message: string) => service.log.filter(({ msg }) => msg === message)
  return { service, proxy, sql, auth, linesOf, origin: new URL(service.base).origin }
}

t.test('each request is a span, in the trace of its caller or in a new one', async (t) => {
  const { url, spans, headers } = await startCollector(t)
  const { service, proxy, auth, linesOf, origin } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  const asked = async (path: string, own: Record<string, string> = {}) => {
    const before = spans.length
    await send(origin + path, 'GET', { ...auth, ...own })
    await until(() => spans.length > before)
    return spans.at(-1)
  }
  const known = await asked(`${prefix}/pets`, { traceparent: `00-${trace}-${span}-01` })
  t.match(known, { traceId: trace, parentSpanId: span, name: `GET ${prefix}/pets`, kind: 2, status: 0 })
  t.strictSame(known?.attributes, {
    'http.request.method': 'GET',
    'http.route': `${prefix}/pets`,
    'http.response.status_code': 200,
    'url.scheme': 'http',
  })
  t.ok((known?.ms ?? 0) > 0 && (known?.ms ?? 0) < 60_000, `${known?.ms} ms`)
  const { title, version } = contract
  t.match(known?.resource, {
    'service.name': title,
    'service.version': version,
    'service.instance.id': /^[0-9a-f-]{36}$/,
    'telemetry.sdk.language': 'nodejs',
    'deployment.environment.name': 'test',
  })
  t.match(headers[0], { 'x-tenant': 'shop', 'content-type': 'application/x-protobuf' })

  const own = await asked(`${prefix}/pets/404`)
  t.match(own, { parentSpanId: '', status: 0, attributes: { 'http.response.status_code': 404 } })
  t.match(linesOf('request').at(-1), { traceId: own?.traceId }, 'the log has its trace id')
  t.match(await asked('/nowhere?key=secret'), {
    name: 'GET',
    attributes: { 'http.response.status_code': 404 },
  })
  t.match(await asked(`${prefix}/pets`, { authorization: '', traceparent: 'nonsense' }), {
    parentSpanId: '',
    attributes: { 'http.response.status_code': 401 },
  })

  t.match(await asked(`${prefix}/pets`, { 'x-forwarded-proto': 'https' }), {
    attributes: { 'url.scheme': 'http' },
  })
  await send(`${origin}${prefix}/pets`, 'PROPFIND', auth)
  await until(() => spans.at(-1)?.attributes['http.request.method_original'] !== undefined)
  t.match(spans.at(-1), {
    name: /^HTTP\b/,
    attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' },
  })

  proxy.admit(false)
  t.match(await asked(`${prefix}/pets`), {
    status: 2,
    attributes: { 'http.response.status_code': 503, 'error.type': '503' },
  })
  proxy.admit(true)

  const before = spans.length
  await send(`${origin}/healthz`)
  await send(`${origin}${prefix}/pets`, 'GET', { traceparent: `00-${trace}-${span}-00` })
  await asked('/docs')
  t.strictSame(
    spans.slice(before).map(({ name }) => name),
    ['GET /docs'],
    'probes and unsampled traces have no span',
  )
  t.notMatch(JSON.stringify(spans), /secret|127\.0\.0\.1/)
  t.match(await service.stop(), { code: 0 })
})

t.test('OpenTelemetry variables are applied, and invalid ones logged', async (t) => {
  const { url, spans } = await startCollector(t)
  const { service, linesOf, origin } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_SERVICE_NAME: 'other',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=api-1',
    LOG_ADDRESS: 'true',
    TRUST_PROXY: 'loopback',
  })
  await send(`${origin}${prefix}/pets`, 'GET', { 'x-forwarded-proto': 'https' })
  await until(() => spans.length > 0)
  t.match(spans[0], {
    resource: { 'service.name': 'other', 'service.instance.id': 'api-1' },
    attributes: { 'client.address': '127.0.0.1', 'url.scheme': 'https' },
  })
  t.match(linesOf('invalid opentelemetry configuration'), [{ reason: /OTEL_TRACES_SAMPLER/ }])
  t.match(await service.stop(), { code: 0 })
})

t.test('the certificates of a collector are read for each connection', async (t) => {
  const read = (name: string) => readFileSync(path.join(certificates, name))
  const collector = await startCollector(t, {
    ...{ key: read('address.key'), cert: read('address.pem'), ca: read('ca.pem') },
    ...{ requestCert: true, rejectUnauthorized: true },
  })
  const directory = temporaryDirectory(t)
  const put = (name: string, source: string) =>
    copyFileSync(path.join(certificates, source), path.join(directory, name))
  put('ca', 'ca.pem')
  put('cert', 'name.pem')
  put('key', 'name.key')
  const { service, auth } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_CERTIFICATE: path.join(directory, 'ca'),
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/overridden.pem',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: path.join(directory, 'cert'),
    OTEL_EXPORTER_OTLP_CLIENT_KEY: path.join(directory, 'key'),
  })
  const exported = async () => {
    const { length } = collector.spans
    await until(async () => {
      await send(`${service.base}/pets`, 'GET', auth)
      return collector.spans.length > length
    })
    return collector.clients.at(-1)
  }
  t.equal(await exported(), 'name')
  put('cert', 'address.pem')
  put('key', 'address.key')
  collector.disconnect()
  await until(async () => (await exported()) === 'address')
  rmSync(path.join(directory, 'ca'))
  collector.disconnect()
  await until(async () => {
    await send(`${service.base}/pets`, 'GET', auth)
    return service.log.some(({ msg }) => msg === 'trace export failed')
  })
  const [failed] = service.log.filter(({ msg }) => msg === 'trace export failed')
  t.match(failed, { reason: `${path.join(directory, 'ca')}` })
  put('ca', 'ca.pem')
  t.equal(await exported(), 'address', 'and exports work again')
  t.match(await service.stop(), { code: 0 })
})

t.test('a shutdown exports the spans of completed and of aborted requests', async (t) => {
  const { url, spans } = await startCollector(t)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '600000' }
  const { service, sql, auth, linesOf, origin } = await start(t, env)
  const { someoneWaits, release } = await holdInserts(sql)
  const response = send(`${service.base}/pets`, 'POST', auth, { name: 'Rex', categoryId: 1 })
  await someoneWaits()
  const { port } = new URL(origin)
  const body = '{"name":"Ada","categoryId":1}'
  const head = [`Authorization: ${auth.authorization}`, 'Content-Type: application/json', 'Host: x']
  const gone = net.connect(Number(port), '127.0.0.1')
  const length = `Content-Length: ${body.length}`
  gone.write(`POST ${prefix}/pets HTTP/1.1\r\n${[...head, length].join('\r\n')}\r\n\r\n${body}`)
  await someoneWaits(2)
  gone.resetAndDestroy()
  await until(() => linesOf('request aborted').length === 1)
  service.child.kill('SIGTERM')
  await service.logged('stopping')
  t.strictSame(spans, [])
  await release()
  t.match(await response, { status: 201 })
  t.match(await service.ended, { code: 0 })
  t.strictSame(
    spans.map(({ attributes }) => attributes['http.response.status_code'] ?? attributes['error.type']).sort(),
    [201, 'aborted'],
  )
})

t.test('an unavailable collector affects no request, and is logged once', async (t) => {
  const { url, spans, respondWith } = await startCollector(t)
  respondWith(400) // a status that is not retried
  const { service, auth, linesOf } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url })
  const ask = async () => t.match(await send(`${service.base}/pets`, 'GET', auth), { status: 200 })
  await ask()
  await service.logged('trace export failed')
  const once = linesOf('trace export failed')
  t.match(once, [{ level: 40, reason: String }])
  respondWith(200)
  await until(async () => {
    await ask()
    return spans.length > 0
  })
  await service.logged('trace export works again')
  t.equal(linesOf('trace export failed').length, 1)
  t.match(await service.stop(), { code: 0, stderr: /^(?!.*Error)/s })
})

t.test('a closed, unresponsive or refusing collector neither delays nor fails the shutdown', async (t) => {
  const closed = 'http://127.0.0.1:1'
  const refusing = await startCollector(t)
  refusing.respondWith(401)
  for (const endpoint of [closed, await startUnresponsiveCollector(t), refusing.url]) {
    const { service, auth, linesOf } = await start(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '600000', // so that only the shutdown exports
      SHUTDOWN_TIMEOUT_MS: '10000',
    })
    for (let i = 0; i < 20; i++) t.equal((await send(`${service.base}/pets`, 'GET', auth)).status, 200)
    const began = performance.now()
    t.match(await service.stop(), { code: 0, stderr: /^(?!.*Error)/s })
    t.ok(performance.now() - began < 9_000, `${performance.now() - began} ms`)
    t.match(linesOf('trace export failed, last spans lost'), [{ level: 40, reason: String }])
  }
})
