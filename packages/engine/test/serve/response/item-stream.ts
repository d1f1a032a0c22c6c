// Streams of items on real sockets: how each is framed, validated and ended.

import { once } from 'node:events'
import net from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { anyError, contractWith, type Engine, type Handler, startEngine } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { until, untilStill } from 'contract-testing/until'
import type { FastifyBaseLogger } from 'fastify'
import t, { type Test } from 'tap'
import { ItemStream } from '../../../src/serve/response/item-stream.js'

const animal = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string', maxLength: 20_000_000 },
    next: { $ref: '#/components/schemas/Animal' },
    secret: { type: 'string', writeOnly: true },
  },
}
const ref = { $ref: '#/components/schemas/Animal' }
const data = { type: 'string', contentMediaType: 'application/json', contentSchema: ref }
const lively = { 'x-limits': { keepAliveMs: 100 } }
const silence = { 'x-limits': { keepAliveMs: 100, silenceMs: 1_000 } }
const stream = (mediaType: string, itemSchema?: object, more: object = {}) => ({
  method: 'get',
  ...more,
  responses: { 200: { description: 'All.', content: { [mediaType]: { itemSchema } } }, default: anyError },
})
const named = (event: object, own: object) => ({
  type: 'object',
  required: ['data', 'event'],
  properties: { event, data: own },
})
const done = { type: 'object', required: ['data'], properties: { data: { const: '[DONE]' } } }
const contract = await contractWith(
  {
    lines: stream('application/x-ndjson', ref),
    jsonl: stream('application/jsonl', {}),
    sequence: stream('application/json-seq', ref),
    texts: stream('text/event-stream', { required: ['data'], properties: { data: { type: 'string' } } }),
    events: stream('text/event-stream', { required: ['data'], properties: { data } }),
    mixed: stream('text/event-stream', {
      oneOf: [named({ const: 'added' }, data), named({ const: 'said' }, { type: 'string' }), done],
    }),
    livelyLines: stream('application/x-ndjson', ref, lively),
    livelyJsonl: stream('application/jsonl', {}, lively),
    livelySequence: stream('application/json-seq', ref, lively),
    livelyEvents: stream('text/event-stream', { required: ['data'], properties: { data } }, lively),
    silent: stream('text/event-stream', {}, silence),
    silentLines: stream('application/x-ndjson', {}, silence),
    silentJsonl: stream('application/jsonl', {}, silence),
    silentSequence: stream('application/json-seq', {}, silence),
  },
  { schemas: { Animal: animal } },
)

type Body = () => unknown
type Silent = 'silent' | 'silentLines' | 'silentJsonl' | 'silentSequence'
type Lively = 'livelyLines' | 'livelyJsonl' | 'livelySequence' | 'livelyEvents'
type Name = 'lines' | 'jsonl' | 'sequence' | 'texts' | 'events' | 'mixed' | Lively | Silent

function start(t: Test, name: Name, body: Body): Promise<Engine> {
  const handler: Handler = async () => ({ status: 200, body: body() })
  return startEngine(t, contract, { [name]: handler })
}

async function textOf(t: Test, name: Name, body: Body): Promise<string> {
  const { call } = await start(t, name, body)
  return (await call('GET', `/${name}`)).text
}

async function* from(...items: readonly unknown[]) {
  for (const item of items) yield item
}

/**
 * Connects a client. It returns what it has received so far, without the head, and tells if the response
 * ended as the protocol requires.
 */
