import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import net from 'node:net'
import { Readable } from 'node:stream'
import { cutResponse, EndlessBody, mayStream } from 'contract-engine'
import {
  anyError,
  buildEngine,
  contractOf,
  contractWith,
  type Engine,
  type Handler,
  startEngine,
} from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import { until, untilStill } from 'contract-testing/until'
import t, { type Test } from 'tap'

const file = { description: 'A file.', content: { 'application/octet-stream': {} } }
const contract = await contractWith({
  download: { method: 'get', responses: { 200: file, 304: { description: 'The same.' }, default: anyError } },
})
const keyed = await contractOf({
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/keyed': {
      post: {
        operationId: 'keyed',
        'x-idempotent': true,
        security: [{ key: [] }],
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        responses: { 200: file, 409: { description: 'In use.' }, 422: { description: 'Used.' } },
      },
    },
  },
})

function start(t: Test, body: () => Readable): Promise<Engine> {
  return startEngine(t, contract, { download: async () => ({ status: 200, body: body() }) })
}

t.test('a handler may return a stream of what is bytes or items, and of nothing else', async (t) => {
  const mayStreamOf = async (content: object) => {
    const found = await contractWith({
      get: { method: 'get', responses: { 200: { description: 'It.', content } } },
    })
    return [...found.operations.values()].map(mayStream).join()
  }
  const row = { type: 'object', properties: { id: { type: 'integer' } } }
  const table = { schema: { type: 'array', items: row } }
  t.equal(await mayStreamOf({ 'application/octet-stream': {} }), 'true')
  t.equal(await mayStreamOf({ 'application/jsonl': { schema: row } }), 'true')
  t.equal(await mayStreamOf({ 'text/csv': table, 'application/json': table, 'text/plain': {} }), 'false')
  t.equal([...keyed.operations.values()].map(mayStream).join(), 'false', 'what is stored is none')
})

const get = (version = '1.1', more = '') => `GET /download HTTP/${version}\r\nHost: x\r\n${more}\r\n`
const closing = 'Connection: close\r\n'

t.test('a stream is sent in chunks, and its connection serves the next request', async (t) => {
  const { origin } = await start(t, () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]))
  const received = await sendRaw(origin, get(), get('1.1', closing))
  t.equal(received.match(/HTTP\/1\.1 200 OK/g)?.length, 2)
  t.match(received, /content-type: application\/octet-stream\r\n/i)
  t.match(received, /transfer-encoding: chunked\r\n/i)
  t.equal(received.match(/\r\n\r\n(2\r\nab\r\n2\r\ncd|4\r\nabcd)\r\n0\r\n\r\n/g)?.length, 2)
})

t.test('a client of HTTP/1.0 gets no chunks: the connection ends with the body', async (t) => {
  const { origin } = await start(t, () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]))
  const received = await sendRaw(origin, get('1.0'))
  t.notMatch(received, /transfer-encoding/i)
  t.match(received, /\r\n\r\nabcd$/)
})

t.test('an empty stream is an empty body', async (t) => {
  const { call } = await start(t, () => Readable.from([]))
  t.match(await call('GET', '/download'), { status: 200, text: '' })
})

