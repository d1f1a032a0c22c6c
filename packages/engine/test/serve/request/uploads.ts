// Bodies that reach their handler while they arrive, over real connections.

import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { BodyMemory, mount } from 'contract-engine'
import { generateOperations } from 'contract-engine/generate'
import {
  anyError,
  type buildEngine,
  contractWith,
  done,
  type Engine,
  type Handler,
  startEngine,
} from 'contract-testing/engine'
import { until } from 'contract-testing/until'
import Fastify, { type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'

const max = 2_000_000
const limits = { 'x-limits': { bodyBytes: max } }
const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
const short = {
  'application/octet-stream': { schema: { type: 'string', format: 'binary', minLength: 5, maxLength: 10 } },
}
const photo = {
  type: 'object',
  required: ['title', 'photo'],
  additionalProperties: false,
  properties: {
    title: { type: 'string', maxLength: 9 },
    count: { type: 'integer' },
    photo: { type: 'string', format: 'binary', minLength: 1, maxLength: 100_000 },
  },
}
const form = { 'multipart/form-data': { schema: photo, encoding: { photo: { contentType: 'image/png' } } } }
const ok = { 200: { description: 'The length.', content: { 'application/json': {} } }, default: anyError }
const contract = await contractWith({
  add: { ...limits, requestBody: { content: bytes }, responses: ok },
  addSome: { ...limits, requestBody: { required: true, content: bytes }, responses: ok },
  addShort: { ...limits, requestBody: { content: short }, responses: ok },
  addPhoto: { ...limits, requestBody: { content: form }, responses: ok },
  addSmall: { 'x-limits': { bodyBytes: 1_048_576 }, requestBody: { content: bytes }, responses: ok },
})

const lengthOf = async (body: Readable | undefined) => ({
  status: 200,
  body: body ? (await buffer(body)).length : 'none',
})
const read: Handler = ({ body }) => lengthOf(body)
const readPhoto: Handler = async ({ body: { photo, ...fields } }) => {
  return { status: 200, body: { ...fields, length: photo ? (await buffer(photo)).length : 'none' } }
}
const readers = {
  add: read,
  addSome: read,
  addShort: read,
  addPhoto: readPhoto,
  addSmall: async ({ body }: { body: Uint8Array }) => ({ status: 200, body: body.constructor.name }),
}

const octets = { 'content-type': 'application/octet-stream' }

interface Sent {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: unknown
}

/** Sends a request in these chunks, with a `Content-Length` if `headers` have it. */
async function post(
  { origin }: Engine,
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  headers: http.OutgoingHttpHeaders = {},
): Promise<Sent> {
  const request = http.request(origin + path, { method: 'POST', headers: { ...octets, ...headers } })
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>
  pipeline(Readable.from(chunks), request).catch(() => {}) // the server may not read all of it
  const [response] = await responded
  const text = String(await buffer(response))
  return { status: Number(response.statusCode), headers: response.headers, body: text && JSON.parse(text) }
}

function* blocks(count: number, size = 65_536): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(size, i)
}

t.test('a body of bytes arrives as a stream, with and without a length', async (t) => {
  const engine = await startEngine(t, contract, readers)
  t.match(await post(engine, '/add', blocks(20)), { status: 200, body: 20 * 65_536 })
  t.match(await post(engine, '/add', [Buffer.alloc(7)], { 'content-length': 7 }), { status: 200, body: 7 })
  t.match(await post(engine, '/add', [], { 'content-length': 0 }), { status: 200, body: 'none' })
  t.match(await post(engine, '/add', [Buffer.alloc(max)], { 'content-length': max }), {
    status: 200,
    body: max,
  })
  const oneByOne = Array.from(Buffer.alloc(65_000), (byte) => Buffer.from([byte]))
  t.match(await post(engine, '/add', oneByOne), { status: 200, body: 65_000 })
  t.match(
    await post(engine, '/addSmall', [Buffer.alloc(7)]),
    { body: 'Buffer' },
    'a smaller limit, and it is in memory',
  )
})

const refused: [title: string, path: string, size: number, status: number, message: string][] = [
  ['beyond the limit', '/add', max + 1, 413, `The body is longer than ${max} bytes.`],
  ['longer than its schema allows', '/addShort', 11, 400, 'body must have at most 10 bytes'],
  ['shorter than its schema allows', '/addShort', 4, 400, 'body must have at least 5 bytes'],
]

