// Streaming responses as a client sees them: what begins, limits and ends them.

import { execFile } from 'node:child_process'
import { EventEmitter, on, once } from 'node:events'
import net from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { clientTable } from 'contract-client/generate'
import { buildClient } from 'contract-client/internal/client'
import { notImplemented } from 'contract-engine'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import type { AppParts } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import type { ContextOf } from '../../src/http/handlers.js'
import { listenForScrapes, scrape } from '../fixtures/metrics.js'
import { fixture } from '../fixtures/root.js'
import { type Service, sendRaw, startService } from '../fixtures/service.js'

const contract = await readServiceContract(fixture('streams.yaml'))

type Context = ContextOf<{ readonly security: string; readonly isPublic: false }, object>
type Event = { readonly id?: string; readonly data: string }
type Handle = (request: object, context: Context) => Promise<unknown>
type Names = 'watch' | 'begin' | 'list' | 'complete' | 'download' | 'plain'

/** Starts the service with these handlers. */
function start(t: Test, handlers: Partial<Record<Names, Handle>>, env: Record<string, string> = {}) {
  const names: Names[] = ['watch', 'begin', 'list', 'complete', 'download', 'plain']
  const all = names.map((name) => [name, handlers[name] ?? notImplemented(name)])
  const parts = {
    contract,
    handlers: { ...Object.fromEntries(all), plain: async () => ({ status: 204 }) } as AppParts['handlers'],
    schemes: { key: apiKeys() } as AppParts['schemes'],
    env,
  }
  return startService(t, parts)
}

/** Sends a request, and collects the response. */
class Reader {
  readonly socket: net.Socket
  text = ''
  isClosed = false
  error: NodeJS.ErrnoException | undefined

  constructor({ origin, auth }: Service, path: string, { method = 'GET', version = '1.1', more = '' } = {}) {
    const { port, hostname } = new URL(origin)
    this.socket = net.connect(Number(port), hostname).setEncoding('utf8')
    this.socket.write(head(auth, path, method, version, more))
    this.socket.on('data', (chunk) => {
      this.text += chunk
    })
    this.socket.on('error', (error) => {
      this.error = error
    })
    this.socket.on('close', () => {
      this.isClosed = true
    })
  }

  has(text: string | RegExp): Promise<void> {
    return until(() => (typeof text === 'string' ? this.text.includes(text) : text.test(this.text)))
  }

  closed(): Promise<void> {
    return until(() => this.isClosed)
  }
}

function head(auth: Service['auth'], path: string, method = 'GET', version = '1.1', more = ''): string {
  return `${method} /v1${path} HTTP/${version}\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n${more}\r\n`
}

// The last chunk.
const end = /\r\n0\r\n\r\n$/

const lineOf = ({ log }: Service, route: string) =>
  log.filter((line) => String(line.msg).startsWith('request') && line.route === `/v1${route}`)

/** A feed of the events that a test emits. */
function createFeed() {
  const emitter = new EventEmitter().setMaxListeners(0)
  const state = { begun: 0, ended: 0, aborted: 0 }
  async function* items(signal: AbortSignal): AsyncGenerator<Event> {
    state.begun++
    signal.addEventListener('abort', () => state.aborted++)
    try {
      for await (const [data] of on(emitter, 'item', { signal })) yield { data }
    } finally {
      state.ended++
    }
  }
  const watch: Handle = async (_, { signal }) => ({ status: 200, body: items(signal) })
  return { watch, state, emit: (data: string) => emitter.emit('item', data) }
}

t.test('a feed outlives the time of a handler, and has its signal all along', async (t) => {
  const feed = createFeed()
  const service = await start(t, { watch: feed.watch }, { HANDLER_TIMEOUT_MS: '1000' })
  await service.call('GET', '/plain') // the first request of a process takes longer
  const reader = new Reader(service, '/events')
  await reader.has('\r\n\r\n')
  await delay(1_100) // longer than its limit: it must not be ended
  feed.emit('one')
  await reader.has('data: one\n\n')
  t.match(feed.state, { begun: 1, ended: 0, aborted: 0 })
  reader.socket.destroy()
  await until(() => feed.state.ended === 1)
  t.equal(feed.state.aborted, 1)
  t.match(reader.text, /cache-control: no-store\r\n/i)
  t.match(reader.text, /x-accel-buffering: no\r\n/i)
  t.match(reader.text, /x-ratelimit-remaining: \d+\r\n/i)
  await until(() => lineOf(service, '/events').length === 1)
  const [line] = lineOf(service, '/events')
  t.match(line, { status: 200, msg: 'request aborted', bytes: Number })
  t.ok(Number(line?.ms) >= 1_100)
  t.ok(Number(line?.serviceMs) < Number(line?.ms) - 1_000, 'serviceMs ends where the stream begins')
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
  )
})

