// A thread connects and sends requests while this process is busy. So the kernel has all of them when the
// event loop begins to read.

import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { block } from 'contract-testing/clocks'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { acceptFirst, acceptTurnsMax } from '../../src/http/accept-first.js'
import { acceptAll } from '../../src/http/connections.js'
import { Lifetimes } from '../../src/http/lifetime.js'
import { Streams } from '../../src/http/streams.js'

// Connects, sends a request on each connection, and collects everything until the connection closes.
const callers = `
const { workerData: { port, count, shared }, parentPort } = require('node:worker_threads')
const net = require('node:net')
let sent = 0
const sockets = Array.from({ length: count }, () => net.connect(port, '127.0.0.1'))
const responses = sockets.map((socket) => new Promise((resolve) => {
  let text = ''
  socket.on('data', (bytes) => { text += bytes })
  socket.on('error', (error) => { text += error.code })
  socket.on('close', () => resolve(text.split('\\r\\n')[0]))
  socket.on('connect', () => socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n', () => {
    if (++sent < count) return
    Atomics.store(shared, 0, 1)
    Atomics.notify(shared, 0)
  }))
}))
Promise.all(responses).then((lines) => parentPort.postMessage(lines))
`

/**
 * Returns when all callers have connected and sent their requests. Resolves with the first lines of the
 * responses.
 */
function meanwhile(app: FastifyInstance, count: number): Promise<string[]> {
  const { port } = app.server.address() as AddressInfo
  const shared = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(callers, { eval: true, workerData: { port, count, shared } })
  const lines = once(worker, 'message').then(([each]) => each)
  Atomics.wait(shared, 0, 0)
  return lines
}

/** Starts a server on which each request records how many connections were accepted when it began. */
async function start(t: Test) {
  const streams = new Streams(1_000)
  const timeouts = { requestTimeoutMs: 60_000, handlerTimeoutMs: 60_000, statementTimeoutMs: 60_000 }
  const lifetimes = new Lifetimes({ usual: { ...timeouts, uploadRateMin: 1 } }, streams)
  const app = Fastify({ return503OnClosing: false })
  lifetimes.add(app)
  const arrivals = acceptFirst(app)
  app.addHook('preClose', () => acceptAll(app.server))
  const accepted = { count: 0, atStart: [] as number[] }
  const note = () => {
    accepted.count++
  }
  app.server.on('connection', note)
  app.server.on('drop', note)
  app.get('/', async () => {
    accepted.atStart.push(accepted.count)
    return ''
  })
  app.server.maxConnections = 1_000
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  return { app, accepted, arrivals, lifetimes }
}

const served = 'HTTP/1.1 200 OK'

t.test(
  'callers who connected while the process was busy are all accepted before one is served',
  async (t) => {
    const { app, accepted } = await start(t)
    t.strictSame(await meanwhile(app, 100), Array(100).fill(served))
    t.strictSame(accepted.atStart, Array(100).fill(100))
  },
)

t.test('of more callers, those who were accepted are served after a number of turns', async (t) => {
  const { app, accepted } = await start(t)
  const count = 2.5 * acceptTurnsMax
  t.strictSame(await meanwhile(app, count), Array(count).fill(served))
  const [first, last] = [accepted.atStart.at(0), accepted.atStart.at(-1)]
  t.equal(first, acceptTurnsMax + 1, 'a request waits for so many turns, and starts in the next')
  t.equal(last, count)
  const turns = new Set(accepted.atStart)
  t.equal(turns.size, 3, `requests start in ${[...turns]}, none in a turn of its own`)
})

t.test('a caller who comes alone is served in the turn in which its request is read', async (t) => {
  const { app, accepted } = await start(t)
  for (const count of [1, 2, 3]) {
    t.strictSame(await meanwhile(app, 1), [served])
    t.equal(accepted.atStart.at(-1), count)
  }
})

t.test('callers over CONNECTIONS_MAX are refused before a request starts', async (t) => {
  const { app, accepted } = await start(t)
  app.server.maxConnections = 10
  const lines = await meanwhile(app, 60)
  t.equal(lines.filter((line) => line === served).length, 10)
  t.strictSame(accepted.atStart, Array(10).fill(60))
})

t.test('a client that leaves while its request waits for callers is noticed', async (t) => {
  const { app, accepted, lifetimes } = await start(t)
  const ends: boolean[] = []
  lifetimes.onEnd((_request, _reply, isAborted) => ends.push(isAborted))
  // Destroys a connection when the first request has been read, while other callers are still being accepted.
  app.server.once('connection', (socket) => {
    app.server.on('connection', () => accepted.count === 50 && socket.destroy())
  })
  const lines = await meanwhile(app, 100)
  t.equal(lines.filter((line) => line === served).length, 99)
  t.equal(accepted.atStart.length, 100)
  t.strictSame(
    ends.filter((isAborted) => isAborted),
    [true],
  )
  t.equal(ends.length, 100, 'each has one end')
})

t.test('a close accepts and serves all whose connections the kernel has made', async (t) => {
  const { app } = await start(t)
  const count = 2.5 * acceptTurnsMax
  const lines = meanwhile(app, count)
  await app.close()
  t.strictSame(await lines, Array(count).fill(served))
})

t.test('also if the machine is so busy that it takes seconds', async (t) => {
  const { app } = await start(t)
  app.server.on('connection', () => block(50))
  const lines = meanwhile(app, 30)
  await app.close()
  t.strictSame(await lines, Array(30).fill(served))
})

t.test('a flood of connections does not keep a server from closing', async (t) => {
  for (const event of ['connection', 'drop']) {
    const server = http.createServer()
    server.maxConnections = 100
    let arrived = 0
    const arrive = () => {
      arrived++
      server.emit(event, new Socket())
      next = setImmediate(arrive)
    }
    let next = setImmediate(arrive)
    await acceptAll(server)
    clearImmediate(next)
    t.ok(arrived > 100 && arrived < 110, `${event}: ${arrived}`)
  }
})

t.test('how long a burst of callers took to be accepted is told once, when it has ended', async (t) => {
  const { app, accepted, arrivals } = await start(t)
  const bursts: { readonly ms: number; readonly count: number }[] = []
  arrivals.onBurst((ms) => bursts.push({ ms, count: accepted.count }))
  await meanwhile(app, 2 * acceptTurnsMax)
  t.strictSame(
    bursts.map(({ count }) => count),
    [2 * acceptTurnsMax],
  )
  t.ok((bursts[0]?.ms ?? 0) > 0)
  await meanwhile(app, 1)
  t.strictSame(
    bursts[1],
    { ms: 0, count: 2 * acceptTurnsMax + 1 },
    'a caller who comes alone is a burst of no time',
  )
})
