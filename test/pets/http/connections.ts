import { once } from 'node:events'
import net from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { closeUnusedConnections, unusedMs } from '../../../src/http/connections.js'

t.test('a shutdown closes connections that sent nothing, and none whose bytes wait to be read', async (t) => {
  const open = new Set<net.Socket>()
  const server = net.createServer((socket) => void open.add(socket.resume()))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const clients = [net.connect(port), net.connect(port)] as const
  while (open.size < clients.length) await once(server, 'connection')
  const ended = clients.map((socket) => once(socket.resume(), 'close'))

  const closing = closeUnusedConnections(open)
  t.teardown(() => closing.stop())
  await setTimeout(unusedMs) // both have been unused for that time
  await setImmediate()
  clients[0].write('GET')
  const until = performance.now() + 2 * unusedMs
  while (performance.now() < until); // busy
  await ended[1]
  t.equal(clients[0].destroyed, false)
  clients[0].destroy()
})