t.test('a client that closes its half has left', async (t) => {
  const feed = createFeed()
  const service = await start(t, { watch: feed.watch })
  const reader = new Reader(service, '/events')
  await reader.has('\r\n\r\n')
  reader.socket.end()
  await until(() => feed.state.ended === 1)
  await reader.closed()
})

for (const when of ['with its request', 'while it is open', 'by 100 kB']) {
  t.test(`a client that pipelines behind a feed ${when} has left, too`, async (t) => {
    const feed = createFeed()
    const service = await start(t, { watch: feed.watch })
    const next = head(service.auth, '/plain')
    const more = when === 'with its request' ? `\r\n${next.trimEnd()}\r\n` : ''
    const reader = new Reader(service, '/events', { more })
    await reader.has('\r\n\r\n')
    if (when === 'while it is open') reader.socket.write(next)
    if (when === 'by 100 kB') reader.socket.write('x'.repeat(100_000))
    feed.emit('one')
    await reader.has('data: one\n\n')
    reader.socket.end()
    await until(() => feed.state.ended === 1)
    await reader.closed()
    t.notMatch(reader.text, /HTTP.*HTTP/s, 'only one response')
  })
}

t.test('what fails before the first item is an error like any other', async (t) => {
  const watch: Handle = async () => ({
    status: 200,
    body: (async function* () {
      yield await Promise.reject(new Error('there is no source'))
    })(),
  })
  const service = await start(t, { watch })
  t.match(await service.call('GET', '/events'), { status: 500, body: { code: 'internal_error' } })
})

t.test('a stream that begins too late is a 503', async (t) => {
  const download: Handle = async () => ({ status: 200, body: new Readable({ read() {} }) })
  const service = await start(t, { download }, { HANDLER_TIMEOUT_MS: '300' })
  t.match(await service.call('GET', '/file'), { status: 503 })
})

t.test('a handler that fails midway cuts its stream, and is logged', async (t) => {
  const watch: Handle = async () => ({
    status: 200,
    body: (async function* () {
      yield { data: 'one' }
      await delay(50)
      throw new Error('the source is gone')
    })(),
  })
  const service = await start(t, { watch })
  const reader = new Reader(service, '/events')
  await reader.closed()
  t.match(reader.text, /data: one\n\n\r\n$/)
  const [error] = service.log.filter(({ level }) => Number(level) >= 40)
  t.match(error, { level: 50, msg: 'response failed', operation: 'watch' })
  t.match(JSON.stringify(error), /the source is gone/)
  t.equal(service.log.filter(({ level }) => Number(level) >= 40).length, 1)
})

t.test('app.inject gets a feed, one that is cut, and the end of one when the server closes', async (t) => {
  const feed = createFeed()
  const list: Handle = async () => ({
    status: 200,
    body: (async function* () {
      yield 1
      await delay(0)
      yield 'two'
    })(),
  })
  const { app, auth, log } = await start(t, { watch: feed.watch, list })
  const inject = (url: string) => app.inject({ url, headers: auth, payloadAsStream: true })
  await t.rejects((await inject('/v1/lines')).stream().toArray(), { code: 'LIGHT_ECONNRESET' })
  t.match(
    log.filter(({ level }) => Number(level) >= 40),
    [{ msg: 'response failed', operation: 'list' }],
  )
  const events = (await inject('/v1/events')).stream()
  await until(() => feed.state.begun === 1)
  feed.emit('one')
  const [chunk] = await once(events, 'data')
  t.equal(String(chunk), 'data: one\n\n')
  await app.close()
  t.equal(feed.state.ended, 1)
})

t.test('each statement of a stream takes a connection of its own, and none is held in between', async (t) => {
  const feed = createFeed()
  const watch: Handle = async (request, context) => {
    const { body } = (await feed.watch(request, context)) as { body: AsyncIterable<Event> }
    const numbered = async function* () {
      for await (const { data } of body) {
        const [row] = await context.sql`select ${data} || '!' as data`
        yield { data: row?.data }
      }
    }
    return { status: 200, body: numbered() }
  }
  const env = { DATABASE_CONNECTIONS: '3', HANDLER_TIMEOUT_MS: '2000' }
  const service = await start(t, { watch }, env)
  const readers = Array.from({ length: 50 }, () => new Reader(service, '/events'))
  await until(() => feed.state.begun === readers.length)
  await delay(2_100) // past the time of a handler, and that of its last statement
  t.match(await service.call('GET', '/plain'), { status: 204 })
  feed.emit('one')
  for (const reader of readers) await reader.has('data: one!\n\n')
  for (const { socket } of readers) socket.destroy()
  await until(() => feed.state.ended === readers.length)
})

