// Bodies that stream, and how much all bodies may hold, over real connections, including slow ones.

import { once } from 'node:events'
import net from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import type { AppParts } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import type { Sql } from '../../src/database/database.js'
import { fixture } from '../fixtures/root.js'
import { type Service, startService } from '../fixtures/service.js'

const contract = await readServiceContract(fixture('uploads.yaml'))

type Handler = (request: { readonly body: Readable }) => Promise<unknown>

const count: Handler = async ({ body }) => {
  let length = 0
  for await (const chunk of body) length += chunk.length
  return { status: 200, body: length }
}

interface Toy {
  readonly id: bigint
  readonly name: string
}
interface ImportRequest {
  readonly body: AsyncIterable<Toy> & {
    counted(options?: { readonly errorsMax?: number }): AsyncIterable<Toy> & {
      readonly valid: number
      readonly invalid: number
      readonly error: Error | undefined
    }
  }
}
interface ImportContext {
  readonly sql: Sql
}
type Import = (request: ImportRequest, context: ImportContext) => Promise<unknown>

async function startAlbums(
  t: Test,
  env: Record<string, string> = {},
  read: Handler = count,
  importToys: Import = () => Promise.reject(new Error('nothing is imported')),
): Promise<Service & { readonly ended: { count: number } }> {
  const ended = { count: 0 }
  const add: Handler = (request) => read(request).finally(() => ended.count++)
  const handlers = {
    importToys: (request: ImportRequest, context: ImportContext) =>
      importToys(request, context).finally(() => ended.count++),
    addPhoto: add,
    addOpenPhoto: add,
    addAlbum: async ({ body }: { body: Uint8Array }) => ({ status: 200, body: body.length }),
    addForm: ({ body: { photo } }: { body: { photo: Readable } }) => add({ body: photo }),
    addScans: async ({ body }: { body: AsyncIterable<{ file: Readable }> }) => {
      const lengths: unknown[] = []
      for await (const { file } of body) lengths.push(await add({ body: file }))
      return { status: 200, body: lengths.length }
    },
  } as unknown as AppParts['handlers'] // of another contract
  return { ...(await startService(t, { contract, handlers, schemes: { key: apiKeys() }, env })), ended }
}

/** Opens a connection, and collects all that it receives. */
function connect(t: Test, { origin }: Service): { readonly socket: net.Socket; received: string } {
  const socket = net.connect(Number(new URL(origin).port)).setEncoding('utf8')
  t.teardown(() => socket.destroy())
  const connection = { socket, received: '' }
  socket.on('data', (text) => {
    connection.received += text
  })
  socket.on('error', () => {}) // the service may close it
  return connection
}

const head = (url: string, ...headers: string[]) =>
  [`POST /v1${url} HTTP/1.1`, 'Host: x', 'Content-Type: application/octet-stream', ...headers, '', ''].join(
    '\r\n',
  )

t.test('a client that stalls is 408, however long the whole body may take', async (t) => {
  const service = await startAlbums(t, { REQUEST_TIMEOUT_MS: '500' })
  const connection = connect(t, service)
  connection.socket.write(head('/open-photos', 'Content-Length: 100000000'))
  connection.socket.write('x'.repeat(100_000))
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 408 .*\r\nConnection: close\r\n/is)
  await until(() => service.ended.count === 1)
  await setTimeout(50) // time for a log line that must not come
  t.strictSame(problemsOf(service), [], 'nor is it an error of the service that its handler failed')
})

for (const [title, headers] of [
  ['of a known length', ['Content-Length: 1', '', 'x']],
  ['in chunks', ['Transfer-Encoding: chunked', '', '1', 'x', '0', '', '']],
] as const)
  t.test(`a body ${title} that arrives with its head leaves its handler no more time`, async (t) => {
    const hang: Handler = async (request) => {
      await count(request)
      return new Promise(() => {})
    }
    const service = await startAlbums(t, { HANDLER_TIMEOUT_MS: '200' }, hang)
    const connection = connect(t, service)
    connection.socket.write(`${head('/open-photos').slice(0, -4)}\r\n${headers.join('\r\n')}`)
    await until(() => connection.received !== '')
    t.match(connection.received, /^HTTP\/1.1 503 /)
  })

