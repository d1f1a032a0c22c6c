// Calls that wait for each other, against a service with a quota. Time is simulated.

import t from 'tap'
import { type AnyClient, buildClient } from '../src/client.js'
import type { Clock } from '../src/clock.js'
import type { ApiError } from '../src/error.js'
import type { AnyClientOptions } from '../src/options.js'
import type { ClientTable } from '../src/table.js'

const table: ClientTable = {
  agent: 'test',
  prefix: '/v1',
  operations: {
    add: { method: 'POST', path: '/toys', idempotent: true, security: [['key']] },
    list: { method: 'GET', path: '/toys', security: [['key']] },
    report: { method: 'POST', path: '/reports', idempotent: true, cost: 10, security: [['key']] },
  },
  securitySchemes: { key: { in: 'authorization', name: 'bearer' } },
  schemas: {},
}

const minuteMs = 60_000
const latencyMs = 20

interface Timer {
  readonly atMs: number
  run(): void
}

/** A clock that jumps to the next timer when everything due at the current time has happened. */
class SimulatedClock implements Clock {
  #nowMs = Date.parse('2026-11-20T12:00:00.400Z')
  #timers: Timer[] = []

  now(): number {
    return this.#nowMs
  }

  random(): number {
    return 0
  }

  /** The number of timers that are set. */
  get timers(): number {
    return this.#timers.length
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = { atMs: this.#nowMs + Math.max(0, ms), run: resolve }
      this.#timers.push(timer)
      signal?.addEventListener('abort', () => {
        this.#timers = this.#timers.filter((each) => each !== timer)
        reject(signal.reason)
      })
    })
  }

  async runUntil<Result>(done: Promise<Result>): Promise<Result> {
    let isDone = false
    const mark = () => {
      isDone = true
    }
    done.then(mark, mark)
    for (;;) {
      for (let i = 0; i < 3; i++) await new Promise(setImmediate)
      if (isDone) return done
      this.step()
    }
  }

  step(): void {
    if (this.#timers.length === 0) throw new Error('nothing happens any more')
    this.#nowMs = Math.min(...this.#timers.map(({ atMs }) => atMs))
    const due = this.#timers.filter(({ atMs }) => atMs === this.#nowMs)
    this.#timers = this.#timers.filter((each) => !due.includes(each))
    for (const { run } of due) run()
  }
}

/** A service with a window of a minute for each key, like ours. */
class Service {
  readonly windows = new Map<string, { used: number; endsAtMs: number }>()
  readonly served: string[] = []
  readonly statuses: number[] = []
  /** Revoked keys: their requests are counted with all others of the same address. */
  readonly revoked = new Set<string>()
  inFlight = 0
  inFlightMost = 0

  constructor(
    readonly clock: SimulatedClock,
    public perMinute: number,
    readonly lengthMs = minuteMs,
  ) {}

  readonly fetch = async (request: Request): Promise<Response> => {
    this.inFlight++
    this.inFlightMost = Math.max(this.inFlightMost, this.inFlight)
    try {
      await this.clock.wait(latencyMs)
      const cost = request.url.endsWith('/reports') ? 10 : 1
      const response = this.answer(request.headers.get('Authorization') ?? '', await request.text(), cost)
      this.statuses.push(response.status)
      await this.clock.wait(latencyMs)
      return response
    } finally {
      this.inFlight--
    }
  }

  answer(key: string, body: string, cost: number): Response {
    const isRevoked = this.revoked.has(key)
    const nowMs = this.clock.now()
    const counted = isRevoked ? 'its address' : key
    const found = this.windows.get(counted)
    const window = found && found.endsAtMs > nowMs ? found : { used: 0, endsAtMs: nowMs + this.lengthMs }
    this.windows.set(counted, window)
    const isAdmitted = window.used + cost <= this.perMinute
    if (isAdmitted) {
      window.used += cost
      if (!isRevoked) this.served.push(body)
    }
    const waitMs = window.endsAtMs - nowMs
    const headers = {
      Date: new Date(nowMs).toUTCString(),
      'X-RateLimit-Limit': String(this.perMinute),
      'X-RateLimit-Remaining': String(this.perMinute - window.used),
      'X-RateLimit-Reset': String(Math.ceil(window.endsAtMs / 1000)),
      ...(!isAdmitted && { 'Retry-After': String(Math.ceil(waitMs / 1000)) }),
      ...(isRevoked && { 'WWW-Authenticate': 'Bearer error="invalid_token"' }),
    }
    const invalid = { code: 'invalid_api_key', message: 'The key is revoked.', status: 401 }
    if (isRevoked && isAdmitted) return Response.json(invalid, { status: 401, headers })
    const refusal = { code: 'rate_limit_exceeded', message: 'Too many.', status: 429 }
    return Response.json(isAdmitted ? [] : refusal, { status: isAdmitted ? 200 : 429, headers })
  }

