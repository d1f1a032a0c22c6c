// The files of deploy/nginx and deploy/haproxy let through what the service takes, up to its documented
// limits.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { balancers, startBalancer } from '../fixtures/balancers.js'

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')
const limits = (parse(read('openapi.yaml')) as { 'x-limits': { urlBytes: number; headerBytes: number } })[
  'x-limits'
]

// Takes headers as the service does, and waits for bodies.
async function startUpstream(t: Test): Promise<number> {
  const options = { maxHeaderSize: limits.headerBytes, requireHostHeader: false }
  const server = createServer(options, (request, response) => {
    if (request.method === 'GET') response.end('served')
  })
  server.maxHeadersCount = 0
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

async function ask(port: number, request: string): Promise<{ status: number; text: string }> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => {})
  socket.write(request)
  let text = ''
  for await (const bytes of socket) text += bytes
  return { status: Number(/^HTTP\/1\.[01] (\d+)/.exec(text)?.[1]), text }
}

const field = (length: number) => `X-A: ${'a'.repeat(length)}\r\n`
const fields = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: 1\r\n`).join('')
const get = (url: string, more = '', version = '1.1', host = 'Host: store.example\r\n') =>
  `GET ${url} HTTP/${version}\r\n${host}${more}Connection: close\r\n\r\n`
const urlOf = (bytes: number) => `/v1/pets?x=${'a'.repeat(bytes - 11)}`

const taken: readonly (readonly [title: string, request: string])[] = [
  ['the longest URL', get(urlOf(limits.urlBytes))],
  ['one byte more, which the service refuses by itself', get(urlOf(limits.urlBytes + 1))],
  ['a field of 9,000 bytes', get('/v1/pets', field(9_000))],
  ['a field as long as the header section may be', get('/v1/pets', field(limits.headerBytes - 500))],
  ['110 fields', get('/v1/pets', fields(110))],
  ['500 fields', get('/v1/pets', fields(500))],
  ['HTTP/1.0 without Host', get('/v1/pets', '', '1.0', '')],
]

for (const balancer of balancers) {
  const { file, skip } = balancer
  t.test(`${file} lets through what the service takes`, { skip }, async (t) => {
    const port = await startBalancer(t, balancer, await startUpstream(t))
    for (const [title, request] of taken)
      t.match(await ask(port, request), { status: 200, text: /served/ }, title)
  })
}
