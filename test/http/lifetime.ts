import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Operation } from 'contract-engine'
import type { ServiceContract } from 'contract-service/internal/auth/plans'
import { block, stopClocks } from 'contract-testing/clocks'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { prefix } from '../fixtures/facts.js'
import { holdInserts, holdKeys } from '../fixtures/locks.js'
import { contract, createDatabase, openPools, type Service, startService } from '../fixtures/service.js'

const pet = { name: 'Rex', categoryId: 1 }
// Longer than an unblocked request takes on a busy machine.
const limitMs = 6_000

t.test('a response that takes longer than HANDLER_TIMEOUT_MS is a 503, sent in time', async (t) => {
  const late = { end: () => {} }
  const ended = new Promise<void>((resolve) => {
    late.end = resolve
  })
  const service = await startService(t, {
    env: { HANDLER_TIMEOUT_MS: String(limitMs) },
    handlers: { ...handlers, createPet: () => ended.then(() => Promise.reject(new Error('late'))) },
  })
  const responses = await Promise.all([1, 2, 3].map(() => service.call('POST', '/pets', { body: pet })))
  for (const response of responses) {
    t.match(response, { status: 503, body: { code: 'unavailable', status: 503 } })
    t.equal(response.headers.get('retry-after'), '1')
    t.ok(response.headers.has('x-ratelimit-remaining'))
    t.ok(response.headers.has('x-request-id'))
  }
  t.match(await service.call('GET', '/pets'), { status: 200 }, 'other requests do not wait for it')
  late.end()
  t.match(await service.call('GET', '/pets'), { status: 200 })

  const failed = service.log.filter(({ msg }) => msg === 'request failed')
  t.match(failed, Array(3).fill({ level: 50, err: { message: `no response within ${limitMs} ms` } }))
  const lines = service.log.filter(({ msg, status }) => msg === 'request' && status === 503)
  t.equal(lines.length, 3, 'each is logged once, though its handler ended later')
})

