// A feed of events, as its readers get it: curl, a browser's EventSource, Python's httpx-sse, and the client.
// In between, the service cannot write an item, and restarts.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { clientTable } from 'contract-client/generate'
import { buildClient } from 'contract-client/internal/client'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { buildEngine, contractOf, type HandlerRequest } from 'contract-testing/engine'
import { isNightly } from 'contract-testing/nightly'
import { freePort } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { browserIsMissing, openPage } from '../fixtures/browser.js'

const run = promisify(execFile)
const toy = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string' } },
}
const data = { type: 'string', contentMediaType: 'application/json', contentSchema: toy }
const itemSchema = {
  type: 'object',
  required: ['id', 'data'],
  properties: { id: { type: 'string' }, event: { const: 'toy' }, retry: { type: 'integer' }, data },
}
const contract = await contractOf({
  openapi: '3.2.0',
  paths: {
    '/feed': {
      get: {
        operationId: 'watchToys',
        parameters: [{ in: 'header', name: 'Last-Event-ID', schema: { type: 'string' } }],
        responses: { 200: { description: 'Toys.', content: { 'text/event-stream': { itemSchema } } } },
      },
    },
  },
})

/** A service whose feed has the ids from 1 to the last that was added. */
class Feed {
  readonly port: number
  #last = 0
  #broken = 0
  #app: Awaited<ReturnType<typeof buildEngine>> | undefined
  #waiting: (() => void)[] = []
  /** The `Last-Event-ID` that each reader sent. */
  readonly asked: (string | undefined)[] = []