t.test('a write is committed before its stream begins, whose statements are each their own', async (t) => {
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  const begin: Handle = async (_, { sql }) => {
    await sql`insert into notes values ('before')`
    const items = async function* () {
      yield { data: 'begun' }
      await gone
      await sql`insert into notes values ('during')`
      const rows = await sql`select name from notes`
      yield { data: rows.map(({ name }) => name).join() }
    }
    return { status: 200, body: items() }
  }
  const service = await start(t, { begin })
  await service.sql`create table notes (name text)`
  const reader = new Reader(service, '/events', { method: 'POST', more: 'Content-Length: 0\r\n' })
  await reader.has('data: begun\n\n')
  t.match(await service.sql`select name from notes`, [{ name: 'before' }])
  const [held] = await service.sql`
    select count(*)::int from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction'`
  t.equal(held?.count, 0)
  go()
  await reader.has(end)
  t.match(reader.text, 'data: before,during\n\n')
  reader.socket.destroy()
})

t.test('streams beyond STREAMS_MAX are refused before any work, and no request is', async (t) => {
  const feed = createFeed()
  let calls = 0
  const handlers = {
    watch: (async (...call) => {
      calls++
      return feed.watch(...call)
    }) as Handle,
    download: (async () => ({ status: 200, body: Readable.from(['ab']) })) as Handle,
  }
  const env = { STREAMS_MAX: '2', WORK_MAX: '1', METRICS_PORT: '9464' }
  const service = await start(t, handlers, env)
  const readers = [new Reader(service, '/events')]
  await until(() => feed.state.begun === 1)
  readers.push(new Reader(service, '/events'))
  await until(() => feed.state.begun === 2)
  t.match(await service.call('GET', '/plain'), { status: 204 }, 'a running stream takes no slot of requests')
  const refused = await service.call('GET', '/events')
  t.match(refused, { status: 503, body: { code: 'unavailable' } })
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await service.call('GET', '/file'), { status: 503 }, 'bytes are a stream, too')
  t.equal(calls, 2)
  t.match(lineOf(service, '/events'), [{ status: 503, reason: 'overload' }])
  const url = await listenForScrapes(service)
  const samples = await scrape(url)
  t.equal(samples.get('animal_store_streams_in_flight'), 2)
  for (const operation of ['watch', 'download'])
    t.equal(samples.get(`animal_store_stream_refusals_total{operation="${operation}"}`), 1)
  t.equal(samples.get('animal_store_requests_in_flight'), 0)
  readers[0]?.socket.destroy()
  await until(() => feed.state.ended === 1)
  await until(async () => (await service.call('GET', '/file')).status === 200)
  readers[1]?.socket.destroy()
  await until(async () => (await scrape(url)).get('animal_store_streams_in_flight') === 0)
  const left = 'animal_store_stream_seconds_count{operation="watch",whole="false"}'
  t.equal((await scrape(url)).get(left), 2)
})

t.test('a stream that a write returns beyond STREAMS_MAX is refused, and nothing is written', async (t) => {
  const feed = createFeed()
  const complete: Handle = async (_, { sql, signal }) => {
    await sql`insert into notes values ('Rex')`
    const { body } = (await feed.watch({}, { signal } as Context)) as { body: object }
    return { status: 200, headers: { 'Content-Type': 'text/event-stream' }, body }
  }
  const service = await start(t, { complete, watch: feed.watch }, { STREAMS_MAX: '1' })
  await service.sql`create table notes (name text)`
  const reader = new Reader(service, '/events')
  await until(() => feed.state.begun === 1)
  t.match(await service.call('POST', '/either'), { status: 503 })
  t.equal((await service.sql`select from notes`).length, 0)
  reader.socket.destroy()
  await until(() => feed.state.ended === 1)
  const other = new Reader(service, '/either', { method: 'POST', more: 'Content-Length: 0\r\n' })
  await other.has('HTTP/1.1 200')
  t.equal((await service.sql`select from notes`).length, 1)
  other.socket.destroy()
})

