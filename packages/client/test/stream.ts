// Streams of items over HTTP: what arrives, what is lost, and how a stream continues.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from 'contract-testing/port'
import t, { type Test } from 'tap'
import { type AnyClient, buildClient } from '../src/client.js'
import type { AnyClientOptions, Retry } from '../src/options.js'
import type { StreamRequest } from '../src/stream-call.js'
import type { ClientTable } from '../src/table.js'

const event = { properties: { data: { properties: { id: 'int64' } } } } as const
const sse = {
  'text/event-stream': { framing: 'sse', numbers: event.properties.data, texts: [{ texts: ['[DONE]'] }] },
} as const
const lines = { 'application/x-ndjson': { framing: 'lines', numbers: event.properties.data } } as const
const contents = { 'text/event-stream': 'stream', 'application/x-ndjson': 'stream' } as const
const stream = { method: 'GET', path: '/toys', isStream: true, contents: { 200: contents } } as const

const table: ClientTable = {
  agent: 'test',
  prefix: '',
  operations: {
    watch: { ...stream, streams: { 200: sse } },
    ask: { ...stream, method: 'POST', streams: { 200: sse } },
    list: { ...stream, streams: { 200: lines } },
    both: {
      method: 'GET',
      path: '/toys',
      contents: { 200: { ...contents, 'application/json': 'json' } },
      streams: { 200: { ...sse, ...lines } },
    },
    file: { method: 'GET', path: '/file', contents: { 200: { 'image/png': 'bytes' } } },
  },
  securitySchemes: {},
  schemas: {},
}

interface Client extends AnyClient {
  readonly waits: number[]
  readonly retries: Retry[]
}

