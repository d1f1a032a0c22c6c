import { EventEmitter, on, once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import net from 'node:net'
import { stopClocks } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { deprecation, fixedPlan, prefix, prefixEncoded } from '../fixtures/facts.js'
import { holdKeys } from '../fixtures/locks.js'
import { contract, send, startService } from '../fixtures/service.js'

const pet = { name: 'Rex', categoryId: 1 }

// Replaces a handler by one that waits until it is released.
function hold(id: keyof Handlers) {
  const handler = handlers[id] as (...args: unknown[]) => Promise<unknown>
  const begun = new EventEmitter()
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const held = (...args: unknown[]) => {
    begun.emit('one')
    return released.then(() => handler(...args))
  }
  /** Resolves when `count` more requests wait. */
  const waits = async (count: number) => {
    for await (const _ of on(begun, 'one')) if (--count === 0) return
  }
  return { handlers: { ...handlers, [id]: held } as Handlers, release: () => release(), waits }
}

t.test('requests beyond WORK_MAX are refused at once, and no others', async (t) => {
  const held = hold('createPet')
  const env = { WORK_MAX: '1', METRICS_PORT: '9464' }
  const service = await startService(t, { env, handlers: held.handlers })
  const { call, origin, base, auth } = service

  await call('GET', '/pets') // caches the key
  // Requests whose bodies do not arrive take no slot.
  const slow = await Promise.all([1, 2, 3].map(() => beginPost(service.origin, auth)))
  t.match(await call('GET', '/pets'), { status: 200 })
  for (const socket of slow) socket.destroy()

  const [waiting] = [call('POST', '/pets', { body: pet }), await held.waits(1)]

  const refused = await call('GET', '/pets')
  t.match(refused, {
    status: 503,
    body: { code: 'unavailable', message: 'Service Unavailable. Try again in 1 second.', status: 503 },
  })
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal(refused.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(refused.headers.get('cache-control'), 'no-store')
  const lines = service.log.filter(({ requestId }) => requestId === refused.headers.get('x-request-id'))
  t.match(lines, [
    { level: 30, method: 'GET', route: `${prefix}/pets`, status: 503, reason: 'overload', msg: 'request' },
  ])
  t.match(await call('POST', '/pets', { body: pet }), { status: 503 })
  t.match(await send(`${base}/pets`, 'HEAD', auth), { status: 503, text: '' })
  t.match(await send(`${origin}/healthz`), { status: 200 })
  t.match(await send(`${origin}/openapi.json`), { status: 200 })

  const metrics = service.app.metricsServer as Server
  await once(metrics.listen(0, '127.0.0.1'), 'listening')
  const { port } = metrics.address() as net.AddressInfo
  const { text } = await send(`http://127.0.0.1:${port}/metrics`)
  t.match(text, /^animal_store_requests_in_flight 1$/m)
  const { length: count } = service.log.filter(({ reason }) => reason === 'overload')
  t.match(text, new RegExp(`^animal_store_overload_refusals_total ${count}$`, 'm'))

  held.release()
  t.match(await waiting, { status: 201 })
  t.match(await call('GET', '/pets'), { status: 200 })
  const [row] = await service.sql`select count(*)::int as count from pets`
  t.equal(row?.count, 1, 'the refused requests were not done')
})

t.test('no more than WORK_MAX handlers run when bodies arrive together', async (t) => {
  const held = hold('createPet')
  const service = await startService(t, { env: { WORK_MAX: '2' }, handlers: held.handlers })
  await service.call('GET', '/pets') // caches the key
  let received = 0
  service.app.server.on('request', () => received++)
  const sockets = await Promise.all([1, 2, 3, 4, 5].map(() => beginPost(service.origin, service.auth)))
  await until(() => received === sockets.length)
  await service.call('GET', '/pets') // by now, all of them have been admitted
  const rest = JSON.stringify(pet)
    .slice(1)
    .padEnd(bodyLength - 1)
  const responses = sockets.map(async (socket) => {
    socket.write(rest)
    const [response] = await once(socket, 'data')
    const status = Number(String(response).slice(9, 12))
    if (status === 503) held.release()
    return status
  })
  t.strictSame((await Promise.all(responses)).sort(), [201, 201, 503, 503, 503])
  for (const socket of sockets) socket.destroy()
})

// Otherwise clients that send again at once would keep the event loop in its poll phase.
t.test('responses are sent after the event loop has read all sockets', async (t) => {
  const held = hold('createPet')
  const service = await startService(t, { env: { WORK_MAX: '1' }, handlers: held.handlers })
  const isReading = new Set<ServerResponse>()
  service.app.server.prependListener('request', (_request, response: ServerResponse) => {
    isReading.add(response)
    setImmediate(() => isReading.delete(response))
    response.once('finish', () => t.notOk(isReading.has(response), `${response.statusCode}`))
  })
  t.match(await send(`${service.base}/pets`), { status: 401 })
  t.match(await send(`${service.base}/%zz`), { status: 400 })
  t.match(await send(`${service.base}/nothing`), { status: 404 })
  t.match(await send(`${service.origin}/healthz`), { status: 200 })
  const [waiting] = [service.call('POST', '/pets', { body: pet }), await held.waits(1)]
  t.match(await service.call('GET', '/pets'), { status: 503 })
  held.release()
  t.match(await waiting, { status: 201 })
})

t.test('a refusal for overload has the headers of any response', async (t) => {
  stopClocks(t) // the reset is a whole second, and time could pass it
  const held = hold('createPet')
  const service = await startService(t, { env: { WORK_MAX: '1' }, handlers: held.handlers })
  const limited = await service.createKey({ plan: fixedPlan.name, perMinute: null, perDay: null })
  const headers = { authorization: `Bearer ${limited.key}` }
  const before = await service.call('GET', '/pets', { headers })
  const [waiting] = [service.call('POST', '/pets', { body: pet }), await held.waits(1)]

  const refused = await service.call('GET', '/pets/1', { headers: { ...headers, 'x-request-id': 'mine' } })
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('x-request-id'), 'mine')
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    t.equal(refused.headers.get(name), before.headers.get(name), name)
  t.match(refused.headers.get('deprecation'), /^@/)
  t.equal(refused.headers.get('sunset'), deprecation.sunset)
  t.match(refused.headers.get('link'), /successor-version/)

  await t.test('with and without a key, and however the path is encoded', async (t) => {
    const { perMinute } = contract.rateLimits.anonymous
    for (const path of [
      `${prefix}/pets`,
      `${prefixEncoded}/pets?limit=abc`,
      `${prefix}/pet%73`,
      `${prefix}/pets/1`,
    ]) {
      const response = await send(`${service.origin}${path}`)
      t.match(response, { status: 503, body: { code: 'unavailable' } }, path)
      t.equal(response.headers.get('x-ratelimit-limit'), String(perMinute))
      t.equal(response.headers.get('x-ratelimit-remaining'), String(perMinute))
    }
    t.match(await service.call('GET', '/nothing'), { status: 404 }, 'a path without an operation is not shed')
  })

  held.release()
  t.equal((await waiting).status, 201)
  const after = await service.call('GET', '/pets', { headers })
  t.equal(
    Number(after.headers.get('x-ratelimit-remaining')),
    Number(before.headers.get('x-ratelimit-remaining')) - 1,
  )
})

t.test('requests whose keys have to be looked up are shed, too', async (t) => {
  const service = await startService(t, { env: { WORK_MAX: '2' } })
  const keys = await Promise.all([1, 2, 3].map(() => service.createKey()))
  const held = await holdKeys(service.sql)
  const waiting = keys.map(({ key }) =>
    service.call('GET', '/pets', { headers: { authorization: `Bearer ${key}` } }),
  )
  t.match(await Promise.race(waiting), { status: 503, body: { code: 'unavailable' } })
  const lines = service.log.filter(({ status }) => status === 503)
  t.match(lines[0], { reason: 'overload', keyId: undefined })
  await held.release()
  const responses = await Promise.all(waiting)
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 200, 503])
})