for (const [title, path, size, status, message] of refused) {
  t.test(`a body ${title} is refused before its handler if its length is known, else midway`, async (t) => {
    let begun = 0
    const count: Handler = (request, context) => {
      begun++
      return read(request, context)
    }
    const engine = await startEngine(t, contract, { add: count, addShort: count })
    const known = await post(engine, path, [Buffer.alloc(size)], { 'content-length': size })
    t.match(known, { status, body: { status, message } })
    t.equal(begun, 0)
    const chunked = await post(engine, path, [Buffer.alloc(size)])
    t.match(chunked, { status, body: { status, message } })
    t.equal(begun, 1)
    t.match(await post(engine, '/add', [Buffer.alloc(3)]), { status: 200, body: 3 })
  })
}

t.test('a required body must have a byte, also in chunks', async (t) => {
  const engine = await startEngine(t, contract, readers)
  const message = 'body is required'
  t.match(await post(engine, '/addSome', [], { 'content-length': 0 }), { status: 400, body: { message } })
  t.match(await post(engine, '/addSome', []), { status: 400, body: { message } })
})

t.test('whatever a handler makes of a body that fails, its request is refused', async (t) => {
  const engine = await startEngine(t, contract, {
    add: async ({ body }) => ({ status: 200, body: await buffer(body).catch(() => 'never mind') }),
    addShort: async ({ body }) => {
      await buffer(body).catch(() => {})
      throw new Error('the disk is full')
    },
  })
  t.match(await post(engine, '/add', blocks(40)), { status: 413 })
  t.match(await post(engine, '/addShort', [Buffer.alloc(11)]), { status: 400 })
  t.strictSame(engine.log, [])
})

const careless: [title: string, handler: Handler][] = [
  ['does not read its body', async () => ({ status: 200, body: 'done' })],
  [
    'reads a part of it',
    async ({ body }) => ({ status: 200, body: (await body[Symbol.asyncIterator]().next()).done }),
  ],
  [
    'breaks off',
    async ({ body }) => {
      for await (const _ of body) break
      return { status: 200, body: 'done' }
    },
  ],
]

for (const [title, handler] of careless) {
  t.test(`a handler that ${title} responds, and holds nothing afterwards`, async (t) => {
    const memory = new BodyMemory(10_000_000)
    const engine = await startEngine(t, contract, { add: handler }, buildWith(memory))
    t.match(await post(engine, '/add', blocks(2)), { status: 200 })
    const sent = await post(engine, '/add', endless())
    t.match(sent, { status: 200, headers: { connection: 'close' } })
    await until(() => memory.held === 0)
  })
}

async function* endless(): AsyncGenerator<Buffer> {
  for (let i = 0; i < 10_000; i++) {
    yield Buffer.alloc(1_000)
    await new Promise(setImmediate)
  }
}

t.test('a handler that throws midway responds 500, and holds nothing afterwards', async (t) => {
  const memory = new BodyMemory(10_000_000)
  const engine = await startEngine(
    t,
    contract,
    {
      add: async ({ body }) => {
        for await (const _ of body) throw new Error('the disk is full')
        return { status: 200, body: 1 }
      },
    },
    buildWith(memory),
  )
  t.match(await post(engine, '/add', endless()), { status: 500, headers: { connection: 'close' } })
  t.match(engine.log, [{ err: { message: 'the disk is full' } }])
  await until(() => memory.held === 0)
})

t.test('a client that leaves ends the stream of its handler', async (t) => {
  const memory = new BodyMemory(10_000_000)
  let failure: Error | undefined
  const engine = await startEngine(
    t,
    contract,
    {
      add: async ({ body }) => {
        await buffer(body).catch((error) => {
          failure = error
        })
        return { status: 200, body: 1 }
      },
    },
    buildWith(memory),
  )
  const socket = net.connect(Number(new URL(engine.origin).port))
  socket.write(
    'POST /add HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 100\r\n\r\nabc',
  )
  await until(() => memory.held > 0)
  socket.destroy()
  await until(() => failure !== undefined && memory.held === 0)
  t.strictSame(engine.log, [])
})

t.test('a body that goes on behind the response to its request holds nothing afterwards', async (t) => {
  const memory = new BodyMemory(10_000_000)
  const tooLate = (reply: FastifyReply) => void setImmediate(() => reply.code(408).send())
  const engine = await startEngine(t, contract, readers, buildWith(memory, tooLate))
  const socket = net.connect(Number(new URL(engine.origin).port)).setEncoding('latin1')
  let received = ''
  socket.on('data', (text) => {
    received += text
  })
  const head = 'Host: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 50000\r\n\r\n'
  socket.write(`POST /addSmall HTTP/1.1\r\n${head}`)
  await until(() => received.includes(' 408 '))
  socket.write('x'.repeat(40_000))
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.write(`${'x'.repeat(10_000)}GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n`)
  await until(() => received.includes(' 404 '))
  t.equal(memory.held, 0)
  socket.destroy()
})