async function listen(origin: string, name: Name, method = 'GET') {
  const { hostname, port } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  let received = ''
  const chunks: string[] = []
  const closed = once(socket, 'close')
  socket.setEncoding('latin1').on('error', () => {})
  socket.on('data', (text: string) => {
    received += text
    chunks.push(text)
  })
  socket.write(`${method} /${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  return { socket, closed, chunks, received: () => received, isWhole: () => received.endsWith('0\r\n\r\n') }
}

t.test('lines: each item is one, and integers are exact', async (t) => {
  const items = [
    { id: 9007199254740993n, name: 'a\nb\u2028' },
    { id: 2n, next: { id: 3n } },
  ]
  const { call } = await start(t, 'lines', () => from(...items))
  const { text, headers } = await call('GET', '/lines')
  t.equal(text, '{"id":9007199254740993,"name":"a\\nb\u2028"}\n{"id":2,"next":{"id":3}}\n')
  t.equal(headers.get('content-type'), 'application/x-ndjson')
  t.equal(headers.get('content-length'), null)
})

t.test('a sequence: each item is between RS and LF', async (t) => {
  t.equal(await textOf(t, 'sequence', () => from({ id: 1n }, { id: 2n })), '\x1e{"id":1}\n\x1e{"id":2}\n')
})

t.test('what is no object is a line, too', async (t) => {
  t.equal(await textOf(t, 'jsonl', () => from(1, 'a\n', null, [2n], true)), '1\n"a\\n"\nnull\n[2]\ntrue\n')
})

t.test('events: the data is JSON', async (t) => {
  const items = [
    { data: { id: 9007199254740993n, name: 'a\r\n\nb' } },
    { event: 'a', id: '7', retry: 0, data: { id: 1n } },
  ]
  const { call } = await start(t, 'events', () => from(...items))
  const { text, headers } = await call('GET', '/events')
  t.equal(
    text,
    'data: {"id":9007199254740993,"name":"a\\r\\n\\nb"}\n\nevent: a\nid: 7\nretry: 0\ndata: {"id":1}\n\n',
  )
  t.equal(headers.get('content-type'), 'text/event-stream')
})

t.test('events: an id without data is a position, whatever the schema of events says', async (t) => {
  const items = [{ id: '7' }, { id: '8', retry: 5 }, { id: '9', data: undefined }, { data: { id: 1n } }]
  t.equal(
    await textOf(t, 'events', () => from(...items)),
    'id: 7\n\nid: 8\nretry: 5\n\nid: 9\n\ndata: {"id":1}\n\n',
  )
  for (const [item, problem] of [
    [{ id: '7', event: 'a' }, `body at "/0" must have required property 'data'`],
    [{ retry: 5 }, `body at "/0" must have required property 'data'`],
    [{ id: '7\n' }, 'body at "/0" has a line break or NUL in id'],
    [{ id: '7', retry: 'soon' }, 'body at "/0" has no whole number as retry'],
    [{ id: '7', comment: '' }, 'body at "/0" has the field comment, which events do not have'],
  ] as const) {
    const { call, log } = await start(t, 'events', () => from(item))
    t.match(await call('GET', '/events'), { status: 500 })
    t.match(log, [{ err: { message: `events 200: ${problem}` } }])
  }
  for (const name of ['lines', 'sequence'] as const) {
    const { call } = await start(t, name, () => from({ id: '7' }))
    t.match(await call('GET', `/${name}`), { status: 500 }, 'what is no event is an item like any other')
  }
})

t.test('events: a text has a field for each of its lines, and none of another name', async (t) => {
  const texts = ['', ' a', 'a\nevent: b\r\rid: c\r\nd', '\n', ': a']
  const expected = [
    'data: ',
    'data:  a',
    'data: a\ndata: event: b\ndata: \ndata: id: c\ndata: d',
    'data: \ndata: ',
    'data: : a',
  ]
  const items = texts.map((each) => ({ data: each }))
  t.equal(await textOf(t, 'texts', () => from(...items)), expected.map((each) => `${each}\n\n`).join(''))
})

t.test('events: a text is written as it is where the contract says text', async (t) => {
  const items = [
    { event: 'added', data: { id: 1n } },
    { event: 'said', data: '{"id":1}' },
    { data: '[DONE]' },
  ]
  t.equal(
    await textOf(t, 'mixed', () => from(...items)),
    'event: added\ndata: {"id":1}\n\nevent: said\ndata: {"id":1}\n\ndata: [DONE]\n\n',
  )
})

t.test('a list, a synchronous generator and a stream of objects are iterables, too', async (t) => {
  const items = [{ id: 1n }, { id: 2n }]
  const text = '{"id":1}\n{"id":2}\n'
  t.equal(await textOf(t, 'lines', () => items), text)
  t.equal(await textOf(t, 'lines', () => new Set(items)), text)
  t.equal(await textOf(t, 'lines', () => items.values()), text)
  t.equal(await textOf(t, 'lines', () => Readable.from(items)), text)
  t.equal(await textOf(t, 'lines', () => items.map(async (each) => each)), text)
  t.equal(await textOf(t, 'lines', () => []), '')
})

t.test('what is no iterable is a 500', async (t) => {
  for (const body of ['abc', 1, {}, null, Buffer.alloc(0).length]) {
    const { call, log } = await start(t, 'lines', () => body)
    t.equal((await call('GET', '/lines')).status, 500)
    t.match(log, [{ err: { message: 'lines 200: the body must be an iterable of items' } }])
  }
})

const getter = {
  get id(): bigint {
    throw new Error('gone')
  },
}
const throwing = (isThrown: (key: unknown) => boolean) =>
  new Proxy(
    {},
    {
      get(_, key) {
        if (isThrown(key)) throw new Error('no')
      },
    },
  )
const proxy = throwing((key) => key !== 'then')
const closed = throwing(() => true)
const badItems: readonly [name: Exclude<Name, Lively | Silent>, item: unknown, problem: string | RegExp][] = [
  ['lines', { id: 'a' }, 'lines 200: body at "/1/id" must be an integer'],
  ['lines', undefined, 'lines 200: body at "/1" must be object'],
  ['jsonl', undefined, 'jsonl 200: body at "/1" is not a value of JSON'],
  ['jsonl', () => 1, 'jsonl 200: body at "/1" is not a value of JSON'],
  ['lines', { id: 1n, secret: 'a' }, 'lines 200: body at "/1/secret" is writeOnly and must not be returned'],
  ['lines', { id: 1n, next: { id: 1.5 } }, 'lines 200: body at "/1/next/id" must be an integer'],
  ['lines', getter, 'lines 200: body at "/1" cannot be written: gone'],
  ['jsonl', proxy, 'jsonl 200: body at "/1" cannot be written: no'],
  ['jsonl', closed, 'jsonl 200: item 1 cannot be read: no'],
  ['sequence', null, 'sequence 200: body at "/1" must be object'],
  ['events', { data: { id: 'a' } }, 'events 200: body at "/1/data/id" must be an integer'],
  ['events', { data: '{"id":1}' }, 'events 200: body at "/1/data" must be object'],
  ['events', 'data: a', 'events 200: body at "/1" must be object'],
  ['events', {}, `events 200: body at "/1" must have required property 'data'`],
  ['texts', { data: 1 }, 'texts 200: body at "/1/data" must be string'],
  [
    'texts',
    { data: 'a', comment: 'b' },
    'texts 200: body at "/1" has the field comment, which events do not have',
  ],
  ['texts', { data: 'a', event: 'b\ndata: c' }, 'texts 200: body at "/1" has a line break or NUL in event'],
  ['texts', { data: 'a', event: 'b\rc' }, 'texts 200: body at "/1" has a line break or NUL in event'],
  ['texts', { data: '\ud83d' }, 'texts 200: body at "/1" has a lone surrogate, which UTF-8 cannot hold'],
  [
    'texts',
    { data: 'a', event: '\ude00' },
    'texts 200: body at "/1" has a lone surrogate, which UTF-8 cannot hold',
  ],
  ['texts', { data: 'a', id: 'b\n' }, 'texts 200: body at "/1" has a line break or NUL in id'],
  ['texts', { data: 'a', id: 'b\0' }, 'texts 200: body at "/1" has a line break or NUL in id'],
  ...['\u0001', 'b\u007f', ' b', 'b ', 'b\tc', 'ü', '名'].map((id): (typeof badItems)[number] => [
    'texts',
    { data: 'a', id },
    'texts 200: body at "/1" has an id that is no value of a header in ASCII',
  ]),
  ['texts', { data: 'a', retry: -1 }, 'texts 200: body at "/1/retry" must be at least 0'],
  ['texts', { data: 'a', retry: 1.5 }, 'texts 200: body at "/1/retry" must be an integer'],
  ['texts', { data: 'a', retry: 1e21 }, 'texts 200: body at "/1/retry" must be an integer'],
  ['mixed', { event: 'said', data: { id: 1n } }, /^mixed 200: body at "\/1/],
  ['mixed', { data: 'DONE' }, /^mixed 200: body at "\/1/],
]
const good: Record<Exclude<Name, Lively | Silent>, unknown> = {
  ...{ lines: { id: 1n }, jsonl: 1, sequence: { id: 1n }, texts: { data: 'a' } },
  ...{ events: { data: { id: 1n } }, mixed: { data: '[DONE]' } },
}

for (const [name, item, problem] of badItems) {
  t.test(`an item that is not valid cuts the stream: ${problem}`, async (t) => {
    let isReturned = false
    const { origin, log } = await start(t, name, async function* () {
      try {
        yield good[name]
        await until(() => client.received().includes('\r\n\r\n'))
        yield item
        t.fail('the next item is not asked for')
      } finally {
        isReturned = true
      }
    })
    const client = await listen(origin, name)
    await client.closed
    t.match(client.received(), /^HTTP\/1\.1 200 OK\r\n/)
    t.notOk(client.isWhole(), 'the client sees that the body is cut')
    t.match(log, [{ level: 50, operation: name, err: { message: problem } }])
    t.ok(isReturned)
  })
}

t.test('it cuts the stream of app.inject, too, whose socket is a stand-in', async (t) => {
  let isReturned = false
  const { app, log } = await start(t, 'lines', async function* () {
    try {
      yield { id: 1n }
      await nextTurn()
      yield { id: 'a' }
    } finally {
      isReturned = true
    }
  })
  const { stream } = await app.inject({ url: '/lines', payloadAsStream: true })
  await t.rejects(stream().toArray(), { code: 'LIGHT_ECONNRESET' })
  t.match(log, [{ operation: 'lines', err: { message: 'lines 200: body at "/1/id" must be an integer' } }])
  await until(() => isReturned)
})

t.test('an iterable that fails cuts the stream', async (t) => {
  const { origin, log } = await start(t, 'lines', async function* () {
    yield { id: 1n }
    await until(() => client.received().includes('"id":1'))
    throw new Error('the database is gone')
  })
  const client = await listen(origin, 'lines')
  await client.closed
  t.notOk(client.isWhole())
  t.match(log, [
    { operation: 'lines', err: { message: 'lines 200: item 1 cannot be read: the database is gone' } },
  ])
})

t.test('the items before a bad one are sent, however close it is behind them', async (t) => {
  for (const count of [1, 2, 100]) {
    const items = Array.from({ length: count }, (_, i) => ({ id: BigInt(i) }))
    for (const body of [() => from(...items, { id: 'a' }), () => [...items, { id: 'a' }]]) {
      const { origin } = await start(t, 'lines', body)
      const client = await listen(origin, 'lines')
      await client.closed
      t.equal(client.received().match(/"id":\d+/g)?.length, count)
      t.notOk(client.isWhole())
    }
  }
})

t.test('what fails before the first item is a response of its own', async (t) => {
  const { call, log } = await start(t, 'lines', () => from({ id: 'a' }))
  t.match(await call('GET', '/lines'), { status: 500, body: { code: 'internal_error' } })
  t.match(log, [{ err: { message: 'lines 200: body at "/0/id" must be an integer' } }])
  const { call: other } = await start(t, 'lines', async function* () {
    yield* []
    throw Object.assign(new Error('later'), { statusCode: 503 })
  })
  t.equal((await other('GET', '/lines')).status, 500)
})

t.test('HEAD does not begin the iterable', async (t) => {
  let isBegun = false
  const { origin, log } = await start(t, 'events', async function* () {
    isBegun = true
    yield good.events
  })
  const client = await listen(origin, 'events', 'HEAD')
  await client.closed
  t.match(client.received(), /^HTTP\/1\.1 200 OK\r\n.*content-type: text\/event-stream\r\n.*\r\n\r\n$/is)
  t.notOk(isBegun)
  t.strictSame(log, [])
})

for (const name of ['lines', 'jsonl', 'sequence', 'texts', 'events'] as const) {
  t.test(`HEAD has the headers of GET (${name})`, async (t) => {
    const { origin } = await start(t, name, () => from())
    const headOf = async (method: string) => {
      const client = await listen(origin, name, method)
      await client.closed
      const [head = ''] = client.received().split('\r\n\r\n')
      return head.replace(/\r\n(date|transfer-encoding): .*/gi, '')
    }
    const get = await headOf('GET')
    t.match(get, /\r\nx-accel-buffering: no(\r\n|$)/)
    t.equal(await headOf('HEAD'), get)
  })
}

t.test('an item is sent when it is there, and silences have keep-alives', async (t) => {
  const cases = [
    ['livelyEvents', ':\n', good.events],
    ['livelyLines', '\n', good.lines],
    ['livelySequence', '\x1e', good.sequence],
  ] as const
  for (const [name, text, item] of cases) {
    let next: (value: unknown) => void = () => {}
    const { origin } = await start(t, name, async function* () {
      for (;;)
        yield await new Promise((resolve) => {
          next = resolve
        })
    })
    const client = await listen(origin, name)
    const chunk = `\r\n${text.length}\r\n${text}\r\n`
    await until(() => client.received().split(chunk).length > 2)
    t.match(client.received(), /^HTTP\/1\.1 200 OK\r\n/, 'the head is there before the first item')
    next(item)
    await until(() => client.received().includes('"id":1'))
    await until(() => client.chunks.at(-1)?.includes(`${text.length}\r\n${text}\r\n`) === true)
    client.socket.destroy()
  }
})

t.test('lines of JSON Lines have no keep-alive: each would be a value', async (t) => {
  const { origin } = await start(t, 'livelyJsonl', async function* () {
    await new Promise((resolve) => setTimeout(resolve, 400)) // the test is about a silence
    yield 1
  })
  const client = await listen(origin, 'livelyJsonl')
  await client.closed
  t.match(client.received(), /\r\n\r\n2\r\n1\n\r\n0\r\n\r\n$/)
})

t.test('a silence that lasts too long is the end of events', async (t) => {
  const { origin, log } = await start(t, 'silent', async function* () {
    yield { data: 'a' }
    await new Promise(() => {})
  })
  const client = await listen(origin, 'silent')
  await client.closed
  t.match(client.received(), /data: a\n\n\r\n.*:\n.*\r\n0\r\n\r\n$/s)
  t.strictSame(log, [])
})

for (const name of ['silentLines', 'silentJsonl', 'silentSequence'] as const) {
  t.test(`a silence that lasts too long cuts a list of items (${name}), and is logged`, async (t) => {
    let returned = 0
    const { origin, log } = await start(t, name, () => ({
      [Symbol.asyncIterator]: () => {
        let next = async () => {
          next = () => new Promise(() => {})
          return { value: { data: 'a' } }
        }
        return {
          next: () => next(),
          return: async () => ({ done: true, value: returned++ }),
        }
      },
    }))
    const client = await listen(origin, name)
    await client.closed
    t.match(client.received(), /\{"data":"a"\}\n\r\n/)
    t.notMatch(client.received(), /\r\n0\r\n\r\n$/)
    t.match(log, [
      { level: 50, msg: 'response failed', err: { message: `${name} 200: no item for 1000 ms` } },
    ])
    t.equal(returned, 1)
  })
}

t.test('a client that leaves ends the iterable', async (t) => {
  let returned = 0
  const waiting = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: async () => {
        returned++
        return { done: true, value: undefined }
      },
    }),
  }
  const { origin } = await start(t, 'events', () => waiting)
  const client = await listen(origin, 'events')
  await until(() => client.received() !== '')
  client.socket.destroy()
  await until(() => returned === 1)
  t.pass()
})

t.test('one whose return fails is logged', async (t) => {
  const failing = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: { id: 1n, name: 'a'.repeat(10_000) } }),
      return: () => Promise.reject(new Error('stuck')),
    }),
  }
  const { origin, log } = await start(t, 'lines', () => failing)
  const client = await listen(origin, 'lines')
  await until(() => client.received() !== '')
  client.socket.destroy()
  await until(() => log.length > 0)
  t.match(log, [
    { level: 50, err: { message: 'stuck' }, msg: 'lines 200: the iterable failed when it was ended' },
  ])
})

t.test(
  'a stream that its server finishes ends behind its last item, whatever its iterable does',
  async (t) => {
    let fail: (error: Error) => void = () => {}
    const items = async function* () {
      yield 'a'
      await new Promise((_, reject) => {
        fail = reject
      })
    }
    const failures: unknown[] = []
    const log = { error: (each: unknown) => failures.push(each) } as unknown as FastifyBaseLogger
    const source = {
      place: 'all 200',
      items: items(),
      start: '',
      write: String,
      keepAlive: { text: ':\n', afterMs: 60_000 },
      silenceMs: undefined,
      isResumed: true,
      log,
    }
    const body = new ItemStream(source)
    const [first] = await once(body, 'data')
    t.equal(String(first), 'a')
    body.finish()
    body.finish()
    fail(new Error('too late'))
    await once(body, 'close')
    t.equal(body.errored, null)
    t.strictSame(failures, [])
  },
)

t.test('an operation with a stream can be a stub', async (t) => {
  const { call } = await startEngine(t, contract, {})
  t.equal((await call('GET', '/events')).status, 501)
})

t.test('an item of 10 MB is written whole', async (t) => {
  const name = 'é'.repeat(5_000_000)
  const text = await textOf(t, 'lines', () => from({ id: 1n, name }, { id: 2n }))
  t.equal(text.length, name.length + '{"id":1,"name":""}\n{"id":2}\n'.length)
  t.ok(text.endsWith('é"}\n{"id":2}\n'))
})

t.test('a client that does not read holds up the iterable', async (t) => {
  let asked = 0
  const { origin } = await start(t, 'lines', async function* () {
    for (;;) yield { id: BigInt(asked++), name: 'a'.repeat(1_000) }
  })
  const client = await listen(origin, 'lines')
  client.socket.pause()
  await untilStill(() => asked)
  t.ok(asked < 20_000, `${asked} items of 1 kB fill the buffers of the kernel`)
  client.socket.destroy()
})

t.test('other requests are served while an iterable never waits', async (t) => {
  let isLeft = false
  const { origin, call } = await start(t, 'lines', async function* () {
    try {
      for (let i = 0n; ; i++) yield { id: i }
    } finally {
      isLeft = true
    }
  })
  const client = await listen(origin, 'lines')
  await until(() => client.chunks.length > 10)
  t.equal((await call('GET', '/nowhere')).status, 404)
  client.socket.destroy()
  await until(() => isLeft)
})

t.test('many tiny items are all there', async (t) => {
  const count = rounds(100_000)
  const text = await textOf(t, 'lines', async function* () {
    for (let i = 0n; i < count; i++) yield { id: i }
  })
  const lines = text.split('\n')
  t.equal(lines.length, count + 1)
  t.equal(lines[count - 1], `{"id":${count - 1}}`)
})
