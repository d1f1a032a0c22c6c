// Request bodies that are streams of items, over real connections: what the server reads, refuses and counts.
// It takes no more of a body than its handler has asked for.

import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import { BodyMemory, mount, refusedValue } from 'contract-engine'
import { anyError, type buildEngine, contractWith, type Handler, startEngine } from 'contract-testing/engine'
import { until, untilStill } from 'contract-testing/until'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { ArrivingItems } from '../../../src/serve/request/arriving-items.js'

const toy = {
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', maxLength: 5 },
    id: { type: 'integer', format: 'int64' },
    count: { type: 'integer', default: 1 },
    hidden: { type: 'string', readOnly: true },
    secret: { type: 'string', writeOnly: true },
  },
}
const ok = { 200: { description: 'All.', content: { 'application/json': {} } }, default: anyError }
const ofItems = (itemSchema: object, type = 'application/x-ndjson') => ({ [type]: { itemSchema } })
const contract = await contractWith(
  {
    add: { requestBody: { content: ofItems(toy) }, responses: ok },
    addSome: { requestBody: { required: true, content: ofItems(toy) }, responses: ok },
    addShort: {
      'x-limits': { bodyBytes: 200, itemBytes: 30 },
      requestBody: { content: ofItems({ type: 'string' }) },
      responses: ok,
    },
    addRecords: {
      'x-limits': { bodyBytes: 200, itemBytes: 30 },
      requestBody: { content: ofItems({ type: 'string' }, 'application/json-seq') },
      responses: ok,
    },
    addNumbers: {
      requestBody: { content: ofItems({ type: 'integer', format: 'int64' }, 'application/json-seq') },
      responses: ok,
    },
    addEither: {
      requestBody: {
        content: {
          'application/json': { schema: toy },
          'application/jsonl; charset=utf-8': { itemSchema: toy },
        },
      },
      responses: ok,
    },
    addMuch: { 'x-limits': { bodyBytes: 1e9 }, requestBody: { content: ofItems({}) }, responses: ok },
  },
  { openapi: '3.2.0' },
)

// Not by its class: if tests run from the sources, the server still runs the built engine.
const isArriving = (body: unknown): body is ArrivingItems =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

const all: Handler = async ({ body }) => {
  if (!isArriving(body)) return { status: 200, body: body ?? 'none' }
  const items: unknown[] = []
  for await (const item of body) items.push(item)
  return { status: 200, body: items }
}
const reading = Object.fromEntries([...contract.operations.keys()].map((name) => [name, all]))

const lines = (...texts: string[]) => texts.map((each) => `${each}\n`).join('')
const ndjson = { 'content-type': 'application/x-ndjson' }

const read: [title: string, text: string | Buffer, items: unknown][] = [
  [
    'lines',
    lines('{"name":"a"}', '{"name":"b","id":7}'),
    [
      { name: 'a', count: 1 },
      { name: 'b', id: 7, count: 1 },
    ],
  ],
  [
    'an int64, exactly',
    lines('{"name":"a","id":9007199254740993}'),
    [{ name: 'a', id: 9007199254740993n, count: 1 }],
  ],
  ['a last line without an end', '{"name":"a"}\n{"name":"b"}', [{ name: 'a' }, { name: 'b' }]],
  ['lines that end with CRLF', '{"name":"a"}\r\n{"name":"b"}\r\n', [{ name: 'a' }, { name: 'b' }]],
  ['blank lines', '\n \t\r\n{"name":"a"}\n\n\n{"name":"b"}\n\n ', [{ name: 'a' }, { name: 'b' }]],
  ['no item at all', '\n\n', []],
  ['a byte order mark', '\ufeff{"name":"a"}\n', [{ name: 'a' }]],
  ['a separator of lines within a text', lines('{"name":"\u2028\u2029"}'), [{ name: '\u2028\u2029' }]],
  ['what is writeOnly', lines('{"name":"a","secret":"x"}'), [{ name: 'a', secret: 'x' }]],
]

