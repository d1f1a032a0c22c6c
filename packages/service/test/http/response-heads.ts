// Heads made of cached lines equal those that Node makes: the same requests get the same bytes.

import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Response } from '../../src/http/response-heads.js'

type Respond = (response: ServerResponse) => unknown
type Fields = Readonly<Record<string, unknown>>

const withHeaders =
  (headers: Fields, status = 200): Respond =>
  (response) =>
    response.writeHead(status, headers as Record<string, string>).end('body')

// Starts a server that responds in turn with each of `responds`, and reports an error as the body. Returns
// the responses to requests, each on a separate connection.
async function bytesOf(t: Test, Made: typeof ServerResponse, responds: readonly Respond[], request: string) {
  let turn = 0
  const server = createServer({ ServerResponse: Made, keepAliveTimeout: 9000 }, (_, response) => {
    const respond = responds[turn++] as Respond // there is one for each request
    try {
      response.sendDate = false
      respond(response)
    } catch (error) {
      response.socket?.end(`${(error as Error).name} ${(error as { code?: string }).code}`)
    }
  })
  server.on('checkContinue', (...exchange) => server.emit('request', ...exchange)) // as the service's: without a 100
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const responses: string[] = []
  for (const _ of responds) {
    const socket = net.connect(port, '127.0.0.1')
    socket.end(request)
    responses.push(Buffer.concat(await socket.toArray()).toString('latin1'))
  }
  return responses
}

const usual = { 'content-type': 'application/json', 'x-request-id': 'a', 'content-length': '4' }

const cases: Readonly<Record<string, readonly Respond[]>> = {
  'the same headers, then others': [
    withHeaders(usual),
    withHeaders(usual),
    withHeaders({ 'x-request-id': 'b', etag: '"c"', 'content-length': '4' }, 201),
    withHeaders({ 'x-request-id': 'a', etag: '', 'content-length': '4' }, 404),
  ],
  'without a length': [withHeaders({ 'content-type': 'text/plain' }), withHeaders({})],
  'framed otherwise': [
    withHeaders({ 'x-a': 'b', 'transfer-encoding': 'chunked' }),
    withHeaders({ 'x-a': 'b', connection: 'close', 'content-length': '4' }),
    withHeaders({ 'x-a': 'b', 'transfer-encoding': 'chunked', trailer: 'x-b' }),
    withHeaders({ 'x-a': 'b', date: 'today', 'keep-alive': 'timeout=1' }),
  ],
  'names in capitals': [
    withHeaders({ 'X-A': 'b', 'Content-Length': '4' }),
    withHeaders({ CONNECTION: 'close' }),
  ],
  'values of other types': [
    withHeaders({ 'set-cookie': ['a=b', 'c=d'], link: ['<a>', '<b>'] }),
    withHeaders({ 'retry-after': 1, 'content-length': 4 }),
    withHeaders({ 'x-latin': 'é', 'content-disposition': 'attachment; filename="é"' }),
  ],
  'without a body': [withHeaders({ 'x-a': 'b' }, 204), withHeaders({ 'x-a': 'b' }, 304)],
  'statuses that have no name': [withHeaders({ 'x-a': 'b' }, 299)],
  'heads of other forms': [
    (response) => response.writeHead(200, 'Fine', { 'x-a': 'b' }).end('body'),
    (response) => response.writeHead(200, ['x-a', 'b']).end('body'),
    (response) => response.writeHead(200).end('body'),
    (response) => response.setHeader('x-a', 'c').writeHead(200, { 'x-b': 'd' }).end('body'),
    (response) =>
      Object.assign(response, { statusMessage: 'Fine' }).writeHead(200, { 'x-b': 'd' }).end('body'),
    (response) => response.end('body'),
  ],
  'what no head may have': [
    withHeaders({ 'x-a': 'b\r\nset-cookie: a=b' }),
    withHeaders({ 'x-a': 'b\0' }),
    withHeaders({ 'x-a': 'b\u0100' }),
    withHeaders({ 'x-a': undefined }),
    withHeaders({ 'x a': 'b' }),
    withHeaders({ 'x-a\r\nb': 'b' }),
    withHeaders({ '': 'b' }),
    withHeaders({ 'x-a': 'b' }, 99),
    (response) => response.writeHead(200, { 'x-a': 'b' }).writeHead(200, { 'x-a': 'b' }),
  ],
  'more names than are kept': [
    withHeaders(Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`x-many-${i}`, String(i)]))),
    withHeaders({ 'x-after-many': 'b', 'content-length': '4' }),
    withHeaders({ 'x a': 'b' }),
  ],
}

const requests: Readonly<Record<string, string>> = {
  'HTTP/1.1': 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'HTTP/1.1 without keep-alive': 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'HTTP/1.0': 'GET / HTTP/1.0\r\n\r\n',
  'a HEAD': 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
  'an expectation': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n',
}

// Sorts the fields of a head, whose order may differ.
function sorted(response: string): unknown {
  const [head = '', ...body] = response.split('\r\n\r\n')
  const [first, ...fields] = head.split('\r\n')
  return { first, fields: fields.sort(), body }
}

for (const [title, responds] of Object.entries(cases))
  t.test(`${title}: as Node has them`, async (t) => {
    for (const [name, request] of Object.entries(requests)) {
      const [ours, nodes] = [Response, ServerResponse].map((Made) =>
        bytesOf(t, Made as typeof ServerResponse, responds, request),
      )
      const [own, expected] = [await ours, await nodes]
      t.equal(own?.length, responds.length)
      for (const [i, response] of (own ?? []).entries())
        t.strictSame(sorted(response), sorted(expected?.[i] ?? ''), `${name}, ${i}`)
    }
  })