t.test('requests whose connections are reset release their slots, and are logged and counted', async (t) => {
  const max = 4
  const env = { WORK_MAX: String(max), METRICS_PORT: '9464' }
  const held = hold('listPets')
  const service = await startService(t, { env, handlers: held.handlers })
  await service.call('GET', '/pets/1') // caches the key
  const { port, hostname } = new URL(service.origin)
  const request = (limit: number) =>
    `GET ${prefix}/pets?limit=${limit} HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n\r\n`
  const waiting = held.waits(max)
  // Two pipelined requests on each connection: the second waits for the first.
  const sockets = await Promise.all(
    Array.from({ length: max }, async (_, i) => {
      const socket = net.connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.write(request(2 * i + 1) + request(2 * i + 2))
      return socket
    }),
  )
  await waiting
  const metrics = service.app.metricsServer as Server
  await once(metrics.listen(0, '127.0.0.1'), 'listening')
  const { port: metricsPort } = metrics.address() as net.AddressInfo
  const scrape = async () => (await send(`http://127.0.0.1:${metricsPort}/metrics`)).text
  for (const socket of sockets) socket.resetAndDestroy()
  const aborted = () => service.log.filter(({ msg }) => msg === 'request aborted')
  await until(() => aborted().length === max)
  t.match(aborted()[0], { method: 'GET', route: `${prefix}/pets`, keyId: String })
  t.equal((await service.call('GET', '/pets/1')).status, 503, 'their handlers still run')
  held.release()
  await until(async () => (await service.call('GET', '/pets/1')).status === 404)

  const text = await scrape()
  t.match(text, /^animal_store_requests_in_flight 0$/m)
  t.match(
    text,
    new RegExp(`^animal_store_request_seconds_count{operation="listPets",status="aborted"} ${max}$`, 'm'),
  )
})

const bodyLength = 40

// Begins a POST, and sends only the first byte of its body.
function beginPost(origin: string, auth: Record<string, string>): Promise<net.Socket> {
  const { port, hostname } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  const headers = Object.entries({ Host: 'localhost', 'Content-Type': 'application/json', ...auth })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return new Promise((resolve) => {
    socket.write(`POST ${prefix}/pets HTTP/1.1\r\n${lines}Content-Length: ${bodyLength}\r\n\r\n{`, () =>
      resolve(socket),
    )
  })
}
