import { once } from 'node:events'
import net from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { handlers } from '../../../generated/handlers.js'
import type { Sql } from '../../../src/database/database.js'
import type { Signal } from '../../../src/database/driver/sql.js'
import { ApiError } from '../../../src/handlers/handler.js'
import { oncePerIteration } from '../../../src/lib/coalesce.js'
import { coalesced } from '../../../src/middleware/coalescing.js'
import type { Operation } from '../../../src/openapi/index.js'
import { startService } from '../../fixtures/service.js'
import { customPlan, fixedPlan, pageMax, prefix, statuses } from '../fixtures/facts.js'
import { holdPets } from '../fixtures/locks.js'

t.test('inputs of an iteration of the event loop share one run, and each gets its own output', async (t) => {
  const runs: (readonly number[])[] = []
  const square = oncePerIteration(async (inputs: readonly number[]) => {
    runs.push(inputs)
    return inputs.map((each) => each ** 2)
  })
  const outputs = [1, 2, 3].map(square)
  t.strictSame(runs, [])
  t.strictSame(await Promise.all(outputs), [1, 4, 9])
  t.strictSame(runs, [[1, 2, 3]])
})

t.test('an input after the start of a run has another', async (t) => {
  const ends: (() => void)[] = []
  const run = oncePerIteration(
    (inputs: readonly string[]) =>
      new Promise<readonly string[]>((resolve) => ends.push(() => resolve(inputs))),
  )
  const first = run('a')
  await setImmediate()
  t.equal(ends.length, 1)
  const second = run('b')
  await setImmediate()
  for (const end of ends) end()
  t.strictSame(await Promise.all([first, second]), ['a', 'b'])
})

t.test('all inputs of a run get its error, and the next input runs again', async (t) => {
  let isBroken = true
  const run = oncePerIteration(async (inputs: readonly number[]) => {
    if (isBroken) throw new Error('no')
    return inputs
  })
  t.match(await Promise.allSettled([1, 2].map(run)), [
    { status: 'rejected', reason: { message: 'no' } },
    { status: 'rejected', reason: { message: 'no' } },
  ])
  isBroken = false
  t.equal(await run(3), 3)
})

t.test('a run is shared in its iteration only, and only while one of its callers waits', async (t) => {
  const signals: (Signal | undefined)[] = []
  const pool = { sqlUntil: (signal: Signal | undefined) => ({ signal }) as Sql }
  const operation = { method: 'GET', parameters: [], body: undefined } as unknown as Operation
  const respond = coalesced(pool)(async (_request, _reply, sql) => {
    signals.push(sql?.signal)
    return { status: 200, headers: {}, body: Buffer.from(`${signals.length}`) }
  }, operation)
  const ask = async (lifetime: { aborted: boolean }) => {
    const request = { url: '/pets', lifetime } as unknown as FastifyRequest
    return String((await respond(request, {} as FastifyReply))?.body)
  }
  const [first, second, third] = [{ aborted: false }, { aborted: false }, { aborted: false }]
  const shared = Promise.all([ask(first), ask(second)])
  first.aborted = true
  t.notOk(signals[0]?.aborted)
  second.aborted = true
  t.ok(signals[0]?.aborted)
  const alone = ask(third)
  t.strictSame([...(await shared), await alone], ['1', '1', '2'])
  const again = ask(third)
  await setImmediate()
  t.strictSame([await again, await ask(third)], ['2', '3'])
})

