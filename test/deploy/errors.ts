// What nginx and HAProxy respond by themselves, with the files of deploy/, is an error of the contract: its
// body, its status, and the headers that the contract says of it.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type Balancer, balancers, nginx, startBalancer } from '../fixtures/balancers.js'

interface Declared {
  readonly $ref: string
}

const { components, paths } = parse(readFileSync(path.join(projectRoot, 'openapi.yaml'), 'utf8'))
const { Error: errorSchema, ErrorCode } = components.schemas
const statuses: Readonly<Record<string, number>> = ErrorCode['x-enumStatuses']
const requestId = new RegExp(components.headers.RequestId.schema.pattern)

/** Whether the contract declares `Retry-After` of a creation's response with this status. */
function hasRetryAfter(status: number): boolean {
  const responses: Readonly<Record<string, Declared>> = paths['/pets'].post.responses
  const name = (responses[status] ?? responses.default)?.$ref.split('/').at(-1) ?? ''
  return 'Retry-After' in components.responses[name].headers
}

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

async function ask(port: number, request: string): Promise<Answer> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => {})
  socket.write(request)
  return answerOn(socket)
}

async function answerOn(socket: net.Socket): Promise<Answer> {
  let all = ''
  for await (const bytes of socket) all += bytes
  const [head = '', text = ''] = all.split(/\r\n\r\n(.*)/s)
  const [first = '', ...fields] = head.split('\r\n')
  const pairs = fields.map((field) => field.split(/: (.*)/s))
  const headers = new Map(pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]))
  return { status: Number(first.split(' ')[1]), headers, text }
}

/** Checks that a response is the error of this code, as the contract declares it. */
function checkError(t: Test, { status, headers, text }: Answer, code: string, title: string): void {
  t.equal(status, statuses[code], `${title}: ${status} ${text.slice(0, 200)}`)
  t.match(headers.get('content-type'), /^application\/json\b/, title)
  t.equal(headers.get('cache-control'), 'no-store', title)
  t.match(headers.get('x-request-id') ?? '', requestId, title)
  t.equal(headers.get('retry-after'), hasRetryAfter(status) ? '1' : undefined, title)
  const body = JSON.parse(text)
  t.strictSame(Object.keys(body).sort(), [...errorSchema.required].sort(), title)
  t.match(body, { code, message: /./, status }, title)
}

/** An instance that closes the connection, responds a 502 of its own, or nothing, by the path. */
async function startUpstream(t: Test) {
  const ids: unknown[] = []
  const server = createServer(({ url, headers, socket }, response) => {
    ids.push(headers['x-request-id'])
    if (url === '/close') socket.destroy()
    if (url === '/own') response.writeHead(502, { 'X-Request-Id': 'own' }).end('its own')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return { port: (server.address() as AddressInfo).port, ids }
}

const get = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: a\r\n${more}Connection: close\r\n\r\n`
/** The time for a response, in the file of either, which is too long for a test. */
const impatient = (text: string) => text.replace(/(timeout server |proxy_read_timeout )35s/, '$1500ms')
const isHaproxy = ({ file }: Balancer) => file.endsWith('.cfg')

for (const balancer of balancers) {
  const { file, skip } = balancer
  const options = { skip }
  t.test(`${file}: without an answer of an instance there is the contract's 503`, options, async (t) => {
    const { port: instance, ids } = await startUpstream(t)
    const port = await startBalancer(t, balancer, instance, impatient)
    checkError(t, await ask(port, get('/close')), 'unavailable', 'it closes the connection')
    checkError(t, await ask(port, get('/hang')), 'unavailable', 'it does not respond in time')
    const head = await ask(port, get('/close').replace('GET', 'HEAD'))
    t.match({ status: head.status, text: head.text }, { status: 503, text: '' }, 'a HEAD')
    const named = await ask(port, get('/close', 'X-Request-Id: a.b-c_1\r\n'))
    t.equal(named.headers.get('x-request-id'), 'a.b-c_1', 'a client names its request')
    t.equal(ids.at(-1), 'a.b-c_1', 'for the log of an instance, too')
    for (const wrong of ['a b', 'a,b', 'a'.repeat(129)]) {
      const { headers } = await ask(port, get('/close', `X-Request-Id: ${wrong}\r\n`))
      t.match(headers.get('x-request-id'), requestId)
      t.not(headers.get('x-request-id'), wrong)
      t.equal(ids.at(-1), headers.get('x-request-id'), 'one that it made is in that log')
    }
  })

  t.test(`${file}: a 502 of the service itself is left as it is`, options, async (t) => {
    const port = await startBalancer(t, balancer, (await startUpstream(t)).port)
    const { status, headers, text } = await ask(port, get('/own'))
    t.match({ status, text }, { status: 502, text: /its own/ })
    t.equal(headers.get('x-request-id'), 'own')
    t.notOk(headers.has('retry-after'))
  })

  t.test(`${file}: while no instance listens, there is the contract's 503`, options, async (t) => {
    const instance = net.createServer().listen(0, '127.0.0.1')
    await once(instance, 'listening')
    const { port } = instance.address() as AddressInfo
    await once(instance.close(), 'close')
    checkError(t, await ask(await startBalancer(t, balancer, port), get('/')), 'unavailable', 'refused')
  })
}