  /** Returns the number of responses with a status. */
  count(status: number): number {
    return this.statuses.filter((each) => each === status).length
  }
}

function start(perMinute: number, options: Partial<AnyClientOptions> = {}, lengthMs = minuteMs) {
  const clock = new SimulatedClock()
  const service = new Service(clock, perMinute, lengthMs)
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  const { fetch } = service
  const settings = { baseUrl: 'http://store/v1', key: 'a', fetch, warn, ...options }
  return { clock, service, warnings, client: buildClient(table, settings, clock) }
}

function add(client: AnyClient, body: unknown, options: object = {}) {
  return client.operations.add?.({ body, ...options }) ?? Promise.reject(new Error('no such operation'))
}

function report(client: AnyClient, body: unknown) {
  return client.operations.report?.({ body }) ?? Promise.reject(new Error('no such operation'))
}

function addAll(client: AnyClient, count: number) {
  return Promise.all(Array.from({ length: count }, (_, i) => add(client, i)))
}

for (const [count, perMinute] of [
  [300, 60],
  [1_000, 60],
  [60, 7],
  [9, 1],
] as const)
  t.test(
    `${count} calls at once with ${perMinute} a minute succeed in order, and none is refused`,
    async (t) => {
      const { clock, service, warnings, client } = start(perMinute)
      const beganMs = clock.now()
      await clock.runUntil(addAll(client, count))
      const refused = service.count(429)
      // The calls that were sent before the first response: with a smaller quota, the client could not know.
      t.equal(refused, Math.max(0, Math.min(32, count) - perMinute))
      t.equal(service.count(200), count)
      t.ok(service.inFlightMost <= 32)
      const windows = Math.ceil(count / perMinute)
      const tookMs = clock.now() - beganMs
      t.ok(tookMs < (windows - 1) * (minuteMs + 2_000) + 2_000, `${tookMs} ms for ${windows} windows`)
      const told = warnings.filter((each) =>
        each.startsWith('The quota of the key is used up: its calls wait 6'),
      )
      t.equal(told.length, windows - 1, 'each wait is told once')
      const order = service.served.map(Number)
      const windowOf = (call: number) => Math.floor(order.indexOf(call) / perMinute)
      for (let i = 1; i < count; i++)
        if (windowOf(i) < windowOf(i - 1)) t.fail(`${i} was served before ${i - 1}`)
      t.equal(clock.timers, 0)
    },
  )

t.test(
  'the first refusal of a key is that of all calls that wait with it, and no quota of the key',
  async (t) => {
    const { clock, service, warnings, client } = start(60)
    service.revoked.add('Bearer a')
    const beganMs = clock.now()
    const calls = Array.from({ length: 100 }, (_, i) => add(client, i))
    const outcomes = await clock.runUntil(Promise.allSettled(calls))
    for (const each of outcomes)
      t.match(each, { reason: { name: 'ApiError', code: 'invalid_api_key', status: 401, operation: 'add' } })
    t.strictSame(
      [service.count(401), service.count(429)],
      [32, 0],
      'those in flight, of the 60 of the address',
    )
    t.ok(clock.now() - beganMs < 1_000)
    t.strictSame(warnings, [])
    t.equal(clock.timers, 0)
    service.revoked.clear()
    await clock.runUntil(add(client, 'later'))
    t.strictSame(service.served, ['"later"'], 'a later call asks again')
  },
)

