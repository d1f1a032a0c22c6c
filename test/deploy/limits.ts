// The files of deploy/nginx and deploy/haproxy let through what the service takes, up to its documented limits.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { hasEnded, kill } from '../../scripts/lib/child.js'
import { freePort } from '../../scripts/lib/port.js'
import { temporaryDirectory } from '../fixtures/directory.js'

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')
const limits = (parse(read('openapi.yaml')) as { 'x-limits': { urlBytes: number; headerBytes: number } })[
  'x-limits'
]
const missing = (program: string) =>
  spawnSync(program, ['-v']).error !== undefined && `no ${program} in PATH: apt-get install ${program}`

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

type Start = (t: Test, port: number, instance: number) => ChildProcess

const startNginx: Start = (t, port, instance) => {
  const folder = temporaryDirectory(t)
  const file = read('deploy/nginx/animal-store.conf')
    .replace('listen 3000', `listen 127.0.0.1:${port}`)
    .replace(/\n *server 127\.0\.0\.1:300[234].*/g, '')
    .replace('127.0.0.1:3001', `127.0.0.1:${instance}`)
  const kinds = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi']
  for (const kind of kinds) mkdirSync(path.join(folder, kind))
  const temporary = kinds.map((kind) => `${kind}_temp_path ${kind};`).join(' ')
  const main = `daemon off; master_process off; pid pid; error_log stderr; events {}`
  writeFileSync(path.join(folder, 'main'), `${main} http { access_log off; ${temporary}\n${file}\n}`)
  return spawn('nginx', ['-p', folder, '-e', 'stderr', '-c', path.join(folder, 'main')])
}

const startHaproxy: Start = (t, port, instance) => {
  const file = path.join(temporaryDirectory(t), 'haproxy.cfg')
  const text = read('deploy/haproxy/haproxy.cfg')
    .replace(/^ {4}(user|group|chroot) .*\n/gm, '') // for whoever runs this
    .replace('bind :3000', `bind 127.0.0.1:${port}`)
    .replace(/\n *server s300[234].*/g, '')
    .replace('127.0.0.1:3001 port 13001', `127.0.0.1:${instance} no-check`)
  writeFileSync(file, text)
  return spawn('haproxy', ['-db', '-f', file])
}

async function startProxy(t: Test, start: Start): Promise<number> {
  const port = await freePort()
  const child = start(t, port, await startUpstream(t))
  t.teardown(() => kill(child))
  while (!(await isListening(port))) if (hasEnded(child)) throw new Error('the proxy ended')
  return port
}

async function isListening(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1')
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
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

for (const [name, start] of Object.entries({ nginx: startNginx, haproxy: startHaproxy })) {
  t.test(`${name} lets through what the service takes`, { skip: missing(name) }, async (t) => {
    const port = await startProxy(t, start)
    for (const [title, request] of taken)
      t.match(await ask(port, request), { status: 200, text: /served/ }, title)
  })
}

t.test('what nginx refuses has the body of errors', { skip: missing('nginx') }, async (t) => {
  const port = await startProxy(t, startNginx)
  const held = Array.from({ length: 100 }, () => net.connect(port, '127.0.0.1').on('error', () => {}))
  const head = 'POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789'
  for (const socket of held) socket.write(head)
  t.teardown(() => {
    for (const socket of held) socket.destroy()
  })
  let busy = await ask(port, get('/v1/pets'))
  while (busy.status === 200) busy = await ask(port, get('/v1/pets'))
  t.equal(busy.status, 429)
  t.match(busy.text, /\r\nRetry-After: 1\r\n[\s\S]*"code":"rate_limit_exceeded"/i)
  const answers = [
    await ask(port, get(urlOf(20_000))),
    await ask(port, get('/v1/pets', field(20_000))),
    await ask(port, 'GET / HTTP/1.1\r\n: x\r\n\r\n'),
  ]
  t.match(answers, [
    { text: /"code":"uri_too_long"/ },
    { text: /"code":"headers_too_large"/ },
    { status: 400 },
  ])
})