for (const [title, body, items] of read)
  t.test(`${title}: each item is validated and read`, async (t) => {
    const engine = await startEngine(t, contract, reading)
    const answer = await engine.call('POST', '/add', { headers: ndjson, body })
    t.match(answer, { status: 200, body: items })
    t.equal(answer.body.length, (items as unknown[]).length)
  })

t.test('bytes are read as they come: one by one, within a character, or a line, or a CRLF', async (t) => {
  const engine = await startEngine(t, contract, reading)
  const text = '{"name":"é😀"}\r\n{"name":"b"}'
  const chunk = (size: number) =>
    Array.from({ length: Math.ceil(Buffer.byteLength(text) / size) }, (_, i) =>
      Buffer.from(text).subarray(i * size, (i + 1) * size),
    )
  for (const size of [1, 2, 3, 5, 11, 17]) {
    const answer = await post(engine.origin, '/add', chunk(size))
    t.match(answer, { status: 200, body: [{ name: 'é😀' }, { name: 'b' }] }, `in chunks of ${size}`)
  }
})

t.test('items of other kinds: numbers in sequences, and beside JSON', async (t) => {
  const engine = await startEngine(t, contract, reading)
  const headers = { 'content-type': 'application/json-seq' }
  const sequence = '\x1e1\n\x1e\x1e 9007199254740993 \n'
  t.match(await engine.call('POST', '/addNumbers', { headers, body: sequence }), {
    body: [1, 9007199254740993n],
  })
  t.match(await engine.call('POST', '/addEither', { body: { name: 'a' } }), { body: { name: 'a', count: 1 } })
  const jsonl = { 'content-type': 'application/jsonl' }
  t.match(await engine.call('POST', '/addEither', { headers: jsonl, body: '{"name":"a"}' }), {
    body: [{ name: 'a' }],
  })
})

const refused: [title: string, path: string, text: string | Buffer, status: number, message: string][] = [
  [
    'an invalid item',
    '/add',
    lines('{"name":"a"}', '', '{"id":1}'),
    400,
    'body[1].name is required (line 3)',
  ],
  [
    'a byte order mark within',
    '/add',
    '\ufeff{"name":"a"}\n\ufeff{"name":"b"}\n',
    400,
    'Line 2 begins with a byte order mark, as only a body may.',
  ],
  [
    'several places of an item',
    '/add',
    lines('{"name":"abcdef","id":"x","more":1}'),
    400,
    'body[0].more is not a known field (line 1); body[0].name must have at most 5 characters (line 1); body[0].id must be an integer (line 1)',
  ],
  ['an item of another type', '/add', lines('[]'), 400, 'body[0] must be an object (line 1)'],
  [
    'what is readOnly',
    '/add',
    lines('{"name":"a","hidden":"x"}'),
    400,
    'body[0].hidden is set by the service and must not be sent (line 1)',
  ],
  [
    'a null that need not be there',
    '/add',
    lines('{"name":"a","id":null}'),
    400,
    'body[0].id must be an integer (leave it out instead of null) (line 1)',
  ],
  [
    'no JSON',
    '/add',
    lines('{"name":"a"}', 'x'),
    400,
    "Line 2 of the body is not valid JSON: JSON value expected but got 'x' at position 0.",
  ],
  [
    'two values in a line',
    '/add',
    '{"name":"a"} {"name":"b"}',
    400,
    "Line 1 of the body is not valid JSON: Expected end of input but got '{' at position 13.",
  ],
  [
    'a value over two lines',
    '/add',
    '{"name":\n"a"}',
    400,
    "Line 1 of the body is not valid JSON: Object value expected after ':' at position 8.",
  ],
  [
    'a name twice',
    '/add',
    lines('{"name":"a","name":"b"}'),
    400,
    'Line 1 of the body has the name "name" twice in one object.',
  ],
  [
    'what is not UTF-8',
    '/add',
    Buffer.from('{"name":"a"}\n"\xff"\n', 'latin1'),
    400,
    'Line 2 of the body is not valid UTF-8.',
  ],
  [
    'a line that is too long',
    '/addShort',
    lines('"a"', `"${'b'.repeat(29)}"`),
    413,
    'Line 2 of the body is longer than 30 bytes.',
  ],
  [
    'a body that is too long',
    '/addShort',
    lines(...Array.from({ length: 60 }, () => '"a"')),
    413,
    'The body is longer than 200 bytes.',
  ],
  ['nothing where a body is required', '/addSome', '', 400, 'body is required'],
]

