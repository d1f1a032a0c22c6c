// The service behind gateways whose path prefix it does not know: callers can follow its links.

import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { kill } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { createClient } from '../../src/client/index.js'
import { prefix } from '../fixtures/facts.js'
import { directivesOf, forwarded, nginxIsMissing, startGateway } from '../fixtures/gateway.js'
import { missing } from '../fixtures/programs.js'
import { type Service, send, startService } from '../fixtures/service.js'

const names = ['Rex', 'Ada', 'Bo']

/** Adds animals, and follows every link as it is written, with the key. */
async function checkLinks(t: Test, { auth }: Service, base: string): Promise<void> {
  const pets = `${base}/pets`
  const follow = (header: string | null) =>
    send(/<([^>]+)>/.exec(header ?? '')?.[1] ?? header ?? '', 'GET', auth)
  for (const name of names) {
    const added = await send(pets, 'POST', auth, { name, categoryId: 3 })
    t.match(added.headers.get('location'), `${pets}/`)
    t.strictSame((await follow(added.headers.get('location'))).body, added.body)
  }
  const first = await send(`${pets}?limit=1`, 'GET', auth)
  t.match(first.headers.get('link'), `<${pets}?limit=1&`)
  t.match(await follow(first.headers.get('link')), { status: 200, body: [{ name: 'Ada' }] })
  const read = await send(`${pets}/${first.body[0].id}`, 'GET', auth)
  t.equal(read.headers.get('link'), `<${pets}>; rel="successor-version"`)
}

async function checkClient(t: Test, { key }: Service, baseUrl: string): Promise<void> {
  const store = createClient({ baseUrl, key })
  const read: string[] = []
  for await (const { name } of store.items('listPets', { query: { limit: 2 } })) read.push(name)
  t.strictSame(read.slice(0, 3), names)
}

// Does what a tool does with a downloaded file: sends requests to its first server.
async function checkDocuments(t: Test, { auth }: Service, root: string, base: string): Promise<void> {
  for (const file of ['openapi.yaml', 'openapi.json', 'openapi-3.0.yaml']) {
    const [server] = parse((await send(`${root}/${file}`)).text).servers
    t.equal(server.url, base, file)
    t.match(await send(`${server.url}/pets`, 'GET', auth), { status: 200 }, file)
  }
}

async function checkClaims(t: Test, { auth }: Service, base: string): Promise<void> {
  const claims = { 'x-forwarded-host': 'evil.example', 'x-forwarded-prefix': '/evil' }
  const { headers } = await send(`${base}/pets?limit=1`, 'GET', { ...auth, ...claims })
  t.ok(headers.get('link')?.startsWith(`<${base}/`), 'what a caller claims is replaced')
}

t.test('behind nginx, which strips a prefix and says so', { skip: nginxIsMissing }, async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'loopback' } })
  const port = await freePort()
  await startGateway(t, port, { '/store/': `${service.origin}/; ${forwarded}` })
  const root = `http://127.0.0.1:${port}/store`
  await checkLinks(t, service, root + prefix)
  await checkClient(t, service, root + prefix)
  await checkDocuments(t, service, root, root + prefix)
  await checkClaims(t, service, root + prefix)
})

t.test('behind nginx with its defaults', { skip: nginxIsMissing }, async (t) => {
  const port = await freePort()
  const gateway = `http://127.0.0.1:${port}`
  const published = await startService(t, { env: { PUBLIC_URL: `${gateway}/animals` } })
  const plain = await startService(t)
  await startGateway(t, port, {
    '/animals/': `${published.origin}${prefix}/`,
    '/documents/': `${published.origin}/`,
    '/plain/': `${plain.origin}/`,
  })

  t.test('the public URL leads on, also with another path in place of the prefix', async (t) => {
    await checkLinks(t, published, `${gateway}/animals`)
    await checkClient(t, published, `${gateway}/animals`)
    await checkDocuments(t, published, `${gateway}/documents`, `${gateway}/animals`)
  })

  t.test('the client reads all pages by another name of the service', async (t) => {
    await checkClient(t, published, published.base)
  })

  t.test('the client reads all pages without a public URL, too', async (t) => {
    for (const name of names) await plain.call('POST', '/pets', { body: { name, categoryId: 3 } })
    await checkClient(t, plain, `${gateway}/plain${prefix}`)
  })
})

const haproxyIsMissing = missing('haproxy')

t.test('behind HAProxy, which strips a prefix and says so', { skip: haproxyIsMissing }, async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'loopback' } })
  const port = await freePort()
  const file = path.join(temporaryDirectory(t), 'haproxy.cfg')
  const lines = [
    'defaults',
    ...['mode http', 'timeout connect 5s', 'timeout client 60s', 'timeout server 60s'],
    'listen gateway',
    `bind 127.0.0.1:${port}`,
    ...directivesOf('HAProxy'),
    `server service ${new URL(service.origin).host}`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  t.teardown(() => kill(haproxy))
  const root = `http://127.0.0.1:${port}/store`
  await until(async () => (await send(`${root}/healthz`).catch(() => undefined))?.status === 200)
  await checkLinks(t, service, root + prefix)
  await checkClient(t, service, root + prefix)
  await checkDocuments(t, service, root, root + prefix)
  await checkClaims(t, service, root + prefix)
})