  constructor(port: number) {
    this.port = port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/feed`
  }

  async start(): Promise<void> {
    this.#app = await buildEngine(contract, () => (request: HandlerRequest) => this.#read(request))
    await this.#app.listen({ port: this.port, host: '127.0.0.1' })
  }

  async stop(): Promise<void> {
    this.#app?.server.closeAllConnections()
    await this.#app?.close()
  }

  /** @param isBroken true if the item is invalid the first time that it is read */
  add(isBroken = false): void {
    this.#last++
    if (isBroken) this.#broken = this.#last
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #read({ headers }: HandlerRequest) {
    const after = (headers as Record<string, string | undefined>)['last-event-id']
    this.asked.push(after)
    return { status: 200, body: this.#itemsAfter(Number(after ?? 0)) }
  }

  async *#itemsAfter(after: number) {
    for (let id = after + 1; ; id++) {
      while (id > this.#last) await new Promise<void>((resolve) => this.#waiting.push(resolve))
      const isBroken = id === this.#broken
      if (isBroken) this.#broken = 0
      const data = isBroken ? { name: 'no id' } : { id: BigInt(id) + 2n ** 60n }
      yield { event: 'toy', id: String(id), retry: 50, data }
    }
  }
}

async function startFeed(t: Test): Promise<Feed> {
  const feed = new Feed(await freePort())
  await feed.start()
  t.teardown(() => feed.stop())
  return feed
}

// Adds the items that a reader must get, and everything that may go wrong in between.
async function play(feed: Feed, count: () => number | Promise<number>): Promise<void> {
  const reached = (least: number) => until(async () => (await count()) >= least)
  feed.add()
  await reached(1)
  feed.add()
  feed.add(true)
  await reached(3)
  await feed.stop()
  feed.add()
  await feed.start()
  await reached(4)
  feed.add()
  await reached(5)
}

const ids = ['1', '2', '3', '4', '5']

t.test('the client reads each event once, across a broken item and a restart', async (t) => {
  const feed = await startFeed(t)
  const retries: string[] = []
  const client = buildClient(clientTable(contract), {
    baseUrl: new URL(feed.url).origin,
    onRetry: ({ error }) => void retries.push(error.code),
  })
  const read: unknown[] = []
  const reading = (async () => {
    for await (const item of client.stream('watchToys')) if (read.push(item) === ids.length) break
  })()
  await play(feed, () => read.length)
  await reading
  const event = (id: string) => ({ event: 'toy', id, retry: 50, data: { id: BigInt(id) + 2n ** 60n } })
  t.strictSame(read, ids.map(event))
  t.strictSame([...new Set(feed.asked)], [undefined, '2', '3'])
  t.ok(retries.includes('incomplete_answer'), retries.join())
})

t.test('an EventSource reads each event once', { skip: browserIsMissing }, async (t) => {
  const feed = await startFeed(t)
  const page = await openPage(t)
  const origin = new URL(feed.url).origin
  await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  await page.goto(`${origin}/page`)
  await page.evaluate(`{
    window.read = []
    const source = new EventSource('/feed')
    source.addEventListener('toy', ({ lastEventId, data }) => window.read.push([lastEventId, data]))
  }`)
  await play(feed, () => page.evaluate('window.read.length'))
  const expected = ids.map((id) => [id, `{"id":${BigInt(id) + 2n ** 60n}}`])
  t.strictSame(await page.evaluate('window.read'), expected)
})

// A feed of 10 items that sends the position where its reader begins. A reader's first connection is cut
// after so many bytes of the stream up to the eleventh item. While the reader is away, the twelfth is added;
// then it gets the thirteenth.
const cutContract = await contractOf({
  openapi: '3.2.0',
  paths: {
    '/feed': {
      get: {
        operationId: 'watchToys',
        parameters: [
          { in: 'query', name: 'cut', required: true, schema: { type: 'integer' } },
          { in: 'header', name: 'Last-Event-ID', schema: { type: 'string' } },
        ],
        responses: { 200: { description: 'Toys.', content: { 'text/event-stream': { itemSchema } } } },
      },
    },
  },
})

async function startCutFeed(t: Test) {
  /**
   * For each cut: the bytes that came through on the first connection, and the ids that the reader asked for.
   */
  const readers = new Map<number, { passed: string; asked: (string | undefined)[] }>()
  const app = await buildEngine(cutContract, () => async ({ query, headers }: HandlerRequest) => {
    const { cut } = query as { cut: number }
    const { asked } = readers.get(cut) as { asked: (string | undefined)[] }
    const after = (headers as Record<string, string | undefined>)['last-event-id']
    asked.push(after)
    return { status: 200, body: asked.length === 1 ? toysFrom(10, 11) : toysFrom(Number(after ?? 12), 13) }
  })
  t.teardown(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const proxy = net.createServer((socket) => {
    const upstream = net.connect(Number(port), '127.0.0.1')
    socket.on('error', () => {}).on('close', () => upstream.destroy())
    upstream.on('error', () => {}).on('close', () => socket.destroy())
    socket.once('data', (head) => {
      const cut = Number(/cut=(\d+)/.exec(String(head))?.[1])
      const isFirst = !readers.has(cut)
      const reader = readers.get(cut) ?? { passed: '', asked: [] }
      readers.set(cut, reader)
      upstream.write(head)
      if (!isFirst) return upstream.pipe(socket)
      return upstream.on('data', (bytes) => {
        const passed = bytes.subarray(0, cut - reader.passed.length)
        reader.passed += passed.toString('latin1')
        if (reader.passed.length < cut) socket.write(passed)
        else socket.end(passed, () => upstream.destroy())
      })
    })
  })
  t.teardown(() => proxy.close())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port: proxyPort } = proxy.address() as net.AddressInfo
  return { origin: `http://127.0.0.1:${proxyPort}`, readers }
}

async function* toysFrom(begin: number, last: number) {
  yield { id: String(begin), retry: 10 }
  for (let id = begin + 1; id <= last; id++) yield { event: 'toy', id: String(id), data: { id: BigInt(id) } }
  await new Promise(() => {}) // until its reader is cut, or has seen enough
}

/** Reads up to the thirteenth item. Resolves with the ids that it got. */
type ReadCut = (origin: string, cut: number) => Promise<readonly (string | undefined)[]>

/**
 * @param headStep the number of bytes between two cuts in the head
 * @param mayDrop true for a reader that may lose the last bytes that arrived before a cut, as Chromium does on a
 * busy machine: it then goes on from an earlier event, or begins anew
 */
async function playCuts(
  t: Test,
  read: ReadCut,
  { atOnce = Number.POSITIVE_INFINITY, headStep = 1, mayDrop = false } = {},
): Promise<void> {
  const { origin, readers } = await startCutFeed(t)
  const whole = 1_000_000
  const first = new AbortController()
  void fetch(`${origin}/feed?cut=${whole}`, { signal: first.signal }).catch(() => {})
  await until(() => /id: 11\n.*\n\n/s.test(readers.get(whole)?.passed ?? ''))
  first.abort()
  const sent = readers.get(whole)?.passed ?? ''
  const bodyAt = sent.indexOf('\r\n\r\n')
  // Every byte of the body in a nightly run; otherwise every third.
  const bodyStep = isNightly ? 1 : 3
  const cuts = Array.from(sent, (_, i) => i).filter(
    (i) => i % (i > bodyAt ? bodyStep : headStep * bodyStep) === 0,
  )
  const found = new Map<number, readonly (string | undefined)[]>()
  const one = async (left: number[]) => {
    for (let cut = left.pop(); cut !== undefined; cut = left.pop()) found.set(cut, await read(origin, cut))
  }
  const left = [...cuts]
  await Promise.all(Array.from({ length: Math.min(atOnce, cuts.length) }, () => one(left)))
  let begun = 0
  for (const cut of cuts) {
    const { passed, asked } = readers.get(cut) ?? { passed: '', asked: [] }
    const passedIds = ['id: 10\nretry: 10\n\n', 'data: {"id":11}\n\n'].filter((each) => passed.includes(each))
    const from = asked.at(-1)
    const last = [undefined, '10', '11'].slice(0, passedIds.length + 1)
    const hasBegun = mayDrop ? from !== undefined : passedIds.length > 0
    if (hasBegun) begun++
    const title = `cut behind ${JSON.stringify(passed.slice(-20))}`
    if (mayDrop) t.ok(last.includes(from), title)
    else t.equal(from, last.at(-1), title)
    t.strictSame(found.get(cut), hasBegun ? ['11', '12', '13'] : ['13'])
  }
  t.ok(begun > 30 / bodyStep, 'most of what is behind the head')
}

t.test('the client, cut at any byte, misses nothing behind where it began', async (t) => {
  await playCuts(t, async (origin, cut) => {
    const ids: (string | undefined)[] = []
    const client = buildClient(clientTable(cutContract), { baseUrl: origin })
    for await (const item of client.stream('watchToys', { query: { cut } })) {
      const { id } = item as { id: string }
      if (ids.push(id) && id === '13') break
    }
    return ids
  })
})

t.test('events.js, cut at any byte, misses nothing behind where it began', async (t) => {
  const { events } = await import(pathToFileURL(path.join(projectRoot, 'docs/examples/events.js')).href)
  await playCuts(t, async (origin, cut) => {
    const ids: string[] = []
    for await (const { id } of events(`${origin}/feed?cut=${cut}`, 'secret'))
      if (ids.push(id) && id === '13') break
    return ids
  })
})

t.test('an EventSource, cut at any byte, misses nothing behind', { skip: browserIsMissing }, async (t) => {
  const page = await openPage(t)
  const open = async (origin: string) => {
    await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    if (!page.url().startsWith(origin)) await page.goto(`${origin}/page`)
  }
  let opened: Promise<void> | undefined
  await playCuts(
    t,
    async (origin, cut) => {
      opened ??= open(origin)
      await opened
      return page.evaluate(`new Promise((resolve) => {
        const ids = []
        const source = new EventSource('/feed?cut=${cut}')
        source.addEventListener('toy', ({ lastEventId }) => {
          if (ids.push(lastEventId) && lastEventId === '13') resolve(ids)
          if (lastEventId === '13') source.close()
        })
      })`)
    },
    { atOnce: 4, headStep: 100, mayDrop: true }, // a browser has six connections to a server, and waits 3 s without `retry`
  )
})

// Starts a feed that needs a key. It is busy at every other request, and ends after two events.
async function startGuardedFeed(t: Test) {
  const asked: Record<string, string | undefined>[] = []
  const guarded = await contractOf({
    openapi: '3.2.0',
    security: [{ key: [] }],
    paths: {
      '/feed': {
        get: {
          operationId: 'watchToys',
          parameters: [{ in: 'header', name: 'Last-Event-ID', schema: { type: 'string' } }],
          responses: {
            200: { description: 'Toys.', content: { 'text/event-stream': { itemSchema } } },
            503: { description: 'Busy.', headers: { 'Retry-After': { schema: { type: 'integer' } } } },
          },
        },
      },
    },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  })
  const app = await buildEngine(guarded, () => async ({ headers }: HandlerRequest) => {
    asked.push(headers as Record<string, string | undefined>)
    if (asked.length % 2 === 1) return { status: 503, headers: { 'Retry-After': 1 } }
    return { status: 200, body: twoFrom(Number(asked.at(-1)?.['last-event-id'] ?? 0)) }
  })
  t.teardown(() => app.close())
  return { asked, origin: await app.listen({ port: 0, host: '127.0.0.1' }) }
}

async function* twoFrom(after: number) {
  for (const id of [after + 1, after + 2])
    yield { event: 'toy', id: String(id), retry: 10, data: { id: BigInt(id) + 2n ** 60n, name: 'Zoë' } }
}

t.test('a page with a key reads by fetch what no EventSource does', { skip: browserIsMissing }, async (t) => {
  const { asked, origin } = await startGuardedFeed(t)
  const page = await openPage(t)
  const reader = readFileSync(path.join(projectRoot, 'docs/examples/events.js'), 'utf8')
  await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  await page.route(`${origin}/events.js`, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: reader }),
  )
  await page.goto(`${origin}/page`)
  const ended = await page.evaluate(`new Promise((resolve) => {
    const source = new EventSource('/feed')
    source.onerror = () => resolve([source.readyState, EventSource.CLOSED])
  })`)
  t.strictSame(ended, [2, 2], 'without a key it ends for good')
  const read = await page.evaluate(`(async () => {
    const { events } = await import('/events.js')
    const read = []
    for await (const { event, id, data } of events('/feed', 'secret')) if (read.push([event, id, data]) === 4) return read
  })()`)
  const expected = ['1', '2', '3', '4'].map((id) => [
    'toy',
    id,
    `{"id":${BigInt(id) + 2n ** 60n},"name":"Zoë"}`,
  ])
  t.strictSame(read, expected)
  t.strictSame(
    asked.map((headers) => headers['last-event-id']),
    [undefined, undefined, '2', '2'],
    'and goes on behind its last event, after a 503 too',
  )
  const refused = page.evaluate(
    `import('/events.js').then(({ events }) => events('/nothing', 'secret').next())`,
  )
  await t.rejects(refused, /404: /)
})