for (const [title, path, body, status, message] of refused)
  t.test(`${title} is refused, in the form of any error, with its line`, async (t) => {
    const engine = await startEngine(t, contract, reading)
    t.match(await engine.call('POST', path, { headers: ndjson, body }), { status, body: { status, message } })
    t.strictSame(engine.log, [])
  })

t.test(
  'a body is optional, and bytes of another type or coding are refused before they are read',
  async (t) => {
    const engine = await startEngine(t, contract, reading)
    t.match(await engine.call('POST', '/add'), { status: 200, text: '"none"' })
    t.match(await engine.call('POST', '/add', { body: {} }), { status: 415 })
    const gzip = { ...ndjson, 'content-encoding': 'gzip' }
    t.match(await engine.call('POST', '/add', { headers: gzip, body: 'x' }), { status: 415 })
    const utf16 = { 'content-type': 'application/x-ndjson; charset=utf-16' }
    t.match(await engine.call('POST', '/add', { headers: utf16, body: 'x' }), { status: 415 })
  },
)

t.test('an invalid item refuses the request, whatever the handler makes of it', async (t) => {
  const seen: unknown[] = []
  const engine = await startEngine(t, contract, {
    async add({ body }) {
      try {
        for await (const item of body) seen.push(item)
      } catch (error) {
        seen.push((error as Error).name)
      }
      return { status: 200, body: 'never mind' }
    },
  })
  const answer = await engine.call('POST', '/add', { headers: ndjson, body: lines('{"name":"a"}', '{}') })
  t.match(answer, { status: 400, body: { message: 'body[1].name is required (line 2)' } })
  t.match(seen, [{ name: 'a' }, 'RequestError'])
})

t.test('items are read once: whoever begins again hears of it', async (t) => {
  const engine = await startEngine(t, contract, {
    async add({ body }) {
      for await (const _ of body) break
      for await (const _ of body);
      return { status: 200, body: 'all' }
    },
  })
  t.match(await engine.call('POST', '/add', { headers: ndjson, body: lines('{"name":"a"}') }), {
    status: 500,
  })
  t.match(engine.log, [{ err: { message: 'the items of a body can be read once' } }])
})

const counting =
  (errorsMax?: number): Handler =>
  async ({ body }) => {
    const items = body.counted({ errorsMax })
    const names: string[] = []
    for await (const { name } of items) names.push(name)
    const { valid, invalid, errors, error } = items
    return { status: 200, body: { names, valid, invalid, errors, message: error?.message ?? null } }
  }

const mixed = lines('{"name":"a"}', '', '{"name":1,"id":"x"}', '{', '{"name":"b"}', '[]')

t.test('counted items go on behind those that are invalid, of which the first are told', async (t) => {
  const engine = await startEngine(t, contract, { add: counting() })
  const { body } = await engine.call('POST', '/add', { headers: ndjson, body: mixed })
  t.strictSame(body, {
    ...{ names: ['a', 'b'], valid: 2, invalid: 3 },
    errors: [
      { line: 3, pointer: '/name', detail: 'must be a string' },
      { line: 3, pointer: '/id', detail: 'must be an integer' },
      {
        line: 4,
        pointer: '',
        detail:
          "is not valid JSON: Quoted object key or end of object '}' expected but reached end of input at position 1",
      },
      { line: 6, pointer: '', detail: 'must be an object' },
    ],
    message:
      'body[1].name must be a string (line 3); body[1].id must be an integer (line 3); body[2] is not valid JSON: ' +
      "Quoted object key or end of object '}' expected but reached end of input at position 1 (line 4); body[4] must be an object (line 6)",
  })
})

