// Errors before Fastify has a request: the engine writes the response to the socket.

import http from 'node:http'
import net from 'node:net'
import { clientErrorHandler, type ErrorBodyOf } from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

const problem = {
  type: 'object',
  required: ['title', 'status'],
  properties: { title: { type: 'string' }, status: { type: 'integer' }, code: { type: 'string' } },
}
const operation = (mediaType: string, schema: object) => ({
  operationId: 'get',
  responses: {
    204: { description: 'None.' },
    default: { description: 'An error.', content: { [mediaType]: { schema } } },
  },
})
const ofContract = (mediaType: string, schema: object) =>
  contractOf({ paths: { '/': { get: operation(mediaType, schema) } } })

async function start(t: Test, mediaType: string, schema: object, errorBody?: ErrorBodyOf) {
  const log: Record<string, unknown>[] = []
  const stream = { write: (line: string) => void log.push(JSON.parse(line)) }
  const contract = await ofContract(mediaType, schema)
  const app = Fastify({
    logger: { level: 'info', stream },
    clientErrorHandler: clientErrorHandler(contract, { errorBody }),
  })
  app.get('/', async (_, reply) => {
    reply.hijack()
    reply.raw.write('begun')
  })
  t.teardown(() => app.close())
  return { origin: await app.listen({ host: '127.0.0.1', port: 0 }), app, log }
}

const long = 'a'.repeat(http.maxHeaderSize)
const refused: [title: string, text: string, status: string, code: string, message: string][] = [
  [
    'another protocol',
    'SSH-2.0-x\r\n\r\n',
    '400 Bad Request',
    'malformed_request',
    'is not valid HTTP, or its path',
  ],
  [
    'another version',
    'GET / HTTP/9.9\r\n\r\n',
    '400 Bad Request',
    'malformed_request',
    'is not valid HTTP, or its path',
  ],
  [
    'a header that has no name',
    'GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n',
    '400 Bad Request',
    'malformed_request',
    'is not valid HTTP, or its path',
  ],
  [
    'headers that are too long',
    `GET / HTTP/1.1\r\nHost: a\r\nA: ${long}\r\n\r\n`,
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'section is longer than 16384 bytes.',
  ],
  [
    'a target that is too long',
    `GET /${long} HTTP/1.1\r\nHost: a\r\n\r\n`,
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'section is longer than 16384 bytes.',
  ],
]

for (const [title, text, status, code, message] of refused) {
  t.test(`${title} gets an error of the engine's form`, async (t) => {
    const { origin, log } = await start(t, 'application/json', {})
    const [head = '', body = ''] = (await sendRaw(origin, text)).split('\r\n\r\n')
    t.match(head, `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n`)
    t.match(head, /\r\nConnection: close/)
    t.match(head, `\r\nContent-Length: ${body.length}`)
    t.match(JSON.parse(body), { code, status: Number(status.slice(0, 3)), message: new RegExp(message) })
    t.match(log.at(-1), { msg: 'request refused', status: Number(status.slice(0, 3)) })
  })
}

t.test('it is a problem where the contract has problems', async (t) => {
  const { origin } = await start(t, 'application/problem+json', problem)
  const [head = '', body = ''] = (await sendRaw(origin, 'GET / HTTP/9.9\r\n\r\n')).split('\r\n\r\n')
  t.match(head, 'Content-Type: application/problem+json; charset=utf-8')
  t.match(JSON.parse(body), { title: 'Bad Request', status: 400, code: 'malformed_request' })
})

t.test('it has the form of the application', async (t) => {
  const own = { type: 'object', required: ['reason'], properties: { reason: { type: 'string' } } }
  const { origin } = await start(t, 'application/json', own, ({ code }) => ({ reason: code }))
  t.match(await sendRaw(origin, 'GET / HTTP/9.9\r\n\r\n'), /\{"reason":"malformed_request"\}$/)
})

t.test('a response that has begun is cut, and nothing is written into it', async (t) => {
  const { origin } = await start(t, 'application/json', {})
  const answer = await sendRaw(origin, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'no HTTP\r\n\r\n')
  t.notMatch(answer, /malformed_request/)
})

t.test('a request that does not arrive in time gets 408', async (t) => {
  const { app, origin } = await start(t, 'application/json', {})
  const { port } = new URL(origin)
  const socket = net.connect(Number(port), '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n'))
  t.teardown(() => socket.destroy())
  const [accepted] = await new Promise<[net.Socket]>((resolve) =>
    app.server.once('connection', (each) => resolve([each])),
  )
  const received = socket.setEncoding('utf8').toArray()
  const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  app.server.emit('clientError', error, accepted) // as Node does when its time is over
  t.match((await received).join(''), /^HTTP\/1\.1 408 Request Timeout\r\n.*"code":"request_timeout"/s)
})

t.test('Node has the response in flight of a connection under its private name', async (t) => {
  const server = http.createServer((request, response) => {
    response.end(String(Reflect.get(request.socket, '_httpMessage') === response))
  })
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'true', '_httpMessage')
})