/** Returns a form of these parts, each with its headers and its content. */
const partsOf = (...parts: [headers: string, content: string | Buffer][]) =>
  Buffer.concat([
    ...parts.flatMap(([headers, content]) => [
      Buffer.from(`--b\r\n${headers}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
    Buffer.from('--b--\r\n'),
  ])
const field = (name: string) => `Content-Disposition: form-data; name="${name}"`
const file = `${field('photo')}; filename="a.png"\r\nContent-Type: image/png`
const multipart = { 'content-type': 'multipart/form-data; boundary=b' }
const title: [string, string] = [field('title'), 'Rex']
const fileOf = (name: string, type = 'image/png') => `${field(name)}; filename="a"\r\nContent-Type: ${type}`
/** The part that a browser sends if no file was chosen; it has no content. */
const unchosen = (name: string) => `${field(name)}; filename=""\r\nContent-Type: application/octet-stream`

t.test('a form streams its file behind its fields, however its bytes are split', async (t) => {
  const engine = await startEngine(t, contract, readers)
  const content = Buffer.from('\r\n--a \r\n--\r\n--bb'.slice(0, 12).repeat(500))
  const whole = partsOf(title, [field('count'), '3'], [file, content])
  const splits = [[whole], ...[1, 2, 3, 7, 64, 1000].map((size) => split(whole, size))]
  for (const chunks of splits)
    t.match(await post(engine, '/addPhoto', chunks, multipart), {
      status: 200,
      body: { title: 'Rex', count: 3, length: content.length },
    })
  for (let at = whole.length - 40; at < whole.length; at++)
    t.match(await post(engine, '/addPhoto', [whole.subarray(0, at), whole.subarray(at)], multipart), {
      body: { length: content.length },
    })
  const withText = Buffer.concat([Buffer.from('a preamble\r\n'), whole, Buffer.from('an epilogue')])
  t.match(await post(engine, '/addPhoto', [withText], multipart), { body: { length: content.length } })
})

function split(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}

const many = Array.from({ length: 1_001 }, (): [string, string] => [field('title'), 'x'])
const badForms: [title: string, form: Buffer, status: number, message: string | RegExp][] = [
  [
    'with a required field behind the file',
    partsOf([file, 'x'], title),
    400,
    'body.title is required before the file photo: a form is read as it arrives',
  ],
  [
    'with another field behind the file',
    partsOf(title, [file, 'x'], [field('count'), '3']),
    400,
    'body.count must come before any file: a form is read as it arrives',
  ],
  ['with the file twice', partsOf(title, [file, 'x'], [file, 'y']), 400, 'body.photo must be given once'],
  [
    'with an unknown field behind the file',
    partsOf(title, [file, 'x'], [field('more'), 'y']),
    400,
    'body.more is not a known field',
  ],
  [
    'with an unknown file behind the file',
    partsOf(title, [file, 'x'], [fileOf('more'), 'y']),
    400,
    'body.more is not a known field',
  ],
  [
    'with an unknown file before the file',
    partsOf(title, [fileOf('more'), 'y'], [file, 'x']),
    400,
    'body.more is not a known field',
  ],
  ['whose file was not chosen', partsOf(title, [unchosen('photo'), '']), 400, 'body.photo is required'],
  [
    'with a file without a name of another type',
    partsOf(title, [unchosen('photo').replace('octet-stream', 'pdf'), 'x']),
    400,
    'body.photo must be of type image/png',
  ],
  [
    'with a file in base64',
    partsOf(title, [`${file}\r\nContent-Transfer-Encoding: Base64`, 'YWJj']),
    400,
    'body.photo must be sent as it is, without the Content-Transfer-Encoding Base64',
  ],
  [
    'with a field in quoted-printable',
    partsOf([`${field('title')}\r\nContent-Transfer-Encoding: quoted-printable`, 'a=3Db'], [file, 'x']),
    400,
    'body.title must be sent as it is, without the Content-Transfer-Encoding quoted-printable',
  ],
  [
    'with a field that is too long',
    partsOf([field('title'), 'too long by far'], [file, 'x']),
    400,
    'body.title must have at most 9 characters',
  ],
  [
    'with a file of another type',
    partsOf(title, [file.replace('image/png', 'image/gif'), 'x']),
    400,
    'body.photo must be of type image/png',
  ],
  ['with an empty file', partsOf(title, [file, '']), 400, 'body.photo must have at least 1 bytes'],
  [
    'with a file that is too long',
    partsOf(title, [file, Buffer.alloc(100_001)]),
    400,
    'body.photo must have at most 100000 bytes',
  ],
  ['without the file', partsOf(title), 400, 'body.photo is required'],
  [
    'without anything required',
    partsOf([field('count'), '3']),
    400,
    'body.title is required; body.photo is required',
  ],
  [
    'with a part without a name behind the file',
    partsOf(title, [file, 'x'], ['Content-Disposition: form-data', 'x']),
    400,
    /a field without a name/,
  ],
  [
    'with an unknown field',
    partsOf(title, [field('more'), 'x'], [file, 'x']),
    400,
    'body.more is not a known field',
  ],
  [
    'with a part without a name',
    partsOf(title, ['Content-Disposition: form-data', 'x'], [file, 'x']),
    400,
    /a field without a name/,
  ],
  ['with a part without headers', partsOf(['', 'x'], [file, 'x']), 400, /it has a part without headers/],
  [
    'with a part that has only headers',
    Buffer.concat([Buffer.from('--b\r\nX: y\r\n'), partsOf(title, [file, 'x'])]),
    400,
    /it has a part without headers/,
  ],
  [
    'with a boundary that goes on',
    partsOf(title, [file, 'xy\r\n--bz']),
    400,
    /a line begins with its boundary, and goes on/,
  ],
  ['whose file is cut', partsOf(title, [file, 'xyz']).subarray(0, -12), 400, /not a valid form/],
  ['whose fields are cut', partsOf(title, [file, 'xyz']).subarray(0, 30), 400, /not a valid form/],
  ['whose end is cut', partsOf(title, [file, 'xyz']).subarray(0, -4), 400, /not a valid form/],
  ['of 1,001 parts', partsOf(...many, [file, 'x']), 400, /not a valid form/],
  [
    'with a header section of 1 MB',
    partsOf([`${field('title')}\r\nX: ${'x'.repeat(1_000_000)}`, 'x'], [file, 'x']),
    400,
    /not a valid form/,
  ],
  [
    'with 1 MiB before its file',
    partsOf([field('title'), 'x'.repeat(1_200_000)], [file, 'x']),
    413,
    'What comes before the file is longer than 1048576 bytes.',
  ],
  ['that is no form', Buffer.from('{}'), 400, /not a valid form/],
]

for (const [title, whole, status, message] of badForms) {
  t.test(`a form ${title} is refused`, async (t) => {
    const memory = new BodyMemory(10_000_000)
    const engine = await startEngine(t, contract, readers, buildWith(memory))
    for (const chunks of [[whole], split(whole, 1_000)]) {
      t.match(await post(engine, '/addPhoto', chunks, multipart), { status, body: { status, message } })
    }
    await until(() => memory.held === 0)
    t.strictSame(engine.log, [])
  })
}

t.test('a form whose handler does not read its file is refused all the same, if it is invalid', async (t) => {
  const engine = await startEngine(t, contract, {
    addPhoto: async ({ body }) => ({ status: 200, body: body.title }),
  })
  t.match(await post(engine, '/addPhoto', [partsOf(title, [file, 'x'])], multipart), {
    status: 200,
    body: 'Rex',
  })
  t.match(await post(engine, '/addPhoto', [partsOf([file, 'x'])], multipart), { status: 400 })
})

const album = {
  allOf: [
    { type: 'object', required: ['title'], properties: { title: { type: 'string', maxLength: 9 } } },
    {
      required: ['cover', 'pages'],
      properties: {
        count: { type: 'integer', format: 'int64', default: 1 },
        cover: { type: 'string', format: 'binary', minLength: 1 },
        back: { type: 'string', format: 'binary' },
        pages: {
          type: 'array',
          minItems: 2,
          maxItems: 3,
          items: { type: 'string', format: 'binary', maxLength: 100_000 },
        },
      },
    },
  ],
  type: 'object',
  unevaluatedProperties: false,
}
const encoding = { cover: { contentType: 'image/png' }, pages: { contentType: 'image/png' } }
const albumContent = { 'multipart/form-data': { schema: album, encoding } }
const albums = await contractWith({
  addAlbum: { ...limits, requestBody: { content: albumContent }, responses: ok },
})
const [cover, page] = [fileOf('cover'), fileOf('pages')]
const readAlbum: Handler = async ({ body }) => {
  const files: unknown[] = []
  for await (const { name, type, file } of body) files.push([name, type, (await buffer(file)).length])
  return { status: 200, body: { ...body, files } }
}
const startAlbums = (t: Test, addAlbum = readAlbum, memory = new BodyMemory(10_000_000)) =>
  startEngine(t, albums, { addAlbum }, buildWith(memory))

t.test('a form streams several files one after the other, however its bytes are split', async (t) => {
  const engine = await startAlbums(t)
  const content = '\r\n--a \r\n--\r\n'.repeat(50)
  const files: [string, string][] = [
    [page, content],
    [cover, 'x'],
    [page, ''],
    [fileOf('back', 'a/b'), content],
  ]
  const whole = partsOf(title, [field('count'), '9007199254740993'], ...files)
  const sent = [
    ['pages', 'image/png', 600],
    ['cover', 'image/png', 1],
    ['pages', 'image/png', 0],
    ['back', 'a/b', 600],
  ]
  for (const chunks of [[whole], ...[1, 2, 3, 7, 64, 1000].map((size) => split(whole, size))])
    t.match(await post(engine, '/addAlbum', chunks, multipart), {
      status: 200,
      body: { title: 'Rex', files: sent },
    })
  for (let at = 0; at < whole.length; at += 23) {
    const answer = await post(engine, '/addAlbum', [whole.subarray(0, at), whole.subarray(at)], multipart)
    t.strictSame((answer.body as { files: unknown }).files, sent)
  }
  const text = Buffer.concat([Buffer.from('a preamble\r\n'), whole, Buffer.from('an epilogue')])
  t.match(await post(engine, '/addAlbum', [text], multipart), { status: 200, body: { files: sent } })
  t.match(await post(engine, '/addAlbum', [], { ...multipart, 'content-length': 0 }), { status: 500 }) // no body
})

t.test('the fields of a form with several files are validated before its handler', async (t) => {
  let begun = 0
  const engine = await startAlbums(t, async (request, context) => {
    begun++
    t.equal(request.body.count, 1n, 'a default')
    return readAlbum(request, context)
  })
  const files = [
    [cover, 'x'],
    [page, 'y'],
    [page, 'z'],
  ] as [string, string][]
  for (const [form, message] of [
    [partsOf([field('title'), 'too long by far'], ...files), 'body.title must have at most 9 characters'],
    [partsOf(title, [field('more'), 'x'], ...files), 'body.more is not a known field'],
    [partsOf(...files, title), 'body.title is required before the file cover: a form is read as it arrives'],
    [partsOf(title, [fileOf('cover', 'a/b'), 'x']), 'body.cover must be of type image/png'],
    [partsOf(title, [fileOf('pages', 'a/b'), 'x']), 'body.pages[0] must be of type image/png'],
    [
      partsOf([field('count'), '1']),
      'body.cover is required; body.pages is required; body.title is required',
    ],
  ] as const)
    t.match(await post(engine, '/addAlbum', [form], multipart), { status: 400, body: { message } })
  t.equal(begun, 0)
  t.match(await post(engine, '/addAlbum', [partsOf(title, ...files)], multipart), { status: 200 })
  t.equal(begun, 1)
})

t.test('a file that was not chosen is none, wherever it is in a form of several', async (t) => {
  const engine = await startAlbums(t)
  const empty = (name: string, head = unchosen(name)): [string, string] => [head, '']
  const splat = `${field('back')}; filename*=UTF-8''\r\nContent-Type: application/octet-stream`
  const whole = partsOf(
    ...[empty('pages'), empty('other'), title, empty('back')],
    ...([[cover, 'x'], empty('back'), [page, 'y'], empty('pages'), empty('more')] as [string, string][]),
    ...([[page, ''], empty('back', splat)] as [string, string][]),
  )
  const files = [
    ['cover', 'image/png', 1],
    ['pages', 'image/png', 1],
    ['pages', 'image/png', 0],
  ]
  for (const chunks of [[whole], ...[1, 2, 3, 7, 64, 1000].map((size) => split(whole, size))])
    t.match(await post(engine, '/addAlbum', chunks, multipart), {
      status: 200,
      body: { title: 'Rex', files },
    })
  const none = partsOf(title, empty('cover'), empty('pages'))
  t.match(await post(engine, '/addAlbum', [none], multipart), {
    status: 400,
    body: { message: 'body.cover is required; body.pages is required' },
  })
  const nameless = partsOf(title, [unchosen('back'), 'abc'], [cover, 'x'], ...pages(2))
  t.match(await post(engine, '/addAlbum', [nameless], multipart), {
    body: { files: [['back', 'application/octet-stream', 3], ['cover'], ['pages'], ['pages']] },
  })
})

t.test('an only file that was not chosen is absent, and fields may follow it', async (t) => {
  const { photo: file, ...others } = photo.properties
  const schema = { type: 'object', properties: { ...others, photo: file } }
  const open = { requestBody: { content: { 'multipart/form-data': { schema } } }, responses: ok }
  const forms = await contractWith({ addPhoto: { ...limits, ...open } })
  const engine = await startEngine(t, forms, readers)
  for (const size of [1, 5, 1000]) {
    const form = partsOf([unchosen('photo'), ''], title, [unchosen('photo'), ''])
    t.match(await post(engine, '/addPhoto', split(form, size), multipart), {
      status: 200,
      body: { title: 'Rex', length: 'none' },
    })
    const chosen = partsOf(
      [unchosen('photo'), ''],
      title,
      [unchosen('photo'), 'abc'],
      [unchosen('photo'), ''],
    )
    t.match(await post(engine, '/addPhoto', split(chosen, size), multipart), {
      status: 200,
      body: { title: 'Rex', length: 3 },
    })
  }
  for (const form of [
    partsOf(title, [fileOf('more'), 'y'], [fileOf('photo'), 'x']),
    partsOf(title, [fileOf('photo'), 'x'], [fileOf('more'), 'y']),
    partsOf(title, [fileOf('more'), Buffer.alloc(1_500_000)], [fileOf('photo'), 'x']),
  ])
    t.match(await post(engine, '/addPhoto', [form], multipart), {
      status: 400,
      body: { message: 'body.more is not a known field' },
    })
  t.match(
    await post(engine, '/addPhoto', [partsOf([fileOf('photo'), 'x'], [field('more'), 'y'])], multipart),
    {
      status: 400,
      body: { message: 'body.more must come before any file: a form is read as it arrives' },
    },
  )
})

t.test('an only file has the media type of its part', async (t) => {
  const types: unknown[] = []
  const engine = await startEngine(t, contract, {
    addPhoto: async (request, context) => {
      types.push(request.body.photo.type)
      return readPhoto(request, context)
    },
  })
  const form = partsOf(title, [fileOf('photo', 'Image/PNG; q=1'), 'x'])
  t.match(await post(engine, '/addPhoto', [form], multipart), {
    status: 200,
    body: { title: 'Rex', length: 1 },
  })
  t.strictSame(types, ['image/png'])
})

const pages = (count: number) => Array.from({ length: count }, (): [string, string] => [page, 'y'])
const badAlbums: [title: string, form: Buffer, status: number, message: string | RegExp][] = [
  ['without a required file', partsOf(title, ...pages(2)), 400, 'body.cover is required'],
  ['with too few', partsOf(title, [cover, 'x'], ...pages(1)), 400, 'body.pages must have at least 2 items'],
  ['with too many', partsOf(title, [cover, 'x'], ...pages(4)), 400, 'body.pages must have at most 3 items'],
  ['with one twice', partsOf(title, [cover, 'x'], [cover, 'x']), 400, 'body.cover must be given once'],
  [
    'with one of another type',
    partsOf(title, [cover, 'x'], ...pages(1), [fileOf('pages', 'image/gif'), 'x']),
    400,
    'body.pages[1] must be of type image/png',
  ],
  [
    'with one that is too long',
    partsOf(title, [cover, 'x'], ...pages(1), [page, Buffer.alloc(100_001)]),
    400,
    'body.pages[1] must have at most 100000 bytes',
  ],
  [
    'with an empty one',
    partsOf(title, ...pages(1), [cover, '']),
    400,
    'body.cover must have at least 1 bytes',
  ],
  [
    'with an unknown file between two',
    partsOf(title, [cover, 'x'], [fileOf('more'), '3'], ...pages(2)),
    400,
    'body.more is not a known field',
  ],
  [
    'with an unknown field between two',
    partsOf(title, [cover, 'x'], [field('more'), '3'], ...pages(2)),
    400,
    'body.more is not a known field',
  ],
  [
    'with one in base64',
    partsOf(title, [cover, 'x'], ...pages(1), [`${page}\r\nContent-Transfer-Encoding: base64`, 'eA==']),
    400,
    'body.pages[1] must be sent as it is, without the Content-Transfer-Encoding base64',
  ],
  [
    'with a field between two',
    partsOf(title, [cover, 'x'], [field('count'), '3'], ...pages(2)),
    400,
    'body.count must come before any file: a form is read as it arrives',
  ],
  [
    'with a part without a name between two',
    partsOf(title, [cover, 'x'], ['Content-Disposition: form-data', 'x'], ...pages(2)),
    400,
    /a field without a name/,
  ],
  [
    'with a part without headers between two',
    partsOf(title, [cover, 'x'], ['', 'x'], ...pages(2)),
    400,
    /not a valid form/,
  ],
  [
    'with a line behind one that begins with its boundary, and goes on',
    partsOf(title, [cover, 'x\r\n--bc'], ...pages(2)),
    400,
    /a line begins with its boundary, and goes on/,
  ],
  [
    'with a header section of 1 MB behind one',
    partsOf(title, [cover, 'x'], [`${page}\r\nX: ${'x'.repeat(1_000_000)}`, 'x']),
    400,
    /too long headers/,
  ],
  ['whose second file is cut', partsOf(title, [cover, 'x'], ...pages(2)).subarray(0, -6), 400, /part is cut/],
  ['whose end is cut', partsOf(title, [cover, 'x'], ...pages(2)).subarray(0, -4), 400, /end is missing/],
  [
    'that is longer than its operation takes',
    partsOf(title, [fileOf('back'), Buffer.alloc(max)], [cover, 'x'], ...pages(2)),
    413,
    `The body is longer than ${max} bytes.`,
  ],
]

for (const [title, whole, status, message] of badAlbums) {
  t.test(`a form of several files ${title} is refused, whatever its handler makes of it`, async (t) => {
    const memory = new BodyMemory(10_000_000)
    const engine = await startAlbums(
      t,
      (request, context) => readAlbum(request, context).catch(() => ({ status: 200, body: 'never mind' })),
      memory,
    )
    for (const chunks of [[whole], split(whole, 1_000)])
      t.match(await post(engine, '/addAlbum', chunks, multipart), { status, body: { status, message } })
    await until(() => memory.held === 0)
    t.strictSame(engine.log, [])
  })
}

t.test('1,001 files of a list without a limit are too many', async (t) => {
  const schema = {
    type: 'object',
    properties: { pages: { type: 'array', items: { type: 'string', format: 'binary' } } },
  }
  const content = { 'multipart/form-data': { schema } }
  const lists = await contractWith({ addAlbum: { ...limits, requestBody: { content }, responses: ok } })
  const engine = await startEngine(t, lists, { addAlbum: readAlbum })
  t.match(await post(engine, '/addAlbum', [partsOf(...pages(1_000))], multipart), { status: 200 })
  t.match(await post(engine, '/addAlbum', [partsOf(...pages(1_001))], multipart), {
    status: 400,
    body: { message: /too many parts/ },
  })
  t.match(await post(engine, '/addAlbum', [partsOf()], multipart), { status: 200, body: { files: [] } })
})

const blocksOf = (size: number) => Buffer.alloc(size, 'x')
const large = partsOf(title, [page, blocksOf(90_000)], [cover, blocksOf(300_000)], [page, blocksOf(80_000)])
const carelessly: [title: string, read: (file: Readable) => unknown][] = [
  ['none of them', () => {}],
  ['a part of each', (file) => once(file, 'data')],
  [
    'a part of each, and breaks off',
    async (file) => {
      for await (const _ of file) break
    },
  ],
]

for (const [title, read] of carelessly)
  t.test(`a handler that reads ${title} gets all files, and holds nothing afterwards`, async (t) => {
    const memory = new BodyMemory(10_000_000)
    const skim: Handler = async ({ body }) => {
      const names: string[] = []
      for await (const { name, file } of body) {
        names.push(name)
        await read(file)
      }
      return { status: 200, body: names }
    }
    const engine = await startAlbums(t, skim, memory)
    for (const chunks of [[large], split(large, 10_000)])
      t.match(await post(engine, '/addAlbum', chunks, multipart), {
        status: 200,
        body: ['pages', 'cover', 'pages'],
      })
    await until(() => memory.held === 0)
    t.strictSame(engine.log, [])
  })

t.test(
  'a file that is not read before the next is asked for fails, and is never taken for whole',
  async (t) => {
    const engine = await startAlbums(t, async ({ body }) => {
      const all: Promise<unknown>[] = []
      for await (const { file } of body) all.push(buffer(file).catch((error: Error) => error.message))
      return { status: 200, body: await Promise.all(all) }
    })
    const message = 'the next file was asked for: read this one before'
    t.match(await post(engine, '/addAlbum', split(large, 10_000), multipart), {
      body: [message, message, message],
    })
  },
)

t.test('a handler that stops at the first file, or throws, responds without the others', async (t) => {
  const memory = new BodyMemory(10_000_000)
  async function* endlessAlbum() {
    yield partsOf(title, [cover, 'x']).subarray(0, -6)
    yield Buffer.from(`\r\n--b\r\n${page}\r\n\r\n`)
    yield* endless()
  }
  for (const [read, status] of [
    [async () => {}, 200],
    [
      async () => {
        throw new Error('the disk is full')
      },
      500,
    ],
  ] as const) {
    const engine = await startAlbums(
      t,
      async ({ body }) => {
        for await (const _ of body) {
          await read()
          break
        }
        return { status: 200, body: 'done' }
      },
      memory,
    )
    const sent = await post(engine, '/addAlbum', endlessAlbum(), multipart)
    t.match(sent, { status, headers: { connection: 'close' } })
    await until(() => memory.held === 0)
  }
})

t.test('the generated type of several files is what their handler gets', async (t) => {
  const text = generateOperations(albums)
  t.match(text, /body: WithArrivingFiles<.*, 'cover' \| 'back' \| 'pages'> \| undefined/)
  t.match(text, /import type \{ Readable as ByteStream \}/)
})

t.test('an upload of an idempotent operation, and several files in memory, are told', async (t) => {
  const key = { in: 'header', name: 'Idempotency-Key', schema: { type: 'string' } }
  const idempotent = {
    ...limits,
    'x-idempotent': true,
    parameters: [key],
    requestBody: { content: bytes },
    responses: { ...done, 409: anyError, 422: anyError },
  }
  const security = { security: [{ key: [] }], securitySchemes: {} }
  await t.rejects(contractWith({ add: idempotent }, security), {
    message:
      /POST \/add: x-idempotent is not for a body that streams: a repetition is recognized by its whole body/,
  })
  const two = { a: { type: 'string', format: 'binary' }, b: { type: 'string', format: 'binary' } }
  const list = { type: 'array', uniqueItems: true, items: two.a }
  for (const [more, isTold] of [
    [{}, false],
    [{ dependentRequired: { a: ['b'] } }, true],
    [{ dependentSchemas: { a: { required: ['b'] } } }, true],
    [{ maxProperties: 1 }, true],
    [{ properties: { a: { ...two.a, anyOf: [{}, { type: 'null' }] }, b: two.b } }, true],
    [{ properties: { list } }, true],
    [{ description: 'Two.', 'x-note': 1, additionalProperties: false }, false],
  ] as const) {
    const content = { 'multipart/form-data': { schema: { type: 'object', properties: two, ...more } } }
    const { warnings } = await contractWith({ add: { ...limits, requestBody: { content }, responses: ok } })
    const text =
      'POST /add: the request body multipart/form-data is read into memory: its schema says more of its files ' +
      'than their types, lengths and numbers, which are checked as they arrive'
    t.match(warnings, isTold ? [{ text }] : [], JSON.stringify(more))
    t.equal(warnings.length, isTold ? 1 : 0)
  }
})

t.test('the generated type of a body that streams is a Readable', async (t) => {
  const text = generateOperations(contract)
  t.match(text, /body: ByteStream \| undefined/)
  t.match(text, /WithFiles<.*, 'photo', ByteStream>/)
  t.match(text, /addSmall[\s\S]*body: Uint8Array/)
})

function buildWith(bodies: BodyMemory, onBody?: (reply: FastifyReply) => void): typeof buildEngine {
  return async (contract, handlerOf, loggerInstance) => {
    const app = Fastify({ ...(loggerInstance && { loggerInstance }) })
    app.addHook('preParsing', async (_request, reply) => onBody?.(reply))
    const handlers = [...contract.operations.values()].map((each) => [each.name, handlerOf(each)])
    await mount(app, { contract, handlers: Object.fromEntries(handlers), bodies })
    return app as never // a cast, because Fastify's type names its logger
  }
}
