import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import t from 'tap'
import { holdInserts } from './fixtures/locks.js'
import { send, startService } from './fixtures/service.js'

const pet = { name: 'Rex', categoryId: 1 }

t.test('what comes beyond WORK_MAX is refused at once, and nothing else is', async (t) => {
  const service = await startService(t, { env: { WORK_MAX: '1', METRICS_PORT: '9464' } })
  const { call, origin, base, auth } = service

  // Bodies that do not come take up no place.
  const slow = await Promise.all([1, 2, 3].map(() => beginPost(service.origin, auth)))
  t.match(await call('GET', '/pets'), { status: 200 })
  for (const socket of slow) socket.destroy()

  const held = await holdInserts(service.sql)
  const waiting = call('POST', '/pets', { body: pet })
  await untilRefused(() => call('GET', '/pets'))

  const refused = await call('GET', '/pets')
  t.match(refused, {
    status: 503,
    body: { code: 'unavailable', message: 'Service Unavailable', status: 503 },
  })
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal(refused.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(refused.headers.get('cache-control'), 'no-store')
  const lines = service.log.filter(({ requestId }) => requestId === refused.headers.get('x-request-id'))
  t.match(lines, [{ level: 40, method: 'GET', status: 503, reason: 'overload', msg: 'request refused' }])
  t.match(await call('POST', '/pets', { body: pet }), { status: 503 })
  t.match(await send(`${base}/pets`, 'HEAD', auth), { status: 503, text: '' })
  t.match(await send(`${origin}/healthz`), { status: 200 })
  t.match(await send(`${origin}/openapi.json`), { status: 200 })

  const metrics = service.app.metricsServer as Server
  await once(metrics.listen(0, '127.0.0.1'), 'listening')
  const { port } = metrics.address() as net.AddressInfo
  const { text } = await send(`http://127.0.0.1:${port}/metrics`)
  t.match(text, /^animal_store_work 1$/m)
  const { length: count } = service.log.filter(({ reason }) => reason === 'overload')
  t.match(text, new RegExp(`^animal_store_overload_refusals_total ${count}$`, 'm'))

  await held.release()
  t.match(await waiting, { status: 201 })
  t.match(await call('GET', '/pets'), { status: 200 })
  const [row] = await service.sql`select count(*)::int as count from pets`
  t.equal(row?.count, 1, 'what was refused was not done')
})

// The place is taken as soon as the one that waits has passed the hooks before its handler.
async function untilRefused(ask: () => Promise<{ status: number }>): Promise<void> {
  while ((await ask()).status !== 503);
}

function beginPost(origin: string, auth: Record<string, string>): Promise<net.Socket> {
  const { port, hostname } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  const headers = Object.entries({ Host: 'localhost', 'Content-Type': 'application/json', ...auth })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return new Promise((resolve) => {
    socket.write(`POST /v1/pets HTTP/1.1\r\n${lines}Content-Length: 40\r\n\r\n{`, () => resolve(socket))
  })
}