t.test('nothing is left of readers that have gone', async (t) => {
  const [count, items] = [50, 20]
  const feed = createFeed()
  const held: WeakRef<object>[] = []
  const hold = (...each: object[]) => void held.push(...each.map((one) => new WeakRef(one)))
  const watch: Handle = async (request, context) => {
    const response = (await feed.watch(request, context)) as { body: object }
    hold(request, context, context.signal, response.body)
    return response
  }
  const service = await start(t, { watch })
  service.app.server.on('request', (request, response) => hold(request, response, request.socket))
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const before = timers()
  const readers = Array.from({ length: count }, () => new Reader(service, '/events'))
  await until(() => feed.state.begun === count)
  for (let i = 0; i < items; i++) feed.emit(`item ${i}`)
  await Promise.all(readers.map((reader) => reader.has(`data: item ${items - 1}\n\n`)))
  for (const [i, { socket }] of readers.entries()) i % 2 === 0 ? socket.destroy() : socket.end()
  await Promise.all(readers.map((reader) => reader.closed()))
  await until(() => feed.state.ended === count && timers() <= before)
  await delay(0) // the target of a new WeakRef lives until the end of the turn
  collectGarbage()
  const left = held.filter((each) => each.deref() !== undefined)
  t.equal(held.length, 7 * count)
  t.ok(left.length < count / 10, `${left.length} objects are left`)
})

function collectGarbage(): void {
  v8.setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

t.test('a quota counts a stream once', async (t) => {
  const feed = createFeed()
  const service = await start(t, { watch: feed.watch })
  const { key } = await service.createKey({ plan: 'free', perMinute: null, perDay: null })
  const auth = { authorization: `Bearer ${key}` }
  const reader = new Reader({ ...service, auth }, '/events')
  await reader.has(/x-ratelimit-remaining: 2\r\n/i)
  feed.emit('one')
  feed.emit('two')
  await reader.has('data: two\n\n')
  const plain = await service.call('GET', '/plain', { headers: auth })
  t.equal(plain.headers.get('x-ratelimit-remaining'), '1')
  reader.socket.destroy()
})

t.test(
  'a connection closes behind a stream on which something was sent meanwhile, and else is used again',
  async (t) => {
    const state = { go: () => {} }
    const gone = new Promise<void>((resolve) => {
      state.go = resolve
    })
    const watch: Handle = async () => ({
      status: 200,
      body: (async function* () {
        yield { data: 'one' }
        await gone
        yield { data: 'two' }
      })(),
    })
    const service = await start(t, { watch })
    const reader = new Reader(service, '/events')
    await reader.has('data: one')
    reader.socket.write(head(service.auth, '/plain'))
    await service.call('GET', '/plain')
    state.go()
    await reader.closed()
    t.match(reader.text, /^HTTP\/1\.1 200 .*data: two\n\n\r\n0\r\n\r\n$/s)
    const kept = new Reader(service, '/events')
    await kept.has(end)
    kept.socket.write(head(service.auth, '/plain'))
    await kept.has('HTTP/1.1 204 ')
    kept.socket.destroy()
    const raw = await sendRaw(service.origin, head(service.auth, '/events', 'GET', '1.0'))
    t.match(raw, /\r\n\r\ndata: one\n\ndata: two\n\n$/)
    t.match(raw, /connection: close\r\n/i)
    const last = await sendRaw(
      service.origin,
      head(service.auth, '/events', 'GET', '1.1', 'Connection: close\r\n'),
    )
    t.match(last, end)
  },
)

t.test('a client that takes no byte is ended, one that reads slowly is not', async (t) => {
  const chunk = 'x'.repeat(65_536)
  let ended = 0
  const watch: Handle = async () => ({
    status: 200,
    body: (async function* () {
      try {
        for (;;) yield { data: chunk }
      } finally {
        ended++
      }
    })(),
  })
  const env = { REQUEST_TIMEOUT_MS: '1500', HANDLER_TIMEOUT_MS: '1500' }
  const service = await start(t, { watch }, env)
  const [stalled, slow] = [new Reader(service, '/events'), new Reader(service, '/events')]
  await Promise.all([stalled.has('data'), slow.has('data')])
  stalled.socket.pause()
  slow.socket.pause()
  const timer = setInterval(() => slow.socket.read(1_000_000), 50)
  await until(() => ended === 1)
  clearInterval(timer)
  const [line] = lineOf(service, '/events')
  t.match(line, { msg: 'request aborted', reason: 'not read by the client' })
  slow.socket.destroy()
  stalled.socket.destroy()
  await until(() => ended === 2)
})

t.test('a closing server ends its feeds as their protocol does, and returns their iterables', async (t) => {
  const feed = createFeed()
  const service = await start(t, { watch: feed.watch })
  const reader = new Reader(service, '/events')
  await until(() => feed.state.begun === 1)
  await reader.has('\r\n\r\n')
  feed.emit('one')
  await reader.has('data: one')
  await service.app.close()
  await reader.closed()
  t.match(reader.text, end)
  t.notOk(reader.error)
  t.match(feed.state, { ended: 1, aborted: 1 })
  t.match(lineOf(service, '/events'), [{ status: 200, msg: 'request', reason: 'server closes' }])
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
  )
})