for (const balancer of balancers.filter(isHaproxy)) {
  const { file, skip } = balancer
  t.test(`${file}: each error that it declares is one of the contract`, { skip }, async (t) => {
    const declared = readFileSync(path.join(projectRoot, file), 'utf8').matchAll(
      /http-error status (\d+) .*?"code":"(\w+)"/g,
    )
    const codes = new Map([...declared].map(([, status = '', code = '']) => [status, code]))
    t.strictSame([...codes.keys()], ['400', '500', '502', '503', '504'])
    const denials = [...codes.keys()].map(
      (each) => `http-request deny deny_status ${each} if { path /${each} }`,
    )
    const denying = (text: string) =>
      text.replace('default_backend instances', `${denials.join('\n')}\ndefault_backend instances`)
    const port = await startBalancer(t, balancer, (await startUpstream(t)).port, denying)
    for (const [status, code] of codes) checkError(t, await ask(port, get(`/${status}`)), code, status)
  })
}

t.test('what nginx refuses is an error of the contract', { skip: nginx.skip }, async (t) => {
  const port = await startBalancer(t, nginx, (await startUpstream(t)).port)
  const refused: readonly (readonly [code: string, request: string])[] = [
    ['uri_too_long', get(`/${'a'.repeat(20_000)}`)],
    ['headers_too_large', get('/', `X-A: ${'a'.repeat(20_000)}\r\n`)],
    ['malformed_request', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
    ['malformed_request', get('/').replace('1.1', '2.1')],
    ['malformed_request', get('/', 'Transfer-Encoding: gzip\r\n')],
    ['malformed_request', `${get('/', 'Transfer-Encoding: chunked\r\n').replace('GET', 'POST')}zz\r\n`],
    ['method_not_allowed', get('/').replace('GET', 'TRACE')],
    ['route_not_found', get('/animal-store-errors/busy')],
    ['route_not_found', get('/animal-store-errors/')],
  ]
  for (const [code, request] of refused) checkError(t, await ask(port, request), code, request.slice(0, 70))
})

t.test(
  'an address with too many requests in flight at nginx gets the 429',
  { skip: nginx.skip },
  async (t) => {
    const port = await startBalancer(t, nginx, (await startUpstream(t)).port)
    const held = Array.from({ length: 100 }, () => net.connect(port, '127.0.0.1').on('error', () => {}))
    for (const socket of held) socket.write(get('/hang'))
    t.teardown(() => {
      for (const socket of held) socket.destroy()
    })
    let busy = await ask(port, get('/own'))
    while (busy.status === 502) busy = await ask(port, get('/own'))
    checkError(t, busy, 'rate_limit_exceeded', 'the 101st request')
  },
)