t.test('HEAD does not begin the stream, nor does it name a length', async (t) => {
  let isRead = false
  const bodies: Readable[] = []
  const { origin } = await start(t, () => {
    const body = new Readable({
      read() {
        isRead = true
      },
    })
    bodies.push(body)
    return body
  })
  const received = await sendRaw(origin, get('1.1', closing).replace('GET', 'HEAD'))
  t.match(received, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(received, /content-type: application\/octet-stream\r\n/i)
  t.notMatch(received, /content-length/i)
  t.ok(received.endsWith('\r\n\r\n'))
  t.notOk(isRead)
  t.ok(bodies.every(({ destroyed }) => destroyed))
})

t.test('a stream has no entity tag', async (t) => {
  const { call } = await start(t, () => Readable.from(['ab']))
  const first = await call('GET', '/download')
  t.notOk(first.headers.has('etag'))
  t.match(await call('GET', '/download', { headers: { 'if-none-match': '*' } }), { status: 200, text: 'ab' })
})

t.test('a stream that fails before its first bytes is a 500 without details', async (t) => {
  const { call, log } = await start(t, () => createReadStream('/there/is/no/such/file'))
  t.match(await call('GET', '/download'), { status: 500, body: { code: 'internal_error' } })
  t.match(log, [{ level: 50, msg: 'request failed', err: { code: 'ENOENT' } }])
})

t.test('one that was destroyed before it was returned is a 500, too', async (t) => {
  const { call } = await start(t, () => new Readable().destroy(new Error('too early')))
  t.match(await call('GET', '/download'), { status: 500 })
  const { call: other, log } = await start(t, () => new Readable().destroy())
  t.match(await other('GET', '/download'), { status: 500 })
  t.match(log, [{ err: { message: /destroyed/ } }])
})

async function* late() {
  yield 'ab'
  await new Promise((resolve) => setTimeout(resolve, 50))
  yield { id: 1 }
}

// Fails only after the client has read the bytes: libuv would report a reset right after them as an end.
async function* failing() {
  yield Buffer.from('ab')
  await new Promise((resolve) => setTimeout(resolve, 50))
  throw new Error('the disk is gone')
}

t.test('one that fails midway is cut, and its operation and cause are logged', async (t) => {
  const { origin, log } = await start(t, () => Readable.from(failing()))
  const cut = await received(origin, get())
  t.match(cut.text, /\r\n2\r\nab\r\n$/)
  t.match(log[0], { level: 50, msg: 'response failed', operation: 'download' })
  t.match(log[0], { err: { message: 'the disk is gone' } })
  const old = await received(origin, get('1.0'))
  t.match(old, { text: /ab$/, error: { code: 'ECONNRESET' } }, 'a close alone would be the end of the body')
})

// `app.inject` passes a stand-in for a socket, without most of its members.
for (const [title, body, message] of [
  ['an error', () => Readable.from(failing()), 'the disk is gone'],
  [
    'a value that is no text',
    () => Readable.from(late()),
    'download 200: the body is a stream of values that are neither text nor bytes',
  ],
] as const)
  t.test(`a stream that ${title} ends midway is cut for app.inject, too`, async (t) => {
    const { app, log } = await start(t, body)
    await t.rejects(app.inject('/download'), { code: 'LIGHT_ECONNRESET' })
    const response = await app.inject({ url: '/download', payloadAsStream: true })
    t.equal(response.statusCode, 200)
    await t.rejects(response.stream().toArray(), { code: 'LIGHT_ECONNRESET' })
    t.match(
      log.filter(({ level }) => Number(level) > 40), // without Fastify's warning
      [
        { msg: 'response failed', err: { message } },
        { msg: 'response failed', err: { message } },
      ],
    )
  })

t.test('cutResponse ends a response of app.inject', async (t) => {
  const feed = new Feed()
  const build: typeof buildEngine = (...parts) =>
    buildEngine(...parts).then((app) =>
      app.addHook('onSend', async (request) => {
        setImmediate(cutResponse, request)
      }),
    )
  const handlers = { download: async () => ({ status: 200, body: feed }) }
  const { app } = await startEngine(t, contract, handlers, build)
  await t.rejects(app.inject('/download'), { code: 'LIGHT_ECONNRESET' })
  await until(() => feed.destroyed)
})

// Otherwise Node throws at such a value where nothing catches it, and the process ends.
t.test('a value that is neither text nor bytes is a 500, or cuts the body', async (t) => {
  for (const values of [[{ id: 1 }], [5], [[1]]]) {
    const { call, log } = await start(t, () => Readable.from(values))
    t.match(await call('GET', '/download'), { status: 500, body: { code: 'internal_error' } })
    t.match(log, [
      { err: { message: 'download 200: the body is a stream of values that are neither text nor bytes' } },
    ])
  }
  const { origin, log } = await start(t, () => Readable.from(late()))
  t.match((await received(origin, get())).text, /\r\n2\r\nab\r\n$/)
  t.match(log, [{ msg: 'response failed', err: { message: /neither text nor bytes/ } }])
})

// On a kept connection, a client would read extra bytes as the next response, or wait for missing ones.
t.test('a body has the bytes of its Content-Length, or is cut', async (t) => {
  const cut = {
    msg: 'response failed',
    err: { message: 'download 200: the body does not have the 5 bytes of its Content-Length' },
  }
  const failed = { ...cut, msg: 'request failed' }
  const cases: [string, () => Readable, RegExp, object[]][] = [
    ['as many', () => Readable.from(['ab', Buffer.from('c\u00e9')]), /\r\n\r\nabc\u00e9$/, []],
    ['more', () => Readable.from(['abcdef']), /^HTTP\/1\.1 500 /, [failed]],
    ['more, behind those', () => Readable.from(inTwo('abcde', 'HTTP/1.1 200 OK')), /\r\n\r\nabcde$/, [cut]],
    ['fewer', () => Readable.from(inTwo('ab', 'cd')), /\r\n\r\nab(cd)?$/, [cut]],
    ['none', () => Readable.from([]), /^HTTP\/1\.1 500 /, [failed]],
    [
      'of a stream of bytes',
      () => Readable.from(inTwo('ab', 'cd'), { objectMode: false }),
      /\r\n\r\nab(cd)?$/,
      [cut],
    ],
  ]
  for (const [title, body, text, logged] of cases) {
    const handler: Handler = async () => ({ status: 200, headers: { 'Content-Length': 5 }, body: body() })
    const { origin, log } = await startEngine(t, contract, { download: handler })
    t.match((await received(origin, get('1.1', closing))).text, text, title)
    const errors = log.filter(({ level }) => Number(level) > 40)
    t.match(errors, logged, title)
    t.equal(errors.length, logged.length, title)
  }
})

async function* inTwo(first: string, second: string) {
  yield Buffer.from(first)
  await new Promise((resolve) => setTimeout(resolve, 50))
  yield Buffer.from(second)
}

t.test('a client that does not read holds up the stream, and ends it when it leaves', async (t) => {
  let chunks = 0
  const body = new Readable({
    read() {
      chunks++
      this.push(Buffer.alloc(65_536))
    },
  })
  const { origin, log } = await start(t, () => body)
  const socket = await connect(origin, get())
  socket.pause()
  await untilStill(() => chunks)
  t.ok(chunks < 1_000, `${chunks} chunks fill the buffers of the kernel`)
  socket.destroy()
  await once(body, 'close')
  t.strictSame(
    log.filter(({ level }) => Number(level) > 40),
    [],
  )
})

class Feed extends EndlessBody {
  readonly isResumed = true

  override _read(): void {}

  finish(): void {
    this.push(null)
  }
}

t.test('an endless body begins before it has bytes', async (t) => {
  const feed = new Feed()
  const { origin } = await start(t, () => feed)
  const socket = await connect(origin, get())
  const [head] = await once(socket, 'data')
  t.match(String(head), /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s)
  feed.push('ab')
  const [chunk] = await once(socket, 'data')
  t.match(String(chunk), /^2\r\nab\r\n/)
  feed.finish()
  const [end] = await once(socket, 'data')
  t.equal(String(end), '0\r\n\r\n')
  socket.destroy()
})

t.test('a stream that is not sent is destroyed', async (t) => {
  const bodies: Readable[] = []
  const handler: Handler = async () => {
    const body = Readable.from(['ab'])
    bodies.push(body)
    return { status: 200, headers: { 'x-bad': '\n' }, body }
  }
  const { call } = await startEngine(t, contract, { download: handler })
  t.match(await call('GET', '/download'), { status: 500 })
  await until(() => bodies.length === 1 && bodies.every(({ destroyed }) => destroyed))
})

t.test('a response that is stored is no stream', async (t) => {
  const handler: Handler = async () => ({ status: 200, body: Readable.from(['ab']) })
  const { call, log } = await startEngine(t, keyed, { keyed: handler })
  t.match(await call('POST', '/keyed', { headers: { authorization: 'Bearer a' } }), { status: 500 })
  t.match(log, [{ err: { message: 'keyed 200: a stream cannot be stored' } }])
})

async function connect(origin: string, request: string): Promise<net.Socket> {
  const { hostname, port } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

async function received(origin: string, request: string): Promise<{ text: string; error?: Error }> {
  const socket = await connect(origin, request)
  const result: { text: string; error?: Error } = { text: '' }
  socket.on('data', (chunk) => {
    result.text += chunk
  })
  socket.on('error', (error) => {
    result.error = error
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return result
}