// Reconnects like the example in httpx-sse's README.
const python = `
import sys, time, httpx
from httpx_sse import connect_sse
last, wait, count = "", 0.05, 0
while count < 5:
    try:
        headers = {"Last-Event-ID": last} if last else {}
        with httpx.Client(timeout=20) as client, connect_sse(client, "GET", sys.argv[1], headers=headers) as source:
            for event in source.iter_sse():
                last, wait, count = event.id, (event.retry or 50) / 1000, count + 1
                print(event.id, event.event, event.data, flush=True)
                if count == 5: break
    except httpx.TransportError as error:
        print(type(error).__name__, file=sys.stderr)
    time.sleep(wait)
`
const interpreter = process.env.PYTHON ?? 'python3'
const pythonIsMissing = await run(interpreter, ['-c', 'import httpx_sse']).then(
  () => false,
  () => 'httpx-sse is not installed',
)

t.test('httpx-sse reads each event once', { skip: pythonIsMissing }, async (t) => {
  const feed = await startFeed(t)
  const file = path.join(temporaryDirectory(t), 'read.py')
  writeFileSync(file, python)
  const child = spawn(interpreter, [file, feed.url])
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  await play(feed, () => printed.split('\n').length - 1)
  await once(child, 'close')
  t.equal(printed, ids.map((id) => `${id} toy {"id":${BigInt(id) + 2n ** 60n}}\n`).join(''))
})