// The server checks the rate after 1 s and 2 s; by then, the connection has been silent for longer than both
// limits.
for (const [title, url, limits] of [
  ['a short time for handlers', '/open-photos', { HANDLER_TIMEOUT_MS: '200' }],
  ['no rate', '/open-photos', { HANDLER_TIMEOUT_MS: '200', UPLOAD_RATE_MIN: '0' }],
] as const)
  t.test(`a client that stalls after a good start is 408, also with ${title}`, async (t) => {
    const service = await startAlbums(t, { REQUEST_TIMEOUT_MS: '1000', ...limits })
    const connection = connect(t, service)
    connection.socket.write(head(url, 'Content-Length: 100000000'))
    connection.socket.write('x'.repeat(100_000))
    await once(connection.socket, 'close')
    t.match(connection.received, /^HTTP\/1.1 408 .*\r\nConnection: close\r\n/is)
    await until(() => service.ended.count === 1)
    t.strictSame(problemsOf(service), [])
  })

t.test('a form whose second file stalls is 408, and no error of the service', async (t) => {
  const service = await startAlbums(t, { REQUEST_TIMEOUT_MS: '300' })
  const connection = connect(t, service)
  const form = 'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000'
  const file = '\r\n--b\r\nContent-Disposition: form-data; name="pages"; filename="a"\r\n\r\nabc'
  connection.socket.write(head('/scans').replace('Content-Type: application/octet-stream\r\n\r\n', ''))
  connection.socket.write(
    `${form}\r\n\r\n--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nx${file}${file}`,
  )
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 408 /)
  await until(() => service.ended.count === 2)
  await setTimeout(50) // time for a log line that must not come
  t.strictSame(problemsOf(service), [])
})

t.test('a client that leaves midway is no error of the service', async (t) => {
  const service = await startAlbums(t)
  const connection = connect(t, service)
  connection.socket.write(head('/open-photos', 'Content-Length: 100000'))
  connection.socket.write('x'.repeat(50_000))
  await setTimeout(50)
  connection.socket.end()
  await until(() => service.log.some(({ msg }) => /^request( aborted)?$/.test(String(msg))))
  await until(() => service.ended.count === 1)
  await setTimeout(50) // time for a log line that must not come
  t.strictSame(problemsOf(service), [])
})

const problemsOf = ({ log }: Service) => log.filter(({ level }) => Number(level) >= 40)

t.test('a client that is slow but steady passes, beyond REQUEST_TIMEOUT_MS', async (t) => {
  const service = await startAlbums(t, { REQUEST_TIMEOUT_MS: '1000', UPLOAD_RATE_MIN: '200' })
  const connection = connect(t, service)
  connection.socket.write(head('/open-photos', 'Content-Length: 6000'))
  // 2,000 bytes per second, for three times the limit.
  for (let i = 0; i < 30; i++) {
    connection.socket.write('x'.repeat(200))
    await setTimeout(100)
  }
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 200 .*\r\n6000$/s)
})

t.test('a handler that does not read in its time is a 503, whatever its client does', async (t) => {
  const service = await startAlbums(
    t,
    { REQUEST_TIMEOUT_MS: '300', HANDLER_TIMEOUT_MS: '600' },
    () => new Promise(() => {}),
  )
  const connection = connect(t, service)
  connection.socket.write(head('/open-photos', 'Content-Length: 1000000'))
  connection.socket.write('x'.repeat(1_000))
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 503 /)
})

t.test(
  'a handler that stops reading is a 503, also where its time ends between two looks at the rate',
  async (t) => {
    const service = await startAlbums(
      t,
      { REQUEST_TIMEOUT_MS: '1000', HANDLER_TIMEOUT_MS: '1100' },
      async ({ body }) => {
        await once(body, 'readable')
        body.read()
        return new Promise(() => {})
      },
    )
    const connection = connect(t, service)
    connection.socket.write(head('/open-photos', 'Content-Length: 100000000'))
    connection.socket.write('x'.repeat(1_000_000))
    await once(connection.socket, 'close')
    t.match(connection.received, /^HTTP\/1.1 503 /)
  },
)

const insertAll = async (toys: AsyncIterable<Toy>, { sql }: ImportContext) => {
  let added = 0
  for await (const { id, name } of toys) {
    await sql`insert into toys (id, name) values (${id}, ${name})`
    added++
  }
  return added
}
const importAll: Import = async ({ body }, context) => ({ status: 200, body: await insertAll(body, context) })

async function startImport(t: Test, read = importAll, env: Record<string, string> = {}) {
  const service = await startAlbums(t, env, count, read)
  await service.sql`create table toys (id bigint primary key, name text not null)`
  const stored = async () => (await service.sql`select count(*)::int as count from toys`)[0]?.count
  const headers = { 'content-type': 'application/x-ndjson' }
  const send = (body: string) => service.call('POST', '/toys', { headers, body })
  return { service, stored, send }
}