// Creates a client whose waits take no time and are recorded.
function clientOf(baseUrl: string, options: Partial<AnyClientOptions> = {}): Client {
  const waits: number[] = []
  const retries: Retry[] = []
  const clock = {
    now: Date.now,
    random: () => 0,
    wait: async (ms: number, signal: AbortSignal | undefined) => {
      waits.push(ms)
      await new Promise(setImmediate)
      signal?.throwIfAborted()
    },
  }
  const onRetry = (retry: Retry) => void retries.push(retry)
  return { ...buildClient(table, { baseUrl, onRetry, ...options }, clock), waits, retries }
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const events =
  (text: string, isCut = false): Answer =>
  (response) => {
    response.setHeader('Content-Type', 'Text/Event-Stream; charset=utf-8')
    response.write(text, () => (isCut ? response.destroy() : response.end()))
  }
const status =
  (code: number, headers = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end()
const end = status(204)

// Starts a server with an answer for each request; it records the Last-Event-IDs.
async function serve(t: Test, ...answers: Answer[]) {
  const ids: (string | undefined)[] = []
  const sockets = new Set<unknown>()
  const url = await listen(t, (request, response) => {
    ids.push(request.headers['last-event-id'] as string | undefined)
    if (!sockets.has(request.socket)) request.socket.once('close', () => sockets.delete(request.socket))
    sockets.add(request.socket)
    ;(answers.shift() ?? end)(response, request)
  })
  const closed = async () => {
    while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { url, ids, closed }
}

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const read: unknown[] = []
  for await (const item of items) read.push(item)
  return read
}

t.test('items are read as their schema says, until a 204', async (t) => {
  const { url } = await serve(t, events('id: 1\nevent: added\ndata: {"id":1}\n\ndata: [DONE]\n\n'))
  t.strictSame(await all(clientOf(url).stream('watch')), [
    { id: '1', event: 'added', data: { id: 1n } },
    { data: '[DONE]' },
  ])
})

t.test('the first request asks for the type, and says from where to go on', async (t) => {
  let headers: IncomingMessage['headers'] = {}
  const url = await listen(t, (request, response) => {
    headers = request.headers
    status(204)(response, request)
  })
  await all(clientOf(url).stream('watch', { header: { 'Last-Event-ID': '5' } }))
  t.match(headers, { accept: 'text/event-stream', 'last-event-id': '5' })
  await all(clientOf(url).stream('both'))
  t.equal(headers.accept, 'text/event-stream, application/x-ndjson')
  await all(clientOf(url).stream('both', { accept: 'application/x-ndjson' }))
  t.equal(headers.accept, 'application/x-ndjson')
})

t.test('after an end or a cut a stream goes on behind its last event', async (t) => {
  const { url, ids } = await serve(
    t,
    events('data: 1\n\n'),
    events('id: ä1\ndata: 2\n\nid: lost\ndata: 3\n', true),
    events('data: 3\n\n'),
    events('id: 4\n\n'),
    events('id\ndata: 5\n\n'),
  )
  const { stream, retries } = clientOf(url)
  const watched = stream('watch', { header: { 'Last-Event-ID': '0' } })
  t.strictSame(await all(watched), [{ data: 1 }, { id: 'ä1', data: 2 }, { data: 3 }, { id: '', data: 5 }])
  const utf8 = Buffer.from('ä1').toString('latin1')
  t.strictSame(ids, ['0', '0', utf8, utf8, '4', undefined])
  t.equal(watched.lastEventId, '')
  t.match(retries, [{ operation: 'watch', waitMs: 2_000, error: { code: 'incomplete_answer', status: 200 } }])
  t.equal(retries.length, 1, 'an end is nothing to tell')
})

t.test('it waits as the server says, and longer each time that nothing comes', async (t) => {
  const nothing = events(': alive\n\n')
  const { url } = await serve(
    t,
    ...[events('retry: 40\ndata: 1\n\n'), nothing, nothing, nothing],
    ...[events('data: 2\n\n'), nothing],
  )
  const { stream, waits } = clientOf(url)
  t.strictSame(await all(stream('watch')), [{ retry: 40, data: 1 }, { data: 2 }])
  t.strictSame(waits, [40, 500, 1_000, 2_000, 40, 500])
  const slow = await serve(t, events('retry: 20000\n\n'), nothing, nothing)
  const client = clientOf(slow.url)
  await all(client.stream('watch'))
  t.strictSame(client.waits, [20_000, 30_000, 30_000], 'up to half a minute')
  const quick = await serve(t, events('retry: 0\ndata: 1\n\n'), nothing, nothing, nothing)
  const eager = clientOf(quick.url)
  await all(eager.stream('watch'))
  t.strictSame(eager.waits, [0, 500, 1_000, 2_000], 'at once only after an item')
})

t.test('each wait since the last item has its number', async (t) => {
  const cut = events('data: 1\n\n', true)
  const { url } = await serve(t, cut, events(': alive\n\n', true), status(503), status(503), cut)
  const { stream, retries } = clientOf(url, { attemptsMax: 1 })
  await all(stream('watch'))
  t.strictSame(
    retries.map(({ attempt }) => attempt),
    [1, 2, 3, 4, 1],
  )
})

t.test('a connection that is refused is tried again as that of any call', async (t) => {
  const { url, ids } = await serve(
    t,
    ...[status(503, { 'Retry-After': '3' }), events('id: 1\ndata: 1\n\n')],
    ...[status(500), status(500), events('data: 2\n\n'), status(401)],
  )
  const { stream, waits } = clientOf(url)
  const watched = stream('watch')
  t.strictSame(
    [await watched.next(), await watched.next()].map(({ value }) => value),
    [{ id: '1', data: 1 }, { data: 2 }],
  )
  await t.rejects(watched.next(), { name: 'ApiError', status: 401, operation: 'watch' })
  t.strictSame(await watched.next(), { done: true, value: undefined })
  t.strictSame(ids, [undefined, undefined, '1', '1', '1', '1'])
  t.strictSame([waits[0], waits[1]], [3_000, 2_000])
  const down = await serve(t, ...Array<Answer>(5).fill(status(503)))
  await t.rejects(all(clientOf(down.url, { attemptsMax: 5 }).stream('watch')), {
    code: 'unexpected_answer',
    status: 503,
  })
  t.equal(down.ids.length, 5)
})

t.test(
  'a stream that was connected waits for a service that is away for longer than a call would',
  async (t) => {
    const drop: Answer = (response) => void response.destroy()
    const away = [...Array<Answer>(7).fill(drop), ...Array<Answer>(7).fill(status(503))]
    const { url, ids } = await serve(
      t,
      events('id: 1\ndata: 1\n\n'),
      ...away,
      events('data: 2\n\n'),
      status(500),
    )
    const { stream, waits, retries } = clientOf(url, { attemptsMax: 1 })
    const watched = stream('watch')
    t.match([await watched.next(), await watched.next()], [{ value: { data: 1 } }, { value: { data: 2 } }])
    t.strictSame(new Set(ids.slice(1)), new Set(['1']))
    t.strictSame(waits.slice(0, 6), [2_000, 2_000, 4_000, 8_000, 16_000, 30_000])
    t.match([retries[0], retries[13]], [{ error: { code: 'unreachable' } }, { error: { status: 503 } }])
    await t.rejects(watched.next(), { name: 'ApiError', status: 500 }) // its own failure is reported
    await t.rejects(all(clientOf('http://127.0.0.1:1', { attemptsMax: 1 }).stream('watch')), {
      code: 'unreachable',
    })
  },
)

const single: [title: string, operation: string, request: StreamRequest][] = [
  ['without `reconnect` a stream', 'watch', { reconnect: false }],
  ['a stream of an operation that changes something', 'ask', {}],
]
for (const [title, operation, request] of single) {
  t.test(`${title} ends once`, async (t) => {
    const { url, ids } = await serve(t, events('data: 1\n\n'), events('data: 1\n\n', true))
    t.strictSame(await all(clientOf(url).stream(operation, request)), [{ data: 1 }])
    const cut = clientOf(url).stream(operation, request)
    await cut.next()
    await t.rejects(cut.next(), { code: 'incomplete_answer', status: 200, response: { status: 200 } })
    t.equal(ids.length, 2)
  })
}

t.test('lines of JSON end with their response, and a cut is an error', async (t) => {
  const answer =
    (isCut: boolean): Answer =>
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'X-Request-Id': 'r1' })
      response.write('{"id":1}\n\n{"id":9223372036854775807}\n{"id', () =>
        isCut ? response.destroy() : response.end('":3}'),
      )
    }
  const { url, ids } = await serve(t, answer(false), answer(true))
  const items = [1n, 2n ** 63n - 1n, 3n].map((id) => ({ id }))
  t.strictSame(await all(clientOf(url).stream('list')), items)
  const cut = clientOf(url).stream('list')
  t.strictSame([(await cut.next()).value, (await cut.next()).value], items.slice(0, 2))
  await t.rejects(cut.next(), { code: 'incomplete_answer', status: 200, requestId: 'r1', operation: 'list' })
  t.equal(ids.length, 2)
})

