// Failures of the network and of servers; a small server produces each.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { freePort, listen } from 'contract-testing/port'
import t from 'tap'
import { type GivenKey, readCredentials } from '../src/credentials.js'
import type { ApiError } from '../src/error.js'
import { type ExchangeOptions, exchange } from '../src/exchange.js'
import type { Retry } from '../src/options.js'
import type { Outgoing } from '../src/outgoing.js'
import { CallQueues } from '../src/queue.js'
import type { EncodedBody } from '../src/request-body.js'

const get = { id: 'get', method: 'GET', path: '/', security: [['token']], schemas: {} }
const post = { ...get, id: 'post', method: 'POST' }

function optionsOf(waits: number[], others: Partial<ExchangeOptions> = {}): ExchangeOptions {
  const clock = { now: Date.now, random: () => 1, wait: async (ms: number) => void waits.push(ms) }
  const limits = { timeoutMs: 5_000, attemptsMax: 3, waitMaxMs: 90_000, silenceMaxMs: 60_000 }
  const queues = new CallQueues({ inFlightMax: 32, clock, onWait: () => {} })
  const credentials = credentialsOf('k')
  return {
    fetch,
    credentials,
    queues,
    clock,
    ...limits,
    onRetry: () => {},
    warnIfDeprecated: () => {},
    ...others,
  }
}

function credentialsOf(key: GivenKey) {
  return readCredentials({ securitySchemes: { token: { in: 'authorization', name: 'bearer' } } }, { key })
}

function creationAt(url: string, content: EncodedBody['content']): Outgoing {
  const { signal } = new AbortController()
  return { url, method: 'POST', headers: new Headers(), content, signal }
}

t.test(
  'an attempt without a response in time fails, and is retried only for idempotent requests',
  async (t) => {
    const url = await listen(t, () => {})
    const waits: number[] = []
    const options = optionsOf(waits, { timeoutMs: 50 })
    const error = { code: 'timeout', message: 'No response within 50 ms.', status: undefined }
    await t.rejects(exchange(new Request(url, { method: 'POST' }), post, options), error)
    t.strictSame(waits, [])
    await t.rejects(exchange(new Request(url), get, options), error)
    t.strictSame(waits, [500, 1_000])
  },
)

t.test('a time limit beyond that of setTimeout does not end at once', async (t) => {
  const url = await listen(t, (_, response) => void setImmediate(() => response.end('[]')))
  for (const timeoutMs of [3e9, Number.POSITIVE_INFINITY])
    t.equal(await (await exchange(new Request(url), get, optionsOf([], { timeoutMs }))).text(), '[]')
})

t.test('the time limit includes the body', async (t) => {
  const url = await listen(t, (_, response) => void response.write('['))
  await t.rejects(exchange(new Request(url), post, optionsOf([], { timeoutMs: 50 })), { code: 'timeout' })
})

// Without its limit, each would wait for ever: a test that hangs fails.
const endings: [
  title: string,
  end: (controller: AbortController) => Partial<ExchangeOptions>,
  code: string,
][] = [
  ['the time limit ends', () => ({ timeoutMs: 1_000 }), 'timeout'],
  [
    'an abort ends',
    (controller) => {
      setTimeout(() => controller.abort(), 1_000)
      return {}
    },
    'aborted',
  ],
]

for (const [title, end, code] of endings) {
  t.test(`${title} a stalled body after a garbage collection, with its connection`, async (t) => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    let closed: Promise<unknown> | undefined
    const url = await listen(t, (request, response) => {
      closed = new Promise((resolve) => request.socket.once('close', resolve))
      response.write('[')
    })
    const controller = new AbortController()
    const collecting = setInterval(collect, 20)
    t.teardown(() => clearInterval(collecting))
    const request = new Request(url, { method: 'POST', signal: controller.signal })
    await t.rejects(exchange(request, post, optionsOf([], end(controller))), { code })
    await closed
  })

  t.test(`${title} a call whose fetch ignores signals`, async (t) => {
    const silent = new Promise<Response>(() => {})
    const stalled = new Response(new ReadableStream({ pull: () => new Promise(() => {}) }))
    for (const [answer, status] of [
      [silent, undefined],
      [stalled, 200],
    ] as const) {
      const controller = new AbortController()
      const request = new Request('http://a/', { method: 'POST', signal: controller.signal })
      const options = { fetch: async () => answer, ...end(controller) }
      await t.rejects(exchange(request, post, optionsOf([], options)), { code, status })
    }
  })
}

t.test('a body without streams is read whole', async (t) => {
  const answer = Object.defineProperty(new Response('[1]'), 'body', { value: undefined })
  const options = optionsOf([], { fetch: async () => answer })
  t.equal(await (await exchange(new Request('http://a/'), get, options)).text(), '[1]')
})

t.test('a call can be aborted while the server handles it', async (t) => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const url = await listen(t, () => controller.abort(reason))
  const request = new Request(url, { signal: controller.signal })
  await t.rejects(exchange(request, get, optionsOf([])), { code: 'aborted', cause: reason })
})