const toys = Array.from({ length: 500 }, (_, id) => JSON.stringify({ id, name: `Toy ${id}` }))
const bad = toys.with(300, '{"id":"x","name":1}').with(400, '{')

t.test('an import is stored once all of it is valid, or not at all', async (t) => {
  const { service, stored, send } = await startImport(t)
  const refused = await send(bad.join('\n'))
  const message = 'body[300].id must be an integer (line 301); body[300].name must be a string (line 301)'
  t.match(refused, { status: 400, body: { code: 'invalid_request', message } })
  t.equal(await stored(), 0)
  t.match(await send(toys.join('\n')), { status: 200, body: 500 })
  t.equal(await stored(), 500)
  t.strictSame(problemsOf(service), [])
})

t.test(
  'an import of counted items tells its first errors, and stores nothing or the valid ones',
  async (t) => {
    const all = await startImport(t, async ({ body }, context) => {
      const items = body.counted({ errorsMax: 2 })
      const added = await insertAll(items, context)
      if (items.error) throw items.error
      return { status: 200, body: added }
    })
    const message =
      'body[300].id must be an integer (line 301); body[300].name must be a string (line 301); and more'
    t.match(await all.send(bad.join('\n')), { status: 400, body: { message } })
    t.equal(await all.stored(), 0)
    const some = await startImport(t, async ({ body }, context) => {
      const items = body.counted()
      await insertAll(items, context)
      return { status: 200, body: items.valid * 1_000 + items.invalid }
    })
    t.match(await some.send(bad.join('\n')), { status: 200, body: 498_002 })
    t.equal(await some.stored(), 498)
  },
)

const importHead = (...headers: string[]) =>
  head('/toys', ...headers).replace('application/octet-stream', 'application/x-ndjson')

t.test('an import whose client leaves is undone, and no error of the service', async (t) => {
  const { service, stored } = await startImport(t)
  const connection = connect(t, service)
  connection.socket.write(importHead('Content-Length: 1000000') + toys.join('\n'))
  await until(async () => (await openTransactions(service)) > 0)
  connection.socket.destroy()
  await until(() => service.ended.count === 1)
  await until(async () => (await openTransactions(service)) === 0)
  t.equal(await stored(), 0)
  t.strictSame(problemsOf(service), [])
})

t.test('an import whose client stalls is 408, and undone', async (t) => {
  const { service, stored } = await startImport(t, importAll, { REQUEST_TIMEOUT_MS: '500' })
  const connection = connect(t, service)
  connection.socket.write(importHead('Content-Length: 1000000') + toys.join('\n'))
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 408 /)
  await until(async () => (await openTransactions(service)) === 0)
  t.equal(await stored(), 0)
  t.strictSame(problemsOf(service), [])
})

t.test(
  'a handler that takes item after item is in time, however long those that arrived together last',
  async (t) => {
    const limits = { HANDLER_TIMEOUT_MS: '4000', REQUEST_TIMEOUT_MS: '2000' }
    const slowly: Import = async ({ body }) => {
      let added = 0
      for await (const _ of body) {
        if (added++ % 40 === 0) await setTimeout(400) // in total, longer than its time
      }
      return { status: 200, body: added }
    }
    const { service } = await startImport(t, slowly, limits)
    const connection = connect(t, service)
    const text = `${toys.join('\n')}\n${' '.repeat(300_000)}`
    connection.socket.write(importHead(`Content-Length: ${text.length}`) + text)
    await until(() => connection.received !== '')
    t.match(connection.received, /^HTTP\/1.1 200 [\s\S]*\r\n500$/)
    t.strictSame(problemsOf(service), [])
  },
)

// Here, a statement may take half of a handler's time; so may a transaction in which no statement runs.
t.test('an import whose client pauses for longer than a statement may take is stored', async (t) => {
  const { service, stored } = await startImport(t, importAll, {
    ...{ HANDLER_TIMEOUT_MS: '14000', REQUEST_TIMEOUT_MS: '20000' }, // and 2.8 s for a statement
  })
  const [start, end] = [toys.slice(0, 250), toys.slice(250)].map((each) => `${each.join('\n')}\n`) as [
    string,
    string,
  ]
  const connection = connect(t, service)
  connection.socket.write(importHead(`Content-Length: ${start.length + end.length}`) + start)
  await until(async () => (await openTransactions(service)) > 0)
  await setTimeout(3_000)
  connection.socket.write(end)
  await until(() => connection.received !== '')
  t.match(connection.received, /^HTTP\/1.1 200 /)
  t.equal(await stored(), 500)
})