t.test('a function is asked for another key once, before its calls are refused', async (t) => {
  for (const [keys, isRenewed] of [
    [['a', 'b'], true],
    [['a', 'a'], false],
    [['a', 'c', 'b'], false],
  ] as const) {
    let at = 0
    const { clock, service, client } = start(600, { key: () => keys[at] ?? 'none' })
    for (const each of ['a', 'c']) service.revoked.add(`Bearer ${each}`)
    const first = Array.from({ length: 50 }, (_, i) => add(client, i))
    setImmediate(() => {
      at = 1
    })
    const outcomes = await clock.runUntil(Promise.allSettled(first))
    const statuses = new Set(outcomes.map(({ status }) => status))
    t.strictSame([...statuses], [isRenewed ? 'fulfilled' : 'rejected'], keys.join(', '))
  }
})

t.test('a 429 that asks for another key is not sent again', async (t) => {
  const { clock, service, warnings, client } = start(1)
  service.revoked.add('Bearer a')
  await clock.runUntil(Promise.allSettled([add(client, 1)]))
  const refused = clock.runUntil(add(client, 2))
  await t.rejects(refused, { code: 'rate_limit_exceeded', status: 429 })
  t.strictSame([service.count(401), service.count(429)], [1, 1])
  t.strictSame(warnings, [])
})

t.test('costly calls wait until what is left suffices, and none is refused that could know', async (t) => {
  const { clock, service, client } = start(65)
  await clock.runUntil(add(client, 'first'))
  const beganMs = clock.now()
  const calls = Array.from({ length: 90 }, (_, i) => (i % 3 > 0 ? add(client, i) : report(client, i)))
  await clock.runUntil(Promise.all(calls))
  t.equal(service.count(429), 0)
  t.equal(service.count(200), 91)
  const cost = 30 * 10 + 60
  const tookMs = clock.now() - beganMs
  t.ok(tookMs < Math.ceil(cost / 65) * (minuteMs + 2_000), `${tookMs} ms for ${cost} requests`)
  t.equal(clock.timers, 0)
})

t.test('a costly call that is refused with some left waits for the reset, and is sent then', async (t) => {
  const { clock, service, client } = start(15)
  await clock.runUntil(Promise.all([1, 2].map((i) => report(client, i))))
  t.equal(service.count(429), 1, 'of two at once, which could not know')
  t.equal(service.count(200), 2)
})

t.test('no more calls are in flight than allowed, of each key', async (t) => {
  const { clock, service, client } = start(1_000, { inFlightMax: 3 })
  const calls = ['a', 'b'].flatMap((key) => Array.from({ length: 20 }, () => add(client, 1, { key })))
  await clock.runUntil(Promise.all(calls))
  t.equal(service.inFlightMost, 6)
})

t.test('the quota of a key holds up no other key', async (t) => {
  const { clock, client } = start(1)
  const beganMs = clock.now()
  await clock.runUntil(add(client, 1))
  const waiting = add(client, 2)
  await clock.runUntil(add(client, 3, { key: async () => 'b' }))
  t.ok(clock.now() - beganMs < 1_000)
  await clock.runUntil(waiting)
  t.ok(clock.now() - beganMs >= minuteMs)
})

t.test('a call that is aborted while it waits leaves nothing behind, and the others go on', async (t) => {
  const { clock, service, client } = start(1)
  await clock.runUntil(add(client, 1))
  const controllers = [new AbortController(), new AbortController()]
  const aborted = controllers.map(({ signal }, i) => add(client, `aborted ${i}`, { signal }))
  const other = add(client, 'other')
  await new Promise(setImmediate)
  t.equal(clock.timers, 1, 'all wait together')
  for (const controller of controllers) controller.abort('enough')
  for (const each of aborted) await t.rejects(each, { code: 'aborted', operation: 'add', cause: 'enough' })
  await clock.runUntil(other)
  t.strictSame(service.served, ['1', '"other"'])
  const last = new AbortController()
  const left = add(client, 'left', { signal: last.signal })
  await new Promise(setImmediate)
  t.equal(clock.timers, 1)
  last.abort()
  await t.rejects(left, { code: 'aborted' })
  t.equal(clock.timers, 0, 'a program can end')
})

t.test('a call that fails, or whose fetch throws, gives its place to the next', async (t) => {
  let calls = 0
  const failing = async () => {
    calls++
    if (calls === 1) throw new TypeError('broken')
    if (calls === 2) return new Response('no', { status: 400 })
    return Response.json([])
  }
  const { clock, client } = start(1, { fetch: failing, inFlightMax: 1, attemptsMax: 1 })
  t.match(await clock.runUntil(Promise.allSettled([1, 2, 3].map((body) => add(client, body)))), [
    { reason: { code: 'unreachable' } },
    { reason: { code: 'unexpected_answer', status: 400 } },
    { value: { data: [] } },
  ])
})

