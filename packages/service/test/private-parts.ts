// Undocumented parts of libraries and of Node that the service uses. Each has a test here that names it when
// it fails, and a row in docs/decisions.md. The versions are pinned to minor ones.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { Random } from 'contract-testing/random-schemas'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { type Logger, pino } from 'pino'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { isConnectionClosed } from '../src/rate-limit/redis-client.js'
import { packageRoot } from './fixtures/root.js'
import { scripted, startScripted } from './fixtures/scripted-postgres.js'

const pinned = { postgres: '3.4', fastify: '5.12', pino: '10.4', ioredis: '6.0' } as const

t.test('the versions of what the service takes private parts of are pinned to minor ones', async (t) => {
  const { dependencies } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const [name, version] of Object.entries(pinned))
    t.equal(dependencies[name]?.replace(/\.\d+$/, ''), `~${version}`, name)
})

async function listen<Any extends net.Server>(t: Test, server: Any): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  server.on('connection', (socket) => t.teardown(() => socket.destroy()))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly ssl?: unknown
  readonly pass?: unknown
}

/** Opens a postgres.js, and records the sockets that it requests. */
function openPostgres(t: Test, port: number, options: object = {}) {
  const targets: Target[] = []
  const sockets: net.Socket[] = []
  const socket = (target: Target) => {
    targets.push(target)
    const made = Object.assign(net.connect(port, '127.0.0.1'), { host: 'db.example' })
    sockets.push(made)
    return made
  }
  const sql = postgres('postgres://a:secret@127.0.0.1', {
    max: 1,
    fetch_types: false,
    ...options,
    ...{ socket },
  })
  t.teardown(() => sql.end({ timeout: 0 }))
  return { sql, targets, sockets }
}

t.test('postgres.js 3.4 keeps what sends a cancel request under `canceller` of a query', async (t) => {
  const server = net.createServer()
  const { sql } = openPostgres(t, await listen(t, server))
  const { canceller } = sql`` as unknown as { canceller(query: object): Promise<void> }
  const cancelled = canceller({ active: true, state: { pid: 7, secret: 9 } })
  const [socket] = (await once(server, 'connection')) as [net.Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  t.strictSame(
    [0, 4, 8, 12].map((at) => bytes.readInt32BE(at)),
    [16, 80877102, 7, 9],
  )
  socket.destroy()
  await cancelled
})

t.test('postgres.js 3.4 gives `socket` all of its options', async (t) => {
  const ssl = { rejectUnauthorized: false }
  const server = net.createServer()
  const { sql, targets } = openPostgres(t, await listen(t, server), { ssl })
  sql`select 1`.catch(() => {})
  await once(server, 'connection')
  t.match(targets[0], { host: ['127.0.0.1'], port: [5432], pass: 'secret' })
  t.equal(targets[0]?.ssl, ssl)
})

t.test('postgres.js 3.4 takes the name of a server, for TLS, from `host` of its socket', async (t) => {
  let name: string | undefined
  const SNICallback = (servername: string, done: (error: Error) => void) => {
    name = servername
    done(new Error('enough'))
  }
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      socket.write('S')
      new tls.TLSSocket(socket, { isServer: true, SNICallback }).on('error', () => socket.destroy())
    })
  })
  const { sql } = openPostgres(t, await listen(t, server), { ssl: 'require' })
  await t.rejects(sql`select 1`)
  t.equal(name, 'db.example')
})

t.test('postgres.js 3.4 takes lists as host and port: an IPv6 address has colons', async (t) => {
  const options = { host: ['::1', '::2'], port: [1, 2] } as unknown as { host: string; port: number }
  const sql = postgres(options)
  t.teardown(() => sql.end())
  t.match(sql.options, { host: ['::1', '::2'], port: [1, 2] })
})

t.test('postgres.js 3.4 fails statements at a close without an error, and tells their texts', async (t) => {
  const { sql, sockets } = openPostgres(t, await startScripted(t, new Random(1)))
  await sql.unsafe(scripted({ id: 'a', rows: 1 }))
  const [socket] = sockets as [net.Socket]
  socket.write = () => true // nothing reaches the server
  const first = t.rejects(sql.unsafe('select 1'), { code: 'ECONNRESET', query: 'select 1' })
  await new Promise(setImmediate)
  socket.emit('error', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  const second = t.rejects(sql.unsafe('select 2'), { code: 'CONNECTION_CLOSED' })
  await new Promise(setImmediate)
  socket.emit('close', false)
  await Promise.all([first, second])
  socket.destroy()
})

t.test('Fastify 5.12 keeps the headers of a reply under kReplyHeaders, in lower case', async (t) => {
  const { kReplyHeaders } = createRequire(import.meta.url)('fastify/lib/symbols.js')
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/', async (_, reply) => {
    reply.header('X-One', '1')
    return { ...(reply as unknown as Record<symbol, object>)[kReplyHeaders] }
  })
  t.strictSame((await app.inject('/')).json(), { 'x-one': '1' })
})