t.test('of counted items, so many errors are kept as are asked for, and all lines are counted', async (t) => {
  for (const [errorsMax, lines] of [
    [0, []],
    [1, [3]],
    [3, [3, 3, 4]],
  ] as const) {
    const engine = await startEngine(t, contract, { add: counting(errorsMax) })
    const { body } = await engine.call('POST', '/add', { headers: ndjson, body: mixed })
    t.match(body, { valid: 2, invalid: 3 })
    t.strictSame(
      body.errors.map((each: { line: number }) => each.line),
      lines,
    )
    t.match(body.message, /and more$/)
  }
  const engine = await startEngine(t, contract, { add: counting(4) })
  const { body } = await engine.call('POST', '/add', { headers: ndjson, body: mixed })
  t.notMatch(body.message, /and more/, 'there are no more')
})

t.test('counted items go on behind a line that is too long, however it arrives', async (t) => {
  const engine = await startEngine(t, contract, {
    async addShort({ body }) {
      const items = body.counted()
      const all: unknown[] = []
      for await (const item of items) all.push(item)
      return { status: 200, body: { all, errors: items.errors } }
    },
  })
  const text = lines('"a"', `"${'b'.repeat(60)}"`, '"c"', `"${'d'.repeat(40)}"`).trimEnd()
  const errors = [
    { line: 2, pointer: '', detail: 'is longer than 30 bytes' },
    { line: 4, pointer: '', detail: 'is longer than 30 bytes' },
  ]
  for (const size of [1, 7, 1_000]) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      Buffer.from(text.slice(i * size, (i + 1) * size)),
    )
    t.match(await post(engine.origin, '/addShort', chunks), {
      status: 200,
      body: { all: ['a', 'c'], errors },
    })
  }
})

t.test('what ends an item does not count as a part of it, however it arrives', async (t) => {
  const counting: Handler = async ({ body }) => {
    const items = body.counted()
    let valid = 0
    for await (const _ of items) valid++
    return { status: 200, body: { valid, lines: items.errors.map(({ line }: { line: number }) => line) } }
  }
  const engine = await startEngine(t, contract, { addShort: counting, addRecords: counting })
  const [longest, longer] = [`"${'a'.repeat(28)}"`, `"${'a'.repeat(29)}"`]
  for (const [path, type, text, lines] of [
    ['/addShort', 'application/x-ndjson', `${longest}\n${longest}\r\n${longest}`, []],
    ['/addShort', 'application/x-ndjson', `${longer}\n${longer}\r\n${longest}\r\n${longer}`, [1, 2, 4]],
    ['/addRecords', 'application/json-seq', `\x1e${longest}\n\x1e${longest}\n`, []],
    ['/addRecords', 'application/json-seq', `\x1e${longer}\n\x1e${longest}\n`, [1]],
  ] as const)
    for (const size of [1, 29, 30, 31, 32, 1_000]) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        Buffer.from(text.slice(i * size, (i + 1) * size)),
      )
      const { body } = await post(engine.origin, path, chunks, type)
      t.match(body, { lines }, `${JSON.stringify(text)} by ${size}`)
      t.equal((body as { lines: number[] }).lines.length, lines.length)
    }
})

t.test('blank and invalid items count as read, so that their handler is not taken for idle', async (t) => {
  const taken: number[] = []
  const engine = await startEngine(t, contract, {
    async add({ body }) {
      for await (const _ of body.counted()) t.fail('no item is valid')
      taken.push((body as ArrivingItems).upload.itemsTaken)
      return { status: 200, body: 0 }
    },
  })
  for (const body of ['\n'.repeat(1_000), '{}\n'.repeat(1_000)])
    await engine.call('POST', '/add', { headers: ndjson, body })
  t.strictSame(taken, [1_000, 1_000])
})