t.test('a warning that throws takes no place along', async (t) => {
  const { clock, service, client } = start(1, {
    inFlightMax: 1,
    warn: () => {
      throw new Error('no console')
    },
  })
  await clock.runUntil(addAll(client, 3))
  t.equal(service.count(200), 3)
})

t.test('a call that does not wait so long gets the 429 of another, without a request', async (t) => {
  const { clock, service, client } = start(1, { waitMaxMs: 1_000 })
  await clock.runUntil(add(client, 1))
  const all = await clock.runUntil(
    Promise.allSettled(Array.from({ length: 50 }, () => client.operations.list?.({}))),
  )
  t.equal(service.count(429), 1, 'one asked')
  for (const each of all)
    t.match(each, {
      status: 'rejected',
      reason: { code: 'rate_limit_exceeded', operation: 'list', status: 429, message: 'Too many.' },
    })
  await clock.runUntil(clock.wait(10_001))
  await t.rejects(clock.runUntil(add(client, 1)), { code: 'rate_limit_exceeded', operation: 'add' })
  t.equal(service.count(429), 2, 'after ten seconds one asks again')
  service.perMinute = 100
  await clock.runUntil(clock.wait(10_001))
  await clock.runUntil(addAll(client, 10))
  t.equal(service.count(429), 2, 'a higher plan is noticed')
})

t.test('the 429 of another operation deprecates none but that', async (t) => {
  const { clock, client, warnings } = start(1, {
    waitMaxMs: 1_000,
    fetch: async (request) => {
      const response = await service.fetch(request)
      if (request.method === 'GET') response.headers.set('Deprecation', '@1795132800')
      return response
    },
  })
  const service = new Service(clock, 1)
  await clock.runUntil(add(client, 1))
  for (const operation of ['list', 'add'])
    await t.rejects(clock.runUntil(Promise.resolve(client.operations[operation]?.({}))), {
      code: 'rate_limit_exceeded',
      operation,
    })
  t.equal(service.count(429), 1)
  t.strictSame(warnings, ['list has been deprecated since 2026-11-20.'])
})

t.test('a patient call waits while others are refused', async (t) => {
  const { clock, service, client } = start(1)
  await clock.runUntil(add(client, 1))
  const patient = add(client, 'patient')
  await t.rejects(clock.runUntil(add(client, 'hasty', { waitMaxMs: 5 })), { code: 'rate_limit_exceeded' })
  await clock.runUntil(patient)
  t.strictSame(service.served, ['1', '"patient"'])
})

t.test('calls that go on over the quota of a day ask once in ten seconds', async (t) => {
  const { clock, service, client } = start(1, {}, 24 * 60 * minuteMs)
  await clock.runUntil(add(client, 1))
  for (let i = 0; i < 600; i++) {
    const error = await clock.runUntil(add(client, i).catch((error: ApiError) => error))
    t.match(error, { code: 'rate_limit_exceeded' })
    await clock.runUntil(clock.wait(100))
  }
  t.ok(service.count(429) <= 6, `${service.count(429)} in a minute`)
})

t.test('the time of a reset is read by the clock of the service', async (t) => {
  const { clock, client } = start(1, {
    fetch: async (request) => {
      const response = await service.fetch(request)
      const headers = new Headers(response.headers)
      const hourMs = 60 * minuteMs
      headers.set('Date', new Date(clock.now() - hourMs).toUTCString())
      headers.set('X-RateLimit-Reset', String(Number(headers.get('X-RateLimit-Reset')) - hourMs / 1000))
      return new Response(response.body, { status: response.status, headers })
    },
  })
  const service = new Service(clock, 1)
  const beganMs = clock.now()
  await clock.runUntil(addAll(client, 1))
  await clock.runUntil(addAll(client, 1))
  t.equal(service.count(429), 0)
  t.ok(clock.now() - beganMs >= minuteMs)
})

t.test('without the headers of a quota calls are only limited in number', async (t) => {
  const { clock, client } = start(1, { fetch: async () => Response.json([]) })
  t.equal((await clock.runUntil(addAll(client, 100))).length, 100)
})