t.test('pino 10.4 keeps the parts of its lines under symbols', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const log: Logger = pino({ timestamp: () => ',"time":1', base: { pid: 7 } }, stream)
  const keptBy = (name: string) =>
    (log as unknown as Record<symbol, unknown>)[
      (pino.symbols as unknown as Record<string, symbol>)[name] as symbol
    ]
  t.equal((keptBy('lsCacheSym') as Record<number, string>)[30], '{"level":30')
  t.equal((keptBy('timeSym') as () => string)(), ',"time":1')
  t.equal(keptBy('chindingsSym'), ',"pid":7')
  t.equal(keptBy('endSym'), '}\n')
  t.equal(keptBy('streamSym'), stream)
})

t.test('ioredis 6.0 says that a connection has ended in words that are known', async (t) => {
  const port = await listen(
    t,
    net.createServer((socket) => socket.destroy()),
  )
  const options = {
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: null,
  }
  const redis = new Redis({ ...options, maxRetriesPerRequest: 0 })
  redis.on('error', () => {})
  const errors = [redis.connect(), redis.get('a')].map((each) => each.then(String, (error) => error))
  for (const error of await Promise.all(errors)) t.equal(isConnectionClosed(error), true, error)
})

async function serve(t: Test, respond: Parameters<typeof createServer>[1]) {
  const server = createServer(respond as NonNullable<typeof respond>)
  const connect = async (sent: string, end = false) => {
    const socket = net.connect(port, '127.0.0.1', () => (end ? socket.end(sent) : socket.write(sent)))
    t.teardown(() => socket.destroy())
    return socket
  }
  const port = await listen(t, server)
  return { server, connect }
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

t.test('Node ends a connection after its last response by `destroySoon` of its socket', async (t) => {
  const { server, connect } = await serve(
    t,
    (_, response) => void response.setHeader('Connection', 'close').end(),
  )
  const ended = new Promise((resolve) => {
    server.on('connection', (socket) => {
      socket.destroySoon = () => resolve(socket.destroy())
    })
  })
  await connect(get)
  await ended
})

t.test('Node ends idle connections, when a server closes, by its `closeIdleConnections`', async (t) => {
  const server: Server = createServer()
  await listen(t, server)
  let calls = 0
  server.closeIdleConnections = () => void calls++
  await new Promise((resolve) => server.close(resolve))
  t.equal(calls, 1)
})

t.test('Node responds to a client that has closed its half, if `httpAllowHalfOpen` is set', async (t) => {
  const { server, connect } = await serve(t, (request, response) => {
    request.socket.once('end', () => setImmediate(() => response.end('whole')))
  })
  Object.assign(server, { httpAllowHalfOpen: true })
  const socket = await connect(get, true)
  t.match(Buffer.concat(await socket.toArray()).toString(), /whole/)
})

t.test('Node reads a connection by one listener for `data`, which parses what it is given', async (t) => {
  const { server, connect } = await serve(t, ({ url }, response) => void response.end(url))
  server.on('connection', (socket) => {
    const listeners = socket.listeners('data')
    t.equal(listeners.length, 1)
    const [parse] = listeners as [(bytes: Buffer) => void]
    socket.removeListener('data', parse)
    socket.once('data', () => parse(Buffer.from(get.replace('/', '/other'))))
  })
  const socket = await connect(get)
  t.match(String(await once(socket, 'data')), /\/other/)
})

t.test(
  'Node makes the head of a response by `_storeHeader`, behind the lines that it is given',
  async (t) => {
    const { connect } = await serve(t, (_, response) => {
      const store = response as unknown as { _storeHeader(lines: string, headers: readonly string[]): void }
      store._storeHeader('HTTP/1.1 200 Fine\r\nx-a: b\r\n', ['content-length', '1'])
      response.end('c')
    })
    const socket = await connect(get)
    t.match(
      String(await once(socket, 'data')),
      /^HTTP\/1.1 200 Fine\r\nx-a: b\r\ncontent-length: 1\r\n.*\r\n\r\nc$/s,
    )
  },
)
