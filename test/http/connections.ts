import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { beginMs, closeWithoutRequest } from 'contract-service/internal/http/connections'
import { block } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import t from 'tap'
import { prefix } from '../fixtures/facts.js'
import { type Service, startService } from '../fixtures/service.js'

// Opens a connection, and returns both of its ends.
async function connect({ app, origin }: Service): Promise<[client: net.Socket, accepted: net.Socket]> {
  const accepted = once(app.server, 'connection')
  const client = net.connect(Number(new URL(origin).port), '127.0.0.1')
  const [socket] = await accepted
  return [client, socket]
}

const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
// Longer than a close takes on a busy machine, and shorter than any time limit of a request.
const closeMaxMs = 9_000

t.test('a close does not wait for connections on which no request begins', async (t) => {
  const parts = ['', 'G', '\r\n', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: ']
  for (const before of ['', request]) {
    for (const part of parts) {
      const service = await startService(t)
      const [client, accepted] = await connect(service)
      if (before !== '') {
        client.write(before)
        await once(client, 'data')
      }
      client.write(part)
      await until(() => accepted.bytesRead === before.length + part.length)
      const ended = once(client.resume(), 'close')
      const began = performance.now()
      await service.app.close()
      await ended
      const ms = performance.now() - began
      const title = `${JSON.stringify(part)} ${before === '' ? 'at first' : 'after a response'}`
      t.ok(ms < closeMaxMs, `${title}: ${Math.round(ms)} ms`)
    }
  }
})

t.test('a close serves a request that was sent before its client knew', async (t) => {
  for (const before of ['', request]) {
    const service = await startService(t)
    const [client] = await connect(service)
    if (before !== '') {
      client.write(before)
      await once(client, 'data')
    }
    const closed = service.app.close()
    await until(() => !service.app.server.listening)
    client.write(request)
    t.match(await text(client), /^HTTP\/1.1 200 [\s\S]*\r\nconnection: close\r\n/i)
    await closed
  }
})

t.test('a close accepts the connections that the kernel has made, and serves them', async (t) => {
  const { app, origin } = await startService(t)
  const port = Number(new URL(origin).port)
  const clients = Array.from({ length: 50 }, () => net.connect(port, '127.0.0.1'))
  for (const client of clients) client.write(request)
  await setImmediate() // Node connects only after the code that runs, and has accepted at most one
  const closed = app.close()
  const responses = await Promise.all(clients.map((client) => text(client).catch((error) => error.code)))
  t.match(responses, Array(clients.length).fill(/^HTTP\/1.1 200 /))
  await closed
})

t.test('a request that is still arriving while the server closes is done, or gets 408', async (t) => {
  const body = '{"name":"Rex","categoryId":1}'
  for (const [rest, status] of [
    [body.slice(5), 201],
    ['', 408],
  ] as const) {
    const service = await startService(t, { env: { REQUEST_TIMEOUT_MS: status === 408 ? '300' : '120000' } })
    const [socket] = await connect(service)
    const received = text(socket)
    const lines = [
      'Host: x',
      `Authorization: ${service.auth.authorization}`,
      'Content-Type: application/json',
    ]
    const arrived = once(service.app.server, 'request')
    socket.write(`POST ${prefix}/pets HTTP/1.1\r\n${lines.join('\r\n')}\r\n`)
    socket.write(`Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
    await arrived
    const closed = service.app.close()
    await setTimeout(3 * beginMs) // longer than a connection without a request stays open
    socket.write(rest)
    t.match(await received, new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n`, 'i'))
    await closed
  }
})

t.test('a close spares a request that waits to be read by a busy process', async (t) => {
  const server = http.createServer((_request, response) => response.end('served'))
  const open = new Set<net.Socket>()
  server.on('connection', (socket) => open.add(socket))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const clients = [net.connect(port), net.connect(port)] as const
  while (open.size < clients.length) await once(server, 'connection')
  const ended = once(clients[1].resume(), 'close')

  const closing = closeWithoutRequest(open)
  t.teardown(() => closing.stop())
  await setImmediate()
  clients[0].write(request)
  block(2 * beginMs)
  const [response] = await once(clients[0], 'data')
  t.match(String(response), /^HTTP\/1.1 200 /)
  await ended
  clients[0].destroy()
})