t.test('requests', async (t) => {
  const runs = { listPets: 0, createPet: 0 }
  let refusal: Error | undefined
  const counting = {
    listPets: async () => {
      runs.listPets++
      await setImmediate() // like a statement
      if (refusal) throw refusal
      return {
        status: 200,
        headers: { Link: `<${prefix}/pets>; rel="next"` },
        body: [{ id: 1n, name: 'Rex', categoryId: 3n }],
      }
    },
    createPet: async () => {
      runs.createPet++
      return {
        status: 201,
        headers: { Location: `${prefix}/pets/1` },
        body: { id: 1n, name: 'Rex', categoryId: 3n },
      }
    },
  }
  const { app, auth, call, createKey, log } = await startService(t, {
    handlers: { ...handlers, ...counting } as typeof handlers,
  })
  t.beforeEach(() => {
    runs.listPets = 0
    refusal = undefined
    log.length = 0
  })
  await call('GET', '/pets') // caches the key
  // Injected requests arrive in one iteration of the event loop.
  const inject = (url: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    app.inject({
      method,
      url: `${prefix}${url}`,
      headers: auth,
      ...(method === 'POST' && { payload: { name: 'Rex', categoryId: 3 } }),
    })

  t.test(
    'for one URL at the same time run the handler once, and each has its own id, quota and log line',
    async (t) => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => inject('/pets')))
      t.equal(runs.listPets, 1)
      for (const { statusCode, body, headers } of responses) {
        t.equal(statusCode, 200)
        t.equal(body, '[{"id":1,"name":"Rex","categoryId":3}]')
        t.equal(headers.link, `<${prefix}/pets>; rel="next"`)
        t.equal(headers['content-length'], body.length.toString())
      }
      t.equal(new Set(responses.map(({ headers }) => headers['x-request-id'])).size, 20)
      t.equal(new Set(responses.map(({ headers }) => headers['x-ratelimit-remaining'])).size, 20)
      t.equal(log.filter(({ msg }) => msg === 'request').length, 20)
    },
  )

  t.test('for different URLs are handled separately', async (t) => {
    await Promise.all(['/pets', '/pets?limit=1', '/pets?limit=2', '/pets'].map((url) => inject(url)))
    t.equal(runs.listPets, 3)
  })

  t.test(
    'of different clients are handled separately, because the response may depend on the client',
    async (t) => {
      const { key } = await createKey()
      const other = { authorization: `Bearer ${key}` }
      await app.inject({ url: `${prefix}/pets`, headers: other }) // caches the key
      runs.listPets = 0
      await Promise.all([
        inject('/pets'),
        inject('/pets'),
        app.inject({ url: `${prefix}/pets`, headers: other }),
      ])
      t.equal(runs.listPets, 2)
    },
  )

  t.test('one after the other are not coalesced', async (t) => {
    for (let i = 0; i < 3; i++) await inject('/pets')
    t.equal(runs.listPets, 3)
  })

  t.test('each get the error of the run, with a log line each', async (t) => {
    refusal = new Error('password=hunter2')
    const responses = await Promise.all(Array.from({ length: 5 }, () => inject('/pets')))
    t.equal(runs.listPets, 1)
    t.strictSame(
      responses.map(({ statusCode }) => statusCode),
      [500, 500, 500, 500, 500],
    )
    t.equal(log.filter(({ msg }) => msg === 'request failed').length, 5)
  })

  t.test('are each refused', async (t) => {
    refusal = new ApiError('invalid_request', 'no')
    const responses = await Promise.all(Array.from({ length: 5 }, () => inject('/pets')))
    t.strictSame(
      responses.map((response) => response.json().code),
      Array.from({ length: 5 }, () => 'invalid_request'),
    )
  })

  t.test('of GET and HEAD get the same response, with a body and without', async (t) => {
    const [get, head] = await Promise.all([inject('/pets'), inject('/pets', 'HEAD')])
    t.equal(head.statusCode, 200)
    t.equal(head.body, '')
    t.equal(head.headers['content-length'], get.headers['content-length'])
  })

  t.test('of unsafe methods are never coalesced', async (t) => {
    await Promise.all(Array.from({ length: 7 }, () => inject('/pets', 'POST')))
    t.equal(runs.createPet, 7)
  })
})

// A different page for each index: every size, then again with each status.
function pageOf(index: number): string {
  const status = statuses[Math.floor(index / pageMax) - 1]
  return `/pets?limit=${(index % pageMax) + 1}${status === undefined ? '' : `&status=${status}`}`
}

t.test('a client that disconnects does not abort the request it was coalesced with', async (t) => {
  const service = await startService(t)
  await service.call('GET', '/pets')
  const { port, hostname } = new URL(service.origin)
  const gone = net.connect(Number(port), hostname)
  await once(gone, 'connect')
  const held = await holdPets(service.sql)
  // Every slot has a statement waiting for the lock, so the next statements are queued.
  const first = Array.from({ length: 80 }, (_, i) => service.call('GET', pageOf(i)))
  await held.someoneWaits()
  gone.write(`GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n\r\n`)
  const second = service.call('GET', '/pets')
  await service.call('GET', '/nowhere')
  gone.resetAndDestroy()
  while (!service.log.some(({ msg }) => msg === 'request aborted')) await setImmediate()
  await held.release()
  const responses = await Promise.all([...first, second])
  t.strictSame(new Set(responses.map(({ status }) => status)), new Set([200]))
})

t.test('a client reads its own writes, however many requests are coalesced', async (t) => {
  const { call } = await startService(t)
  const rounds = 5
  const client = async (i: number) => {
    for (let round = 0; round < rounds; round++) {
      const { body: pet } = await call('POST', '/pets', { body: { name: `${i}`, categoryId: round } })
      const { body: pets } = await call('GET', `/pets?limit=${pageMax}`)
      t.ok(
        pets.some(({ id }: { id: number }) => id === pet.id),
        `${pet.id} is there`,
      )
    }
  }
  // One page contains all that they add.
  const clients = Math.min(16, Math.floor(pageMax / rounds))
  await Promise.all(Array.from({ length: clients }, (_, i) => client(i)))
})

t.test('a handler gets the client of its request, also of concurrent requests', async (t) => {
  const listPets: typeof handlers.listPets = async (_request, { client }) => ({
    status: 200,
    body: [{ id: BigInt(client?.keyId ?? 0), name: client?.plan ?? 'nobody', categoryId: 3n }],
  })
  const { call, createKey } = await startService(t, { handlers: { ...handlers, listPets } })
  const plans = [fixedPlan.name, customPlan]
  const keys = await Promise.all(plans.map((plan) => createKey({ plan })))
  const responses = await Promise.all(
    [...keys, ...keys].map(({ key }) =>
      call('GET', '/pets', { headers: { authorization: `Bearer ${key}` } }),
    ),
  )
  t.strictSame(
    responses.map(({ body: [{ id, name }] }) => [BigInt(id), name]),
    [...keys, ...keys].map(({ id }, i) => [id, plans[i % plans.length]]),
  )
})