const curlIsMissing = await run('curl', ['--version']).then(
  () => false,
  () => 'curl is not installed',
)

t.test('curl prints each event as it comes, and tells a cut', { skip: curlIsMissing }, async (t) => {
  const feed = await startFeed(t)
  const child = spawn('curl', ['-sSN', feed.url])
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  for (const id of [1, 2]) {
    feed.add()
    await until(() => printed.includes(`id: ${id}\n`))
  }
  feed.add(true)
  const [code] = await once(child, 'close')
  t.equal(code, 18, 'a partial file')
  t.equal(printed.match(/^data: /gm)?.length, 2)
})

t.test('a slow reader gets each event, and the feed waits for it', async (t) => {
  const total = 20_000
  const text = 'x'.repeat(1_000)
  let produced = 0
  const app = await buildEngine(contract, () => async () => ({
    status: 200,
    body: (async function* () {
      while (produced < total) yield { id: String(++produced), data: { id: 1n, name: text } }
    })(),
  }))
  t.teardown(() => app.close())
  const baseUrl = await app.listen({ port: 0, host: '127.0.0.1' })
  const stream = buildClient(clientTable(contract), { baseUrl }).stream('watchToys', { reconnect: false })
  await stream.next()
  await new Promise((resolve) => setTimeout(resolve, 500)) // a feed that does not wait would end by then
  t.ok(produced < total / 2, `${produced} of ${total}`)
  let count = 1
  for await (const item of stream) {
    count++
    if (count === total) t.match(item, { id: String(total) })
  }
  t.equal(count, total)
})
