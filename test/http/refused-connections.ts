import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { RefusedConnections } from 'contract-service/internal/http/refused-connections'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { send, startService, testConfig } from '../fixtures/service.js'

const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

// Opens a connection from a local address. Returns the socket and the response's first line, empty if closed.
async function ask(
  t: Test,
  port: number,
  localAddress: string,
): Promise<{ socket: Socket; response: string }> {
  const host = localAddress.includes(':') ? '::1' : '127.0.0.1'
  const socket = net.connect({ port, host, localAddress }).setEncoding('utf8')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}) // it may be reset
  socket.write(request)
  const response = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])])
  return { socket, response: String(response[0]).split('\r\n')[0] ?? '' }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port
const ok = 'HTTP/1.1 200 OK'

t.test(
  'connections beyond the limit of an address are closed, and those of other addresses served',
  async (t) => {
    const env = { CONNECTIONS_PER_ADDRESS_MAX: '2', METRICS_PORT: '9464' }
    const { app, log } = await startService(t, { env })
    const port = portOf(app.server)
    const [first] = [await ask(t, port, '127.0.0.1'), await ask(t, port, '127.0.0.1')]
    for (let i = 0; i < 3; i++) t.equal((await ask(t, port, '127.0.0.1')).response, '', 'the third is closed')
    t.equal((await ask(t, port, '127.0.0.2')).response, ok, 'another address is not bounded by it')

    first?.socket.write(request)
    t.equal((await once(first?.socket as Socket, 'data'))[0].split('\r\n')[0], ok, 'those it has go on')
    first?.socket.destroy()
    await until(async () => (await ask(t, port, '127.0.0.1')).response === ok)
    t.equal((await ask(t, port, '127.0.0.1')).response, '', 'one that ends makes place for one')

    const lines = log.filter(({ msg }) => String(msg).startsWith('connections refused'))
    t.match(
      lines,
      [{ level: 40, refused: 1, msg: /CONNECTIONS_PER_ADDRESS_MAX/ }],
      'which the log tells once',
    )
    const metrics = app.metricsServer as Server
    await once(metrics.listen(0, '127.0.0.1'), 'listening')
    const { text } = await send(`http://127.0.0.1:${portOf(metrics)}/metrics`)
    const [, refused] =
      /^animal_store_refused_connections_total{reason="connections_per_address_max"} (\d+)$/m.exec(text) ?? []
    t.ok(Number(refused) >= 4, `${refused} are counted`)
    t.match(text, /^animal_store_refused_connections_total{reason="connections_max"} 0$/m)
  },
)

t.test('without CONNECTIONS_PER_ADDRESS_MAX an address is not limited', async (t) => {
  const { app } = await startService(t)
  for (let i = 0; i < 50; i++) t.equal((await ask(t, portOf(app.server), '127.0.0.1')).response, ok)
})

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
const skip = !hasIPv6 && 'there is no IPv6'

t.test('on a dual-stack socket each IPv4 address has its own limit', { skip }, async (t) => {
  const server = createServer((_, response) => response.end())
  const refused = new RefusedConnections(
    server,
    testConfig({ CONNECTIONS_PER_ADDRESS_MAX: '1' }),
    (await startService(t)).app.log,
  )
  await once(server.listen(0, '::'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const addresses = ['127.0.0.1', '127.0.0.2', '::1', '127.0.0.1', '::1']
  const responses: string[] = []
  for (const address of addresses) responses.push((await ask(t, portOf(server), address)).response)
  t.strictSame(responses, [ok, ok, ok, '', ''])
  t.equal(refused.count('connections_per_address_max'), 2)
})