t.test('the time of a handler begins when its request has arrived completely', async (t) => {
  const handlerTimeoutMs = 100_000
  const service = await startService(t, { env: { HANDLER_TIMEOUT_MS: String(handlerTimeoutMs) } })
  const clocks = stopClocks(t)
  const { port, hostname } = new URL(service.origin)
  const body = JSON.stringify(pet)
  const head = `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n`
  const socket = net.connect(Number(port), hostname).setEncoding('utf8')
  t.teardown(() => socket.destroy())
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`)
  await once(service.app.server, 'request')
  await service.call('GET', '/pets') // by now, the headers have been handled
  clocks.advance(handlerTimeoutMs)
  socket.write(body.slice(1))
  const [response] = await once(socket, 'data')
  t.match(response, /^HTTP\/1.1 201 /)
})

t.test('a handler does not time out while its result waits to be read by a busy process', async (t) => {
  const cat = spawn('cat')
  t.teardown(() => cat.kill())
  const service = await startService(t, {
    env: { HANDLER_TIMEOUT_MS: String(limitMs) },
    handlers: {
      ...handlers,
      getPet: async () => {
        const echo = once(cat.stdout, 'data')
        cat.stdin.write('Rex')
        block(limitMs + 100)
        const [name] = await echo
        return { status: 200, body: { id: 1n, name: String(name), categoryId: 1n } }
      },
    },
  })
  t.match(await service.call('GET', '/pets/1'), { status: 200, body: { name: 'Rex' } })
})

// Returns the contract with a separate time limit for the operation.
function contractWithin(id: string, timeoutMs: number): ServiceContract {
  const operation = contract.operations.get(id) as Operation
  const own = { ...operation, limits: { ...operation.limits, timeoutMs } }
  return { ...contract, operations: new Map(contract.operations).set(id, own) }
}

t.test('an operation with a shorter timeoutMs is a 503 within it, and not done afterwards', async (t) => {
  const service = await startService(t, {
    env: { HANDLER_TIMEOUT_MS: '100000' },
    contract: contractWithin('createPet', limitMs),
  })
  const held = await holdInserts(service.sql)
  const keyed = { 'idempotency-key': 'k1' }
  const calls = [{}, keyed].map((headers) => service.call('POST', '/pets', { body: pet, headers }))
  for (const response of await Promise.all(calls)) t.equal(response.status, 503)
  await held.release()
  t.equal((await service.call('POST', '/pets', { body: pet })).status, 201)
  t.equal(await countPets(service), 1)
})

t.test('an operation with a longer timeoutMs outlives HANDLER_TIMEOUT_MS', async (t) => {
  const sql = await createDatabase(t)
  const service = await startService(t, {
    sql,
    pools: await openPools(t, sql), // their limits are longer: the key must still be looked up
    env: { HANDLER_TIMEOUT_MS: '100' },
    contract: contractWithin('getPet', 600_000),
    handlers: {
      ...handlers,
      // Longer than the limit of the other operations: this one must pass.
      getPet: async () => {
        await setTimeout(300)
        return { status: 200, body: { id: 1n, name: 'Rex', categoryId: 1n } }
      },
    },
  })
  t.match(await service.call('GET', '/pets/1'), { status: 200 })
})

const countPets = async ({ sql }: Service) => (await sql`select from pets`).length

t.test('a request that got 503 is not done afterwards', async (t) => {
  const service = await startService(t, { env: { HANDLER_TIMEOUT_MS: String(limitMs) } })
  const post = (i: number) =>
    service.call('POST', '/pets', { body: pet, headers: i % 2 === 0 ? {} : { 'idempotency-key': `k${i}` } })
  const held = await holdInserts(service.sql)
  const responses = await Promise.all(Array.from({ length: 40 }, (_, i) => post(i)))
  t.strictSame(
    responses.map(({ status }) => status),
    Array(40).fill(503),
  )
  await held.release()
  t.equal((await post(0)).status, 201)
  t.equal(await countPets(service), 1)
})

t.test('nor is one that waits for a connection when its client disconnects', async (t) => {
  const service = await startService(t)
  const held = await holdInserts(service.sql)
  // Two statements may be in flight; the next ones wait.
  const first = service.call('POST', '/pets', { body: pet })
  await held.someoneWaits()
  const second = service.call('POST', '/pets', { body: pet })
  const { port, hostname } = new URL(service.origin)
  const body = JSON.stringify(pet)
  const head = `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n`
  const socket = net.connect(Number(port), hostname)
  await once(socket, 'connect')
  await held.someoneWaits(2)
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const working = () => service.log.filter(({ msg }) => msg === 'request aborted').length
  await untilAccepted(service, socket)
  socket.resetAndDestroy()
  while (working() === 0) await new Promise(setImmediate)
  await held.release()
  t.strictSame(
    (await Promise.all([first, second])).map(({ status }) => status),
    [201, 201],
  )
  t.equal((await service.call('POST', '/pets', { body: pet })).status, 201)
  t.equal(await countPets(service), 3)
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 50),
    [],
    'and it is not logged as an error',
  )
})

// When this response arrives, the service has read everything sent before on another connection.
async function untilAccepted(service: Service, socket: net.Socket): Promise<void> {
  while (socket.writableLength > 0) await once(socket, 'drain')
  await service.call('GET', '/pets')
}

t.test(
  'a request that times out during the look-up of its key gets the rate-limit headers of its address',
  async (t) => {
    const service = await startService(t, { env: { HANDLER_TIMEOUT_MS: String(limitMs) } })
    const held = await holdKeys(service.sql)
    const calls = [service.call('GET', '/pets'), service.call('POST', '/pets', { body: pet })]
    for (const response of await Promise.all(calls)) {
      t.match(response, { status: 503, body: { code: 'unavailable', status: 503 } })
      t.equal(response.headers.get('retry-after'), '1')
      t.equal(response.headers.get('x-ratelimit-limit'), String(contract.rateLimits.anonymous.perMinute))
      t.equal(
        response.headers.get('x-ratelimit-remaining'),
        response.headers.get('x-ratelimit-limit'),
        'uncharged',
      )
    }
    await held.release()
    t.match(await service.call('GET', '/pets'), { status: 200, text: '[]' })
  },
)