t.test('a broken connection is retried only for idempotent requests', async (t) => {
  let requests = 0
  const url = await listen(t, (request, response) => {
    requests++
    if (requests < 3) request.socket.destroy()
    else response.end('[]')
  })
  const waits: number[] = []
  t.equal(await (await exchange(new Request(url), get, optionsOf(waits))).text(), '[]')
  t.strictSame(waits, [500, 1_000])
  requests = 0
  const creation = creationAt(url, '{}')
  await t.rejects(exchange(creation, post, optionsOf(waits)), { code: 'unreachable' })
  t.equal(requests, 1, 'a POST is sent once')
})

t.test('each attempt sends the whole body', async (t) => {
  const bodies: string[] = []
  const url = await listen(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    response.writeHead(bodies.length < 3 ? 503 : 200).end('{}')
  })
  const request = creationAt(url, '{"name":"Rex"}')
  await exchange(request, { ...post, idempotent: true }, optionsOf([]))
  t.strictSame(bodies, Array(3).fill('{"name":"Rex"}'))
})

t.test('a body that can be read once is sent once, as it is read', async (t) => {
  const sizes: number[] = []
  const url = await listen(t, async (request, response) => {
    let size = 0
    for await (const chunk of request) size += chunk.length
    sizes.push(size)
    response.writeHead(503).end('{}')
  })
  const chunks = new ReadableStream({
    start(controller) {
      for (const size of [3, 4]) controller.enqueue(new Uint8Array(size))
      controller.close()
    },
  })
  const idempotent = { ...post, idempotent: true } as const
  await t.rejects(exchange(creationAt(url, chunks), idempotent, optionsOf([])), {
    code: 'unexpected_answer',
    status: 503,
  })
  t.strictSame(sizes, [7])
})

t.test('a refused connection is reported as unreachable, with each retry', async (t) => {
  const request = new Request(`http://127.0.0.1:${await freePort()}/`)
  const retries: Retry[] = []
  const exchanged = exchange(request, get, optionsOf([], { onRetry: (retry) => retries.push(retry) }))
  const message = 'The service cannot be reached (ECONNREFUSED).'
  const error = await t.rejects(exchanged, { code: 'unreachable', operation: 'get', message, cause: Error })
  t.match(retries, [
    { operation: 'get', attempt: 1, waitMs: 500, error: { code: 'unreachable' } },
    { operation: 'get', attempt: 2, waitMs: 1_000, error: { code: 'unreachable' } },
  ])
  t.strictSame(JSON.parse(JSON.stringify(error)), {
    name: 'ApiError',
    code: 'unreachable',
    message,
    operation: 'get',
  })
})

t.test('a host or certificate that is wrong is not tried again', async (t) => {
  for (const code of ['ENOTFOUND', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
    const waits: number[] = []
    const fail = async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
    }
    const exchanged = exchange(new Request('http://a/'), get, optionsOf(waits, { fetch: fail }))
    await t.rejects(exchanged, { code: 'unreachable', message: `The service cannot be reached (${code}).` })
    t.strictSame(waits, [])
  }
})

const strange: [title: string, status: number, body: string, message: RegExp][] = [
  ['an HTML page of a proxy', 502, '<html>Bad Gateway</html>', /HTTP status 502/],
  ['an empty body', 500, '', /HTTP status 500/],
  ['other JSON', 404, '[1]', /HTTP status 404/],
  ['null', 404, 'null', /HTTP status 404/],
]
const repeated = [500, 502]
for (const [title, status, body, message] of strange) {
  t.test(`an error response with ${title} is reported by its status`, async (t) => {
    const url = await listen(t, (_, response) => void response.writeHead(status).end(body))
    const expected = { code: 'unexpected_answer', status, message }
    const waits: number[] = []
    await t.rejects(exchange(new Request(url), get, optionsOf(waits)), expected)
    t.equal(waits.length, repeated.includes(status) ? 2 : 0, 'retried if the status may pass')
  })
}

t.test('a 304 and a redirect that is not followed have their own error codes', async (t) => {
  const url = await listen(t, ({ url: path = '' }, response) => {
    response.writeHead(Number(path.slice(1)), { ETag: '"1"' }).end()
  })
  const answer = (status: number) => exchange(new Request(`${url}/${status}`), get, optionsOf([]))
  const notModified = await t.rejects(answer(304), { code: 'not_modified', status: 304 })
  t.equal((notModified as ApiError).response?.headers.get('ETag'), '"1"')
  await t.rejects(answer(300), { code: 'redirect', status: 300 })
  await t.rejects(answer(302), { code: 'redirect', status: 302 })
})

t.test('a redirect of a creation is not followed, because fetch would follow it with a GET', async (t) => {
  const asked: unknown[] = []
  const url = await listen(t, ({ url: path = '', method }, response) => {
    asked.push(method)
    response.writeHead(Number(path.slice(1)), { Location: '/200' }).end('[]')
  })
  const create = (status: number) =>
    exchange(new Request(`${url}/${status}`, { method: 'POST' }), post, optionsOf([]))
  for (const status of [301, 302, 303, 307, 308])
    await t.rejects(create(status), { code: 'redirect', status, message: /a redirect to \/200 that was not/ })
  t.strictSame(asked, ['POST', 'POST', 'POST', 'POST', 'POST'])
  const hidden = async () => Response.error() // what a browser makes of a redirect
  const inBrowser = exchange(new Request(url, { method: 'POST' }), post, optionsOf([], { fetch: hidden }))
  await t.rejects(inBrowser, { code: 'redirect' })
})