t.test('it waits for lines and bytes, which have an end, half of its time', async (t) => {
  const count = async function* () {
    for (let i = 0; i < 5; i++) {
      yield i
      await delay(50)
    }
  }
  const bytes = async function* () {
    for await (const i of count()) yield Buffer.from(String(i))
  }
  const handlers: Partial<Record<Names, Handle>> = {
    list: async () => ({ status: 200, body: count() }),
    download: async () => ({ status: 200, body: Readable.from(bytes()) }),
  }
  const service = await start(t, handlers)
  const readers = [new Reader(service, '/lines'), new Reader(service, '/file')]
  for (const reader of readers) await reader.has('\r\n\r\n')
  await service.app.close()
  for (const reader of readers) await reader.closed()
  t.match(readers[0]?.text, /0\n(\r\n\d\r\n)?1\n.*4\n\r\n0\r\n\r\n$/s)
  t.match(readers[1]?.text, end)
})

/** An endless export of lines, and how many were begun and ended. */
function createExport() {
  const state = { begun: 0, ended: 0 }
  const list: Handle = async (_, { signal }) => ({
    status: 200,
    body: (async function* () {
      state.begun++
      try {
        yield 1
        yield 2
        await once(signal, 'abort')
      } finally {
        state.ended++
      }
    })(),
  })
  return { state, list }
}

t.test('lines without an end by then are cut, so that no client takes them for whole', async (t) => {
  const { state, list } = createExport()
  const service = await start(t, { list }, { SHUTDOWN_TIMEOUT_MS: '1000' })
  const { authorization = '' } = service.auth
  const curl = promisify(execFile)('curl', [
    '-sSN',
    '-H',
    `Authorization: ${authorization}`,
    `${service.origin}/v1/lines`,
  ])
  const exit = curl.then(
    () => 0,
    (error) => error,
  )
  const client = buildClient(clientTable(contract), {
    baseUrl: `${service.origin}/v1`,
    key: authorization.replace('Bearer ', ''),
  })
  const items: unknown[] = []
  const reading = (async () => {
    for await (const item of client.stream('list')) items.push(item)
  })().catch((error) => error)
  const old = new Reader(service, '/lines', { version: '1.0' })
  await old.has('2\n')
  await until(() => state.begun === 3 && items.length === 2)
  await service.app.close()
  t.match(await exit, { code: 18, stdout: '1\n2\n' })
  t.match(await reading, { code: 'incomplete_answer' })
  t.strictSame(items, [1, 2])
  await old.closed()
  t.match(old.error, { code: 'ECONNRESET' }, 'an end of HTTP/1.0 is a closed connection')
  await until(() => state.ended === 3)
  const cut = { status: 200, msg: 'request aborted', reason: 'server closes' }
  t.match(lineOf(service, '/lines'), [cut, cut, cut])
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
  )
})

t.test('a client that does not read cannot keep it', async (t) => {
  const chunk = 'x'.repeat(65_536)
  const watch: Handle = async () => ({
    status: 200,
    body: (async function* () {
      for (;;) yield { data: chunk }
    })(),
  })
  const service = await start(t, { watch }, { SHUTDOWN_TIMEOUT_MS: '60000' })
  const reader = new Reader(service, '/events')
  await reader.has('data')
  reader.socket.pause()
  await delay(300) // until the kernel's buffers are full
  const begun = performance.now()
  await service.app.close()
  t.ok(performance.now() - begun < 30_000, 'long before all connections would be closed')
  reader.socket.destroy()
})

t.test('pages of allowed origins read a feed, and nothing compresses it', async (t) => {
  const feed = createFeed()
  const service = await start(t, { watch: feed.watch }, { CORS_ORIGINS: 'https://shop.example' })
  const more = 'Origin: https://shop.example\r\nAccept-Encoding: gzip\r\n'
  const reader = new Reader(service, '/events', { more })
  await reader.has('\r\n\r\n')
  t.match(reader.text, /access-control-allow-origin: https:\/\/shop\.example\r\n/i)
  t.match(reader.text, /content-type: text\/event-stream\r\n/i)
  t.notMatch(reader.text, /content-encoding/i)
  reader.socket.destroy()
  await once(reader.socket, 'close')
})
