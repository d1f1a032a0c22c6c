// The time of a request in metrics and in the log: the service's own, without waits for the client.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { listenForScrapes, scrape } from 'contract-service/fixtures/metrics'
import { stopClocks } from 'contract-testing/clocks'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { handlers } from '../../generated/handlers.js'
import { prefix } from '../fixtures/facts.js'
import { holdKeys } from '../fixtures/locks.js'
import { startService } from '../fixtures/service.js'

const body = JSON.stringify({ name: 'Rex', categoryId: 1 })
const bodyFields = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
// Exact, because the time passes by the test's clock.
const [clientMs, ownMs] = [4_000, 700]

type Overrides = Parameters<typeof startService>[1]

// Starts a service with stopped clocks, whose metrics server listens.
async function startTimed(t: Test, { env, ...overrides }: Overrides = {}) {
  const service = await startService(t, { env: { METRICS_PORT: '9464', ...env }, ...overrides })
  const metrics = await listenForScrapes(service)
  const seconds = async (operation: string, status: number | string) =>
    (await scrape(metrics)).get(
      `animal_store_request_seconds_sum{operation="${operation}",status="${status}"}`,
    )
  const lines = () => service.log.filter(({ ms }) => ms !== undefined)
  const { port, hostname } = new URL(service.origin)
  const open = async () => {
    const accepted = once(service.app.server, 'connection')
    const client = connect(Number(port), hostname).setEncoding('latin1')
    t.teardown(() => client.destroy())
    return { client, socket: (await accepted)[0] as Socket }
  }
  return { ...service, clocks: stopClocks(t), open, seconds, lines }
}

const head = (key: string, method: string, fields = '') =>
  `${method} ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${fields}\r\n`

// Node responds 100 when the service begins to read the body; from then on, the service waits for the client.
const postHead = (key: string) => head(key, 'POST', `${bodyFields}Expect: 100-continue\r\n`)

const endings: [title: string, end: (client: Socket) => unknown, status: number][] = [
  ['arrives', (client) => client.write(body.slice(1)), 201],
  ['does not arrive in time', () => {}, 408],
  ['is cut off', (client) => client.resetAndDestroy(), 400],
]

for (const [title, end, status] of endings) {
  t.test(`a body that ${title} after a while took the client’s time`, async (t) => {
    const service = await startTimed(t, { env: { REQUEST_TIMEOUT_MS: '2000' } })
    const { client } = await service.open()
    client.write(postHead(service.key))
    t.match((await once(client, 'data'))[0], /^HTTP\/1\.1 100 /)
    client.write(body.slice(0, 1))
    service.clocks.advance(clientMs)
    end(client)
    await until(() => service.lines().length === 1)
    t.match(service.lines(), [{ status, ms: clientMs, serviceMs: 0 }])
    t.equal(await service.seconds('createPet', status), 0)
  })
}

t.test('the look-up of a key is time of the service, also while the body has not arrived', async (t) => {
  const service = await startTimed(t)
  const held = await holdKeys(service.sql)
  const { client } = await service.open()
  client.write(postHead(service.key))
  await held.someoneWaits()
  service.clocks.advance(ownMs)
  await held.release()
  t.match((await once(client, 'data'))[0], /^HTTP\/1\.1 100 /)
  service.clocks.advance(clientMs)
  client.write(body)
  await until(() => service.lines().length === 1)
  t.match(service.lines(), [{ status: 201, ms: ownMs + clientMs, serviceMs: ownMs }])
  t.equal(await service.seconds('createPet', 201), ownMs / 1000)
})

t.test('so is a handler, whether or not its client waits for the response', async (t) => {
  const events = { begin: () => {}, client: undefined as Socket | undefined }
  const service = await startTimed(t, {
    handlers: {
      ...handlers,
      listPets: async (...args: Parameters<typeof handlers.listPets>) => {
        service.clocks.advance(ownMs)
        events.client?.resetAndDestroy()
        if (events.client) await until(() => service.lines().length === 2)
        return handlers.listPets(...args)
      },
    },
  })
  await service.call('GET', '/pets')
  const { client } = await service.open()
  events.client = client
  client.write(head(service.key, 'GET'))
  await until(() => service.lines().length === 2)
  t.match(service.lines(), [
    { msg: 'request', ms: ownMs, serviceMs: ownMs },
    { msg: 'request aborted', ms: ownMs, serviceMs: ownMs },
  ])
  for (const status of [200, 'aborted']) t.equal(await service.seconds('listPets', status), ownMs / 1000)
})

t.test('a response that is read slowly took the client’s time', async (t) => {
  const pet = { id: 1n, name: '\u{1f415}'.repeat(120), categoryId: 1n }
  const pets = Array.from({ length: 100 }, () => pet)
  const service = await startTimed(t, {
    handlers: { ...handlers, listPets: async () => ({ status: 200, body: pets, headers: {} }) as never },
  })
  const { client, socket } = await service.open()
  client.pause()
  client.write(head(service.key, 'GET').repeat(500))
  await until(() => socket.writableLength > 0) // the kernel's buffers are full
  const before = service.lines().length
  service.clocks.advance(clientMs)
  client.resume()
  await until(() => service.lines().length > before)
  t.match(service.lines()[before], { status: 200, ms: clientMs, serviceMs: 0 })
  client.destroy()
  t.equal(await service.seconds('listPets', 200), 0)
})