t.test('a value that a handler refuses is told by its line, and alone by its place', async (t) => {
  const refuse: Handler = async ({ body }) => {
    const some: object[] = []
    if (isArriving(body)) for await (const item of body) some.push(item as object)
    else some.push(body as object)
    const value = some.find((each) => 'id' in each) ?? { ...some[0] }
    throw refusedValue(value, ['id'], 'has a number out of range', new Error('the cause'))
  }
  const engine = await startEngine(t, contract, { add: refuse, addEither: refuse })
  const items = lines('{"name":"a"}', '', '{"name":"b","id":7}', '{"name":"c"}')
  t.match(await engine.call('POST', '/add', { headers: ndjson, body: items }), {
    status: 400,
    body: { code: 'invalid_request', message: 'body[1].id has a number out of range (line 3)' },
  })
  const message = 'body.id has a number out of range'
  t.match(await engine.call('POST', '/addEither', { body: { name: 'b', id: 7 } }), {
    status: 400,
    body: { message },
  })
  const copied = await engine.call('POST', '/add', { headers: ndjson, body: lines('{"name":"a"}') })
  const place = 'body[0].id has a number out of range (line 1)'
  t.match(copied, { status: 400, body: { message: place } }, 'so is a copy')
})

t.test('a line without an end is refused as soon as it is too long', async (t) => {
  const engine = await startEngine(t, contract, reading)
  const connection = new Connection(t, engine.origin)
  connection.write(`${head('/addMuch', 1e8)}1\n"${'x'.repeat(1_048_576)}`)
  await until(() => connection.isClosed)
  t.match(connection.received, /^HTTP\/1.1 413 [\s\S]*Line 2 of the body is longer than 1048576 bytes/)
})

t.test('the error of counted items, thrown, is that of the request', async (t) => {
  const engine = await startEngine(t, contract, {
    async add({ body }) {
      const items = body.counted({ errorsMax: 1 })
      for await (const _ of items);
      if (items.error !== undefined) throw items.error
      return { status: 200, body: items.valid }
    },
  })
  const bad = await engine.call('POST', '/add', { headers: ndjson, body: mixed })
  t.match(bad, {
    status: 400,
    body: { code: 'invalid_request', message: 'body[1].name must be a string (line 3); and more' },
  })
  const good = await engine.call('POST', '/add', {
    headers: ndjson,
    body: lines('{"name":"a"}', '{"name":"b"}'),
  })
  t.match(good, { status: 200, text: '2' })
})

t.test('a client sends no faster than its handler reads, and all of it arrives', async (t) => {
  let goOn = () => {}
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const memory = new BodyMemory(1_000_000)
  const most = { held: 0 }
  const engine = await startEngine(
    t,
    contract,
    {
      async addMuch({ body }) {
        let count = 0
        for await (const _ of body) {
          if (++count === 1) await waiting
          most.held = Math.max(most.held, memory.held)
        }
        return { status: 200, body: count }
      },
    },
    buildWith(memory),
  )
  const block = Buffer.from(lines(...Array.from({ length: 32 }, () => `"${'x'.repeat(1_000)}"`)))
  const connection = new Connection(t, engine.origin)
  connection.write(head('/addMuch', block.length * 1_000))
  const sending = connection.writeAll(block, 1_000)
  await untilStill(() => connection.written)
  t.ok(connection.written < 16_000_000, `${connection.written} of ${block.length * 1_000} bytes`)
  goOn()
  await sending
  await until(() => connection.received.endsWith('32000'))
  t.ok(most.held < 400_000, `${most.held} bytes`)
  await until(() => memory.held === 0)
})

t.test('short lines that arrive together leave the event loop to others', async (t) => {
  let turns = 0
  const engine = await startEngine(t, contract, {
    async addMuch({ body }) {
      const turn = () => {
        turns++
        turning = setImmediate(turn)
      }
      let turning = setImmediate(turn)
      let count = 0
      for await (const _ of body) count++
      clearImmediate(turning)
      return { status: 200, body: count }
    },
  })
  const body = '1\n'.repeat(100_000)
  t.match(await engine.call('POST', '/addMuch', { headers: ndjson, body }), { status: 200, text: '100000' })
  t.ok(turns > 20, `${turns} turns`) // the chunks alone take four
})

t.test('a long line that arrives in pieces is held as long as it is read', async (t) => {
  const memory = new BodyMemory(3_000_000)
  const engine = await startEngine(t, contract, reading, buildWith(memory))
  const long = JSON.stringify('x'.repeat(900_000))
  const answer = await post(engine.origin, '/addMuch', [Buffer.from(lines(long, '1', long))])
  t.match(answer, { status: 200, body: [/^x{900000}$/, 1, /^x{900000}$/] })
  await until(() => memory.held === 0)
  const scarce = await startEngine(t, contract, reading, buildWith(new BodyMemory(500_000)))
  t.match(await post(scarce.origin, '/addMuch', [Buffer.from(lines(long))]), { status: 503 })
})