async function openTransactions({ sql }: Service): Promise<number> {
  const [row] = await sql`
    select count(*)::int from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`
  return Number(row?.count)
}

t.test('uploads take no slot of WORK_MAX, and no connection of the database', async (t) => {
  const service = await startAlbums(t, { WORK_MAX: '1' })
  const connections = [1, 2, 3].map(() => connect(t, service))
  for (const { socket } of connections) socket.write(`${head('/open-photos', 'Content-Length: 9')}abc`)
  const [one] = connections
  await until(async () => (await service.call('POST', '/albums', albumOf(10))).status === 200)
  t.equal(await openTransactions(service), 0)
  one?.socket.write('defghi')
  await until(() => /\r\n9$/.test(one?.received ?? ''))
})

const albumOf = (size: number) => ({
  headers: { 'content-type': 'application/octet-stream' },
  body: Buffer.alloc(size),
})

t.test(
  'bodies that find no room are shed before they are read, small ones later than large ones',
  async (t) => {
    const service = await startAlbums(t, { BODIES_MAX_BYTES: '1200000', METRICS_PORT: '0' })
    const holders = [1, 2].map(() => connect(t, service))
    for (const { socket } of holders)
      socket.write(head('/albums', 'Content-Length: 400000') + 'x'.repeat(390_000))
    await until(async () => (await held(service)) > 700_000)
    const refused = await service.call('POST', '/albums', albumOf(300_000))
    t.match(refused, { status: 503, body: { code: 'unavailable' } })
    t.equal(refused.headers.get('retry-after'), '1')
    t.match(
      service.log.filter(({ msg }) => msg === 'request'),
      [{ status: 503, reason: 'overload' }],
    )
    const waiting = connect(t, service)
    waiting.socket.write(
      head(
        '/photos',
        `Authorization: ${service.auth.authorization}`,
        'Expect: 100-continue',
        'Content-Length: 10',
      ),
    )
    await until(() => waiting.received !== '')
    t.match(waiting.received, /^HTTP\/1.1 503 /, 'and no 100 came before it')
    for (const size of [10, 16_384, 60_000])
      t.match(await service.call('POST', '/albums', albumOf(size)), { status: 200, body: size })
    for (const { socket } of holders) socket.destroy()
    await until(async () => (await held(service)) === 0)
    t.match(await service.call('POST', '/albums', albumOf(300_000)), { status: 200, body: 300_000 })
  },
)

async function held({ app }: Service): Promise<number> {
  const server = app.metricsServer
  if (server === undefined) throw new Error('no METRICS_PORT')
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^animal_store_bodies_bytes (\d+)$/m.exec(text)?.[1])
}

t.test('a client that waits for 100 uploads nothing without a key, or beyond the limit', async (t) => {
  const service = await startAlbums(t)
  const key = `Authorization: ${service.auth.authorization}`
  const answers: [headers: string[], first: RegExp][] = [
    [['Content-Length: 10'], /^HTTP\/1.1 401 /],
    [[key, 'Content-Length: 200000001'], /^HTTP\/1.1 413 /],
    [[key, 'Content-Encoding: gzip', 'Content-Length: 10'], /^HTTP\/1.1 415 /],
    [[key, 'Content-Length: 10'], /^HTTP\/1.1 100 Continue\r\n\r\n$/],
  ]
  for (const [headers, first] of answers) {
    const connection = connect(t, service)
    connection.socket.write(head('/photos', 'Expect: 100-continue', ...headers))
    await until(() => connection.received !== '')
    t.match(connection.received, first)
  }
})

t.test('a contract whose bodies would never fit is refused', async (t) => {
  const contractOf = contract.operations.get('addAlbum')
  if (contractOf === undefined) throw new Error('no addAlbum')
  const larger = { ...contractOf, limits: { ...contractOf.limits, body: 900_000 } }
  const operations = new Map(contract.operations).set('addAlbum', larger)
  const handlers = {} as AppParts['handlers']
  const env = { BODIES_MAX_BYTES: '1048576' }
  await t.rejects(
    startService(t, { contract: { ...contract, operations }, handlers, schemes: { key: apiKeys() }, env }),
    {
      message: 'BODIES_MAX_BYTES must be at least 1200000: addAlbum takes bodies of 900000 bytes into memory',
    },
  )
})