const wrong: [title: string, answer: Answer, message: string][] = [
  ['an item that is no JSON', events('data: {\n\n'), 'An item of the stream is not JSON.'],
  [
    'another media type',
    (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>'),
    'The response is no stream of items, but of text/html.',
  ],
]
for (const [title, answer, message] of wrong) {
  t.test(`${title} ends a stream with an error`, async (t) => {
    const { url, ids } = await serve(t, answer)
    const expected = { code: 'unexpected_answer', message, status: 200, operation: 'watch' }
    await t.rejects(all(clientOf(url).stream('watch')), expected)
    t.equal(ids.length, 1)
  })
}

t.test('an endless item ends a stream with an error, and its connection', async (t) => {
  const endless: Answer = (response) => {
    response.setHeader('Content-Type', 'text/event-stream')
    const text = `data: ${'x'.repeat(65_536)}\n`
    // In the next turn, because Node 26 reports at once that data to a disconnected client is written.
    const write = () => void (response.destroyed || response.write(text, () => setImmediate(write)))
    write()
  }
  const { url, closed } = await serve(t, endless)
  await t.rejects(all(clientOf(url).stream('watch')), {
    code: 'unexpected_answer',
    message: /^An item is longer/,
  })
  await closed()
})

// Sends an event, and then nothing.
const silent: Answer = (response) => {
  response.setHeader('Content-Type', 'text/event-stream')
  response.write('data: 1\n\n')
}

t.test('leaving a loop closes the connection', async (t) => {
  const { url, closed } = await serve(t, silent)
  for await (const item of clientOf(url).stream('watch')) {
    t.strictSame(item, { data: 1 })
    break
  }
  await closed()
})

t.test('`await using` closes a stream', async (t) => {
  const { url, closed } = await serve(t, silent)
  const stream = clientOf(url).stream('watch')
  await stream.open()
  await (stream as unknown as AsyncDisposable)[Symbol.asyncDispose]() // libraries with this symbol call it
  t.strictSame(await stream.next(), { done: true, value: undefined })
  await closed()
})

t.test('closing a stream ends a loop that waits', async (t) => {
  const { url, closed } = await serve(t, silent)
  const stream = clientOf(url).stream('watch')
  await stream.next()
  const next = stream.next()
  stream.close()
  t.strictSame(await next, { done: true, value: undefined })
  t.strictSame(await stream.return(undefined), { done: true, value: undefined })
  await closed()
})

t.test('a stream that was opened has a response before it has items, and can be closed unread', async (t) => {
  const headers = { 'Content-Type': 'text/event-stream', 'X-RateLimit-Limit': '60', 'X-Request-Id': 'r1' }
  const window = { 'X-RateLimit-Remaining': '59', 'X-RateLimit-Reset': '1' }
  const { url, closed, ids } = await serve(t, (response) => {
    response.writeHead(200, { ...headers, ...window }).flushHeaders()
  })
  const stream = clientOf(url).stream('watch')
  const { response, rateLimit } = await stream.open()
  t.match(rateLimit, { limit: 60, remaining: 59 })
  t.equal(response.headers.get('X-Request-Id'), 'r1')
  t.equal((await stream.open()).response.status, 200)
  t.equal(ids.length, 1, 'it is one connection')
  stream.close()
  await closed()
})

t.test('a signal ends a stream that is read, one that waits, and one that was only opened', async (t) => {
  const { url, closed } = await serve(t, silent, silent, events('data: 1\n\n'))
  const reason = new Error('enough')
  const aborted = { code: 'aborted', cause: reason, operation: 'watch' }
  const read = new AbortController()
  const reading = clientOf(url).stream('watch', { signal: read.signal })
  await reading.next()
  setImmediate(() => read.abort(reason))
  await t.rejects(reading.next(), aborted)
  const open = new AbortController()
  const opened = clientOf(url).stream('watch', { signal: open.signal })
  await opened.open()
  open.abort(reason)
  await t.rejects(opened.next(), aborted)
  const wait = new AbortController()
  const waiting = clientOf(url).stream('watch', { signal: wait.signal })
  await waiting.next()
  wait.abort(reason)
  await t.rejects(waiting.next(), aborted)
  await closed()
})

t.test('silence ends a connection, a comment is life', async (t) => {
  const alive: Answer = (response) => {
    silent(response, undefined as never)
    let left = 30
    const timer = setInterval(() => {
      response.write(left-- > 0 ? ':\n\n' : 'data: 2\n\n')
      if (left < 0) clearInterval(timer)
    }, 50)
  }
  const { url, closed } = await serve(t, silent, alive)
  const { stream, retries } = clientOf(url, { silenceMaxMs: 1_000 })
  const watched = stream('watch')
  const items = [await watched.next(), await watched.next(), await watched.next()].map(({ value }) => value)
  t.strictSame(items, [{ data: 1 }, { data: 1 }, { data: 2 }])
  t.match(retries, [{ error: { code: 'timeout', message: 'Nothing arrived for 1000 ms.', status: 200 } }])
  await watched.return(undefined)
  await closed()
})

t.test('the time limit of a call ends with the head of a stream', async (t) => {
  const { url } = await serve(t, (response) => {
    silent(response, undefined as never)
    setTimeout(() => response.end('data: 2\n\n'), 1_200)
  })
  t.strictSame(await all(clientOf(url, { timeoutMs: 1_000 }).stream('watch')), [{ data: 1 }, { data: 2 }])
  const hanging = await serve(t, () => {})
  const limited = clientOf(hanging.url, { timeoutMs: 100, attemptsMax: 1 })
  await t.rejects(all(limited.stream('watch')), { code: 'timeout', message: 'No response within 100 ms.' })
})

t.test('a stream takes none of the places of calls in flight', async (t) => {
  const { url } = await serve(t, silent, silent, events('data: 2\n\n'))
  const { stream } = clientOf(url, { inFlightMax: 1 })
  const open = [stream('watch'), stream('watch')]
  for (const each of open) await each.next()
  t.strictSame(await all(stream('watch')), [{ data: 2 }])
  for (const each of open) each.close()
})

t.test('a stream that was not asked for is an error, not a call without an end', async (t) => {
  const { url, closed } = await serve(t, silent)
  const { both } = clientOf(url).operations
  await t.rejects(async () => both?.(), {
    code: 'unexpected_answer',
    message: 'The response is a stream of items, which was not asked for by `accept`.',
  })
  await closed()
})

t.test('what cannot be sent is refused before anything is', async (t) => {
  const { stream } = clientOf('http://localhost:1')
  t.throws(() => stream('watch', { silenceMaxMs: 0 }), {
    name: 'TypeError',
    message: /^silenceMaxMs must be/,
  })
  t.throws(() => stream('watch', { atOnce: 1 } as object), { name: 'TypeError', message: /atOnce/ })
})

t.test('a stream works with any fetch', async (t) => {
  const headers = { 'Content-Type': 'text/event-stream' }
  const fetch = async () => new Response('data: 1\n\n', { headers })
  const request = { reconnect: false }
  t.strictSame(await all(clientOf('http://a', { fetch }).stream('watch', request)), [{ data: 1 }])
  const empty = async () => new Response(null, { headers })
  t.strictSame(await all(clientOf('http://a', { fetch: empty }).stream('watch', request)), [])
  const old = async () => Object.defineProperty(new Response('', { headers }), 'body', { value: undefined })
  await t.rejects(all(clientOf('http://a', { fetch: old }).stream('watch', request)), {
    name: 'TypeError',
    message: 'this platform cannot read a response while it arrives',
  })
  const stalled = async () =>
    new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), { headers })
  const controller = new AbortController()
  const waiting = all(clientOf('http://a', { fetch: stalled }).stream('watch', { signal: controller.signal }))
  setImmediate(() => controller.abort())
  await t.rejects(waiting, { code: 'aborted' })
})