for (const [title, handler] of [
  ['does not read them', async () => ({ status: 200, body: 'done' })],
  [
    'breaks off',
    async ({ body }) => {
      for await (const _ of body) break
      return { status: 200, body: 'done' }
    },
  ],
  [
    'throws midway',
    async ({ body }) => {
      for await (const _ of body) throw Object.assign(new Error('it is a teapot'), { statusCode: 418 })
      return { status: 200, body: 'done' }
    },
  ],
] as [title: string, handler: Handler][])
  t.test(`a handler that ${title} responds, and holds nothing afterwards`, async (t) => {
    const memory = new BodyMemory(10_000_000)
    const engine = await startEngine(t, contract, { addMuch: handler }, buildWith(memory))
    const connection = new Connection(t, engine.origin)
    connection.write(head('/addMuch', 1e8))
    void connection.writeAll(Buffer.from(lines(...Array.from({ length: 1_000 }, () => '1'))), 50_000)
    await until(() => connection.isClosed)
    t.match(connection.received, /^HTTP\/1.1 (200|418) [\s\S]*connection: close/i)
    await until(() => memory.held === 0)
  })

t.test(
  'a client that leaves ends the iteration, also within a line, and is no error of the service',
  async (t) => {
    const memory = new BodyMemory(10_000_000)
    const seen: unknown[] = []
    const engine = await startEngine(
      t,
      contract,
      {
        async addMuch({ body }) {
          try {
            for await (const item of body) seen.push(item)
          } catch (error) {
            seen.push((error as Error).message)
            throw error
          }
          return { status: 200, body: 1 }
        },
      },
      buildWith(memory),
    )
    const connection = new Connection(t, engine.origin)
    connection.write(`${head('/addMuch', 100)}1\n23`)
    await until(() => seen.length > 0)
    connection.socket.destroy()
    await until(() => seen.length === 2 && memory.held === 0)
    t.strictSame(seen, [1, 'the body was cut'])
    t.strictSame(engine.log, [])
  },
)

const buildWith =
  (bodies: BodyMemory): typeof buildEngine =>
  async (contract, handlerOf, loggerInstance) => {
    const app = Fastify({ ...(loggerInstance && { loggerInstance }) })
    const handlers = [...contract.operations.values()].map((each) => [each.name, handlerOf(each)])
    await mount(app, { contract, bodies, handlers: Object.fromEntries(handlers) })
    return app
  }

const head = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: ${length}\r\n\r\n`

class Connection {
  readonly socket: net.Socket
  received = ''
  written = 0
  isClosed = false

  constructor(t: Test, origin: string) {
    this.socket = net.connect(Number(new URL(origin).port), '127.0.0.1').setEncoding('latin1')
    this.socket.on('data', (text) => {
      this.received += text
    })
    this.socket
      .on('error', () => {})
      .on('close', () => {
        this.isClosed = true
      })
    t.teardown(() => this.socket.destroy())
  }

  write(text: string): void {
    this.socket.write(text)
  }

  // Writes blocks, and counts the bytes that the socket has taken.
  async writeAll(block: Buffer, count: number): Promise<void> {
    for (let i = 0; i < count && !this.isClosed; i++) {
      await new Promise((resolve) => this.socket.write(block, resolve))
      this.written += block.length
    }
  }
}

/** Sends a body in these chunks. */
async function post(
  origin: string,
  path: string,
  chunks: readonly Uint8Array[],
  type = 'application/x-ndjson',
) {
  const request = http.request(origin + path, { method: 'POST', headers: { 'content-type': type } })
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>
  request.on('error', () => {}) // the response tells why
  for (const chunk of chunks) request.write(chunk)
  request.end()
  const [response] = await responded
  const text = String(await buffer(response))
  return { status: Number(response.statusCode), body: text && JSON.parse(text) }
}
