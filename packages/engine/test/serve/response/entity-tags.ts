// Entity tags of reads that declare a 304 (RFC 9110, sections 8.8.3 and 13.1.2).

import { anyError, contractWith, startEngine } from 'contract-testing/engine'
import t from 'tap'

const json = { description: 'A.', content: { 'application/json': { schema: { type: 'object' } } } }
const link = { Link: { schema: { type: 'string' } } }
const responses = { 200: { ...json, headers: link }, 202: json, default: anyError }
const conditional = { ...responses, 304: { description: 'The same.' } }

/** Starts an operation whose handler responds with `answer.now`. */
async function start(t: Parameters<typeof startEngine>[0], route: object, more: object = {}) {
  const answer: { now: object } = { now: { status: 200, body: { a: 1 } } }
  const contract = await contractWith({ values: { method: 'get', ...route } }, more)
  const engine = await startEngine(t, contract, { values: async () => answer.now })
  const call = (headers: Record<string, string> = {}, method = 'GET') =>
    engine.call(method, '/values', { headers })
  return { ...engine, answer, call }
}

t.test('a read that declares a 304', async (t) => {
  const { answer, call } = await start(t, { responses: conditional })
  const first = await call()
  const etag = first.headers.get('etag') ?? ''
  t.match(first, { status: 200, text: '{"a":1}' })
  t.match(etag, /^"[\w-]{27}"$/)
  t.equal(first.headers.get('cache-control'), 'private, no-cache, must-revalidate')

  const same = [etag, `W/${etag}`, `"x", ${etag}`, `"a,b" ,${etag}`, '*', ' * ']
  for (const ifNoneMatch of same) {
    const again = await call({ 'if-none-match': ifNoneMatch })
    t.match(again, { status: 304, text: '' }, ifNoneMatch)
    t.equal(again.headers.get('etag'), etag)
    t.equal(again.headers.get('cache-control'), 'private, no-cache, must-revalidate')
    t.equal(again.headers.get('content-type'), null)
  }
  for (const ifNoneMatch of ['"x"', etag.slice(1, -1), '', '"', `"${'x'.repeat(4_000)}`, '"*"'])
    t.equal((await call({ 'if-none-match': ifNoneMatch })).status, 200, ifNoneMatch.slice(0, 20))

  answer.now = { status: 200, body: { a: 2 } }
  t.match(await call({ 'if-none-match': etag }), { status: 200, text: '{"a":2}' }, 'with another body')
  answer.now = { status: 200, body: { a: 1 }, headers: { Link: '<values?after=1>; rel="next"' } }
  t.equal((await call({ 'if-none-match': etag })).status, 200, 'with a link that was not there')
})

t.test('HEAD has the tag and the length of GET', async (t) => {
  const { call } = await start(t, { responses: conditional })
  const get = await call()
  const head = await call({}, 'HEAD')
  const known = await call({ 'if-none-match': get.headers.get('etag') ?? '' }, 'HEAD')
  t.match([head.status, known.status], [200, 304])
  for (const { headers, text } of [head, known]) {
    t.equal(text, '')
    for (const name of ['etag', 'content-length', 'cache-control'])
      t.equal(headers.get(name), get.headers.get(name), name)
  }
})

t.test('only a 200 is conditional', async (t) => {
  const { answer, call } = await start(t, { responses: conditional })
  for (const other of [
    { status: 202, body: {} },
    { status: 404, body: { code: 'not_here', message: 'x', status: 404 } },
  ]) {
    answer.now = other
    const response = await call({ 'if-none-match': '*' })
    t.equal(response.status, other.status)
    t.equal(response.headers.get('etag'), null)
  }
})

t.test('a handler may set its own', async (t) => {
  const headers = { ETag: { schema: { type: 'string' } }, 'Cache-Control': { schema: { type: 'string' } } }
  const own = { ...conditional, 200: { ...json, headers } }
  const { answer, call } = await start(t, { responses: own })
  answer.now = { status: 200, body: {}, headers: { ETag: '"7"', 'Cache-Control': 'max-age=60' } }
  const response = await call()
  t.equal(response.headers.get('etag'), '"7"')
  t.equal(response.headers.get('cache-control'), 'max-age=60')
  t.equal((await call({ 'if-none-match': '"7"' })).status, 304)
})

t.test('bytes that are no text have tags of their own, beside a link too', async (t) => {
  const bytes = { description: 'A.', content: { 'application/octet-stream': {} }, headers: link }
  const { answer, call } = await start(t, { responses: { ...conditional, 200: bytes } })
  const tagOf = async (...body: number[]) => {
    answer.now = {
      status: 200,
      body: Uint8Array.from(body),
      headers: { Link: '<values?after=1>; rel="next"' },
    }
    return (await call()).headers.get('etag')
  }
  t.not(await tagOf(0x80), await tagOf(0x81))
  t.equal(await tagOf(0x80), await tagOf(0x80))
})

t.test('without a declared 304, and on a POST, there is none', async (t) => {
  for (const [method, route] of [
    ['GET', { responses }],
    ['POST', { method: 'post', responses: conditional }],
  ] as const) {
    const { call } = await start(t, route)
    const response = await call({ 'if-none-match': '*' }, method)
    t.equal(response.status, 200)
    t.equal(response.headers.get('etag'), null)
  }
})