t.test('a file is returned as it arrives', async (t) => {
  const piece = Buffer.alloc(65_536, 1)
  let written = 0
  const { url, closed } = await serve(
    t,
    (response) => {
      response.writeHead(200, { 'Content-Type': 'image/png', 'X-Request-Id': 'r1' })
      const write = () => {
        if (response.destroyed) return
        written++
        if (response.write(piece)) setImmediate(write)
        else response.once('drain', write)
      }
      write()
    },
    (response) => {
      response.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': 10 }).write('12345')
      setTimeout(() => response.destroy(), 50)
    },
    (response) => {
      response.writeHead(200, { 'Content-Type': 'image/png' }).end('12345')
    },
  )
  const file = async () => {
    const result = await clientOf(url, { silenceMaxMs: 5_000 }).operations.file?.({ stream: true })
    return { ...result, data: result?.data as ReadableStream<Uint8Array> }
  }
  const first = await file()
  t.equal(first.response?.headers.get('X-Request-Id'), 'r1')
  const reader = first.data.getReader()
  t.equal((await reader.read()).value?.[0], 1)
  await new Promise((resolve) => setTimeout(resolve, 200)) // time in which more would have been written
  t.ok(written < 500, 'no more is buffered than the connection takes')
  await reader.cancel()
  await closed()
  await t.rejects(new Response((await file()).data).text(), { code: 'incomplete_answer', status: 200 })
  t.equal(await new Response((await file()).data).text(), '12345')
})
