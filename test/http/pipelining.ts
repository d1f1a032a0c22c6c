import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import net from 'node:net'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { handlers } from '../../generated/handlers.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { prefix } from '../fixtures/facts.js'
import { send, startService } from '../fixtures/service.js'

let released = Promise.resolve()
const createPet: Handlers['createPet'] = async (...args) => {
  await released
  return handlers.createPet(...args)
}
const service = await startService(t, { handlers: { ...handlers, createPet } })
const { server } = service.app
server.setMaxListeners(0) // one for each connection

// Opens a connection; returns both ends, the bytes received, and the maximum number of requests in flight on
// it.
async function connect() {
  const accepted = once(server, 'connection')
  const client = net.connect(Number(new URL(service.origin).port), '127.0.0.1').setEncoding('latin1')
  const [socket] = (await accepted) as [net.Socket]
  const connection = { client, socket, received: '', inFlight: 0, most: 0, requests: 0 }
  const note = (request: IncomingMessage, response: ServerResponse) => {
    if (request.socket !== socket) return
    connection.requests++
    connection.most = Math.max(connection.most, ++connection.inFlight)
    response.once('close', () => connection.inFlight--)
  }
  server.on('request', note)
  socket.once('close', () => server.off('request', note))
  client.on('data', (text) => {
    connection.received += text
  })
  client.on('error', () => {}) // the server may have stopped reading
  t.teardown(() => client.destroy())
  return connection
}

const statusesOf = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

const auth = `Authorization: ${service.auth.authorization}\r\n`
const head = `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${auth}`
// Bodies with empty lines, where a header section may seem to end.
const spaced = '{"name":"Rex",\r\n\r\n"categoryId":1}\r\n\r\n'
const chunked = `${spaced.length.toString(16)}\r\n${spaced}\r\n0\r\n\r\n`
const get = `GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n`
const withLength = `${head}Content-Length: ${spaced.length}\r\n\r\n${spaced}`
const withChunks = `${head}Transfer-Encoding: chunked\r\n\r\n${chunked}`

t.test('one pipelined request of a connection is in flight', async (t) => {
  await service.call('GET', '/pets') // caches the key
  for (const [title, request, status] of [
    ['with a body of known length', withLength, 201],
    ['with a chunked body', withChunks, 201],
    ['without a body', get, 404],
  ] as const) {
    let release = () => {}
    released = new Promise((resolve) => {
      release = resolve
    })
    const connection = await connect()
    connection.client.write(request.repeat(50))
    if (status === 201) {
      await until(() => connection.requests === 1)
      await service.call('GET', '/pets') // by now, any request that is not held back has been received
      t.equal(connection.requests, 1, title)
    }
    release()
    await until(() => statusesOf(connection.received).length === 50)
    t.strictSame(new Set(statusesOf(connection.received)), new Set([status]))
    t.equal(connection.most, 1, title)
  }
})

t.test('a pipeline is read correctly however it is cut', async (t) => {
  const connection = await connect()
  const health = get.replace('nothing', 'healthz')
  const pipeline = Buffer.from(
    `${withLength}${health}${withChunks}${health}`.replaceAll(`${prefix}/pets`, '/nothing'),
  )
  for (let at = 1; at < pipeline.length; at++)
    for (const part of [pipeline.subarray(0, at), pipeline.subarray(at)]) connection.socket.push(part)
  for (const byte of pipeline) connection.socket.push(Buffer.of(byte))
  const expected = Array(pipeline.length).fill([404, 200, 404, 200]).flat()
  await until(() => statusesOf(connection.received).length === expected.length)
  t.strictSame(statusesOf(connection.received), expected)
  t.equal(connection.most, 1)
})