t.test('a redirect of a page is followed', async (t) => {
  const url = await listen(t, ({ url: path = '' }, response) => {
    response.writeHead(path === '/200' ? 200 : 302, { Location: '/200' }).end('[]')
  })
  t.equal((await exchange(new Request(url), get, optionsOf([]))).url, `${url}/200`)
})

t.test('redirects without an end, or to what is no web address, are an error at once', async (t) => {
  for (const [target, requestsMax, reason] of [
    ['/again', 21, 'redirect count exceeded'],
    ['ftp://a/', 1, 'URL scheme must be a HTTP(S) scheme'],
    ['http://[', 1, 'Invalid URL'],
  ] as const) {
    let requests = 0
    const url = await listen(t, (_, response) => {
      requests++
      response.writeHead(302, { Location: target }).end()
    })
    const waits: number[] = []
    const message = `The redirects of the service lead nowhere: ${reason}.`
    await t.rejects(exchange(new Request(url), get, optionsOf(waits)), { code: 'redirect', message })
    t.ok(requests <= requestsMax, `${requests} requests`)
    t.strictSame(waits, [])
  }
})

t.test('a response whose body is cut off is an error with its status, and is retried', async (t) => {
  for (const [head, status] of [
    ['HTTP/1.1 200 OK\r\nContent-Length: 99', 200],
    ['HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked', 201],
    ['HTTP/1.1 400 Bad Request\r\nContent-Length: 99', 400],
  ] as const) {
    let requests = 0
    const url = await listen(t, ({ socket }) => {
      requests++
      socket.end(`${head}\r\nContent-Type: application/json\r\nX-Request-Id: r1\r\n\r\n{"id"`)
    })
    const expected = {
      code: 'incomplete_answer',
      message: `The connection broke within the body of the response (HTTP status ${status}).`,
      ...{ status, requestId: 'r1', response: { status, url: `${url}/` }, cause: Error },
    }
    const waits: number[] = []
    await t.rejects(exchange(new Request(url, { method: 'POST' }), post, optionsOf(waits)), expected)
    t.equal(requests, 1, 'a POST is sent once')
    await t.rejects(exchange(new Request(url), get, optionsOf(waits)), expected)
    t.strictSame(waits, [500, 1_000])
  }
})

t.test('a cut 429 is waited for as long as it says', async (t) => {
  const url = await listen(t, ({ socket }) => {
    socket.end('HTTP/1.1 429 Too Many\r\nRetry-After: 100\r\nContent-Length: 99\r\n\r\n{')
  })
  const waits: number[] = []
  const exchanged = exchange(new Request(url), get, optionsOf(waits))
  await t.rejects(exchanged, { code: 'incomplete_answer', status: 429, retryAfterMs: 100_000 })
  t.strictSame(waits, [])
})

t.test('the key of a function is asked for at each attempt, within the time limit', async (t) => {
  const keys: unknown[] = []
  const url = await listen(t, ({ headers }, response) => {
    keys.push(headers.authorization)
    response.writeHead(keys.length < 3 ? 503 : 200).end('[]')
  })
  let asked = 0
  await exchange(
    new Request(url),
    get,
    optionsOf([], { credentials: credentialsOf(async () => ` key${++asked}\n`) }),
  )
  t.strictSame(keys, ['Bearer key1', 'Bearer key2', 'Bearer key3'])

  const never = credentialsOf(() => new Promise<string>(() => {}))
  const late = exchange(
    new Request(url),
    get,
    optionsOf([], { credentials: never, timeoutMs: 20, attemptsMax: 1 }),
  )
  await t.rejects(late, { code: 'timeout', message: 'No key within 20 ms.' })
  const controller = new AbortController()
  const request = new Request(url, { signal: controller.signal })
  const aborted = exchange(request, get, optionsOf([], { credentials: never }))
  controller.abort('enough')
  await t.rejects(aborted, { code: 'aborted', cause: 'enough' })

  const fault = new Error('no token')
  const failing = exchange(
    new Request(url),
    get,
    optionsOf([], { credentials: credentialsOf(() => Promise.reject(fault)) }),
  )
  t.equal(await failing.catch((error) => error), fault, 'its error is that of the call')
  for (const key of [() => 'a b', () => undefined as never, async () => 'line\nbreak'])
    await t.rejects(exchange(new Request(url), get, optionsOf([], { credentials: credentialsOf(key) })), {
      name: 'TypeError',
      message: 'key must be a string of printable ASCII characters without spaces',
    })
  t.equal(keys.length, 3)
})

t.test('a response without a body succeeds', async (t) => {
  const url = await listen(t, (_, response) => void response.writeHead(204).end())
  const answer = await exchange(new Request(url), get, optionsOf([]))
  t.strictSame([answer.status, await answer.text()], [204, ''])
})