t.test('a client that reads no responses does not have more requests in flight', async (t) => {
  const connection = await connect()
  connection.client.pause()
  connection.client.write('GET /docs/scalar.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
  await until(() => connection.socket.writableLength > 0)
  await send(`${service.origin}/docs/scalar.js`)
  t.equal(connection.most, 1)
  t.ok(
    connection.requests < 20,
    `${connection.requests} were received, including those with responses in buffers`,
  )
})

t.test('a request with Upgrade is one like any other, and so are those behind it', async (t) => {
  const upgrade = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const posted = head.replace('\r\n', '\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n')
  for (const [request, status] of [
    [upgrade, 404],
    [`${posted}Content-Length: ${spaced.length}\r\n\r\n${spaced}`, 201],
    [`${posted}Transfer-Encoding: chunked\r\n\r\n${chunked}`, 201],
  ] as const) {
    const connection = await connect()
    connection.client.write(get + request + get.repeat(20))
    await until(() => statusesOf(connection.received).length === 22)
    t.strictSame(statusesOf(connection.received), [404, status, ...Array(20).fill(404)])
    t.equal(connection.most, 1)
  }
})

const oneByteChunks = (text: string) => [...text].map((byte) => `1\r\n${byte}\r\n`).join('')
const manyChunks = `${oneByteChunks(spaced.padEnd(5_000))}0\r\n\r\n`
// A chunk has two lines.
const chunksPerTurn = 64

// Returns the maximum growth of a number in one turn of the event loop, until it is stopped.
function watchTurns(now: () => number) {
  const watched = { most: 0, stop: () => clearImmediate(next) }
  let before = now()
  const watch = () => {
    watched.most = Math.max(watched.most, now() - before)
    before = now()
    next = setImmediate(watch)
  }
  let next = setImmediate(watch)
  return watched
}

// Counts the chunks that Node's parser finds in bodies.
function countChunks(t: Test) {
  const found = { chunks: 0 }
  const count = (request: IncomingMessage) => {
    const push = request.push.bind(request)
    request.push = (chunk: Buffer | null) => {
      if (chunk !== null) found.chunks++
      return push(chunk)
    }
  }
  server.prependListener('request', count)
  t.teardown(() => server.off('request', count))
  return found
}

t.test('a body in chunks of one byte is parsed in turns, and whole', async (t) => {
  const found = countChunks(t)
  const connection = await connect()
  const turns = watchTurns(() => found.chunks)
  connection.client.write(`${head}Transfer-Encoding: chunked\r\n\r\n${manyChunks}`)
  await until(() => connection.received.endsWith('}'))
  turns.stop()
  t.strictSame(statusesOf(connection.received), [201])
  t.equal(found.chunks, 5_000)
  t.ok(turns.most <= 2 * chunksPerTurn, `${turns.most} in one turn`) // the last of one, the first of the next
})

t.test('the body of a refused request is not parsed', async (t) => {
  const found = countChunks(t)
  const refused: [status: number, head: string][] = [
    [401, head.replace(auth, '')],
    [404, head.replace('/pets', '/nothing')],
    [405, head.replace('POST', 'PUT')],
    [415, head.replace('/json', '/xml')],
  ]
  for (const [status, line] of refused) {
    found.chunks = 0
    const connection = await connect()
    connection.client.write(`${line}Transfer-Encoding: chunked\r\n\r\n${manyChunks}`)
    await once(connection.client, 'end')
    connection.client.destroy()
    t.match(connection.received, new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n[^]*}$`, 'i'))
    t.ok(found.chunks <= chunksPerTurn, `${status}: ${found.chunks} chunks`)
  }
})

t.test('a short body in chunks keeps the connection of a refused request', async () => {
  const connection = await connect()
  connection.client.write(`${head.replace(auth, '')}Transfer-Encoding: chunked\r\n\r\n${chunked}${get}`)
  await until(() => statusesOf(connection.received).length === 2)
})

t.test('few packets wait behind a request in flight, and behind a body that nothing reads', async (t) => {
  const connection = await connect()
  let release = () => {}
  released = new Promise((resolve) => {
    release = resolve
  })
  connection.client.write(withLength)
  await until(() => connection.requests === 1)
  const body = new Promise<number>((resolve) => {
    server.prependOnceListener('request', (request: IncomingMessage) => {
      let count = 1
      while (request.push(Buffer.of(0))) count++
      resolve(count)
    })
  })
  const other = await connect()
  other.client.write(`${head.replace(auth, '')}Content-Length: 60000\r\n\r\n`)
  let packets = 1
  while (connection.socket.push(Buffer.of(0))) packets++
  t.ok(packets <= 1_024, `${packets} packets`)
  t.ok((await body) <= 1_024, 'and as many of a body')
  release()
})

t.test('what follows the last response is discarded in turns', async (t) => {
  const connection = await connect()
  connection.client.write(`${head.replace(auth, '')}Content-Length: 100000000\r\n\r\n`)
  const turns = watchTurns(() => connection.socket.bytesRead)
  connection.client.write(Buffer.alloc(20_000_000))
  await once(connection.client, 'end')
  await once(connection.socket, 'close')
  turns.stop()
  t.strictSame(statusesOf(connection.received), [401])
  t.ok(connection.socket.bytesRead > 1_000_000, 'it was read')
  t.ok(turns.most <= 4 * 65_536, `${turns.most} bytes in one turn`)
})

t.test('empty lines before a request are parsed in turns', async (t) => {
  const connection = await connect()
  connection.socket.push('\r\n'.repeat(10_000))
  t.ok(connection.socket.readableLength > 19_000)
  connection.client.write(get)
  await until(() => statusesOf(connection.received).length === 1)
})
