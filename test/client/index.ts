// The client against the running service.

import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import path from 'node:path'
import { type AnyClient, buildClient } from 'contract-client/internal/client'
import type { Clock } from 'contract-client/internal/clock'
import type { ClientTable } from 'contract-client/internal/table'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { unavailable } from 'contract-service/internal/middleware/unavailable'
import { stopClocks } from 'contract-testing/clocks'
import { listen } from 'contract-testing/port'
import t, { type Test } from 'tap'
import { table } from '../../generated/client.js'
import { handlers } from '../../generated/handlers.js'
import { type ApiError, type Client, type ClientOptions, createClient } from '../../src/client/index.js'
import { deprecationWarning, fixedPlan, otherStatus, status } from '../fixtures/facts.js'
import { type Service, startService } from '../fixtures/service.js'

const max = 9223372036854775807n

function clientOf({ base, key }: Service, options: Partial<ClientOptions> = {}): Client {
  return createClient({ baseUrl: base, key, ...options })
}

// A clock that records the waits instead of waiting, and runs `meanwhile` in each.
function fakeClock(meanwhile: (ms: number) => unknown = () => {}): Clock & { waits: number[] } {
  const waits: number[] = []
  const wait = async (ms: number) => {
    waits.push(ms)
    await meanwhile(ms)
  }
  return { now: Date.now, random: () => 0, wait, waits }
}

function call(client: AnyClient, operation: string, request?: object) {
  return client.operations[operation]?.(request) ?? Promise.reject(new Error(operation))
}

async function addPets({ sql }: Service, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, i) => ({ name: `pet ${i}`, category_id: i }))
  await sql`insert into pets ${sql(rows)}`
}

t.test('an animal is added and read, with every int64 as an exact bigint', async (t) => {
  const service = await startService(t)
  const store = clientOf(service, { warn: () => {} })
  const { data: rex, response } = await store.createPet({
    body: { name: 'Rex', categoryId: max, status },
  })
  t.strictSame(rex, { id: 1n, name: 'Rex', categoryId: max, status })
  t.equal(response.headers.get('Location'), `${service.base}/pets/1`)
  t.strictSame((await store.getPet({ path: { petId: rex.id } })).data, rex)
  t.strictSame((await store.listPets()).data, [rex])
  t.strictSame((await store.listPets({ query: { status: otherStatus } })).data, [])
})

t.test('an id of any size is sent exactly', async (t) => {
  const service = await startService(t)
  const store = clientOf(service, { warn: () => {} })
  await service.sql`alter table pets alter column id restart with 9223372036854775806`
  await addPets(service, 2)
  t.equal((await store.getPet({ path: { petId: max } })).data.id, max)
  t.equal((await store.getPet({ path: { petId: max - 1n } })).data.id, max - 1n)
})

t.test('pages are read in order, to the last', async (t) => {
  const service = await startService(t)
  await addPets(service, 7)
  const asked: string[] = []
  const store = clientOf(service, {
    fetch: (request) => {
      asked.push(request.url)
      return fetch(request)
    },
  })
  const sizes: number[] = []
  for await (const page of store.pages('listPets', { query: { limit: 3 } })) sizes.push(page.data.length)
  t.strictSame(sizes, [3, 3, 1])
  asked.length = 0
  for await (const { data } of store.pages('listPets', { query: { limit: 3 } })) {
    t.match(data[0], { id: 1n, name: 'pet 0', categoryId: 0n })
    break
  }
  t.equal(asked.length, 1, 'stopping early requests no further page')
  const none: unknown[] = []
  for await (const page of store.pages('listPets', { query: { status: otherStatus } })) none.push(page.data)
  t.strictSame(none, [[]], 'an empty list is one empty page')
})

t.test('each page has its headers and its successor, which keeps the key of the call', async (t) => {
  const service = await startService(t)
  await addPets(service, 3)
  const keys: (string | null)[] = []
  const store = clientOf(service, {
    key: 'of the client'.replaceAll(' ', '-'),
    fetch: (request) => {
      keys.push(request.headers.get('Authorization'))
      return fetch(request)
    },
  })
  const signal = AbortSignal.abort()
  const { key } = service
  await t.rejects(store.listPets({ key, signal }), { code: 'aborted' })
  const first = await store.listPets({ query: { limit: 2 }, key })
  t.match(first.rateLimit, { limit: Number, remaining: Number, resetsAt: Date })
  const last = await first.next?.()
  t.match(last, { data: [{ name: 'pet 2' }], next: undefined, response: { status: 200 } })
  t.strictSame(keys, [`Bearer ${key}`, `Bearer ${key}`])
  await t.rejects(async () => first.next?.({ key: 'x' }), { code: 'invalid_api_key' })
  await t.rejects(async () => first.next?.({ signal }), { code: 'aborted' })
})

// Starts a service of two pages, behind a gateway that strips /store.
async function startPaged(t: Test, link: string, method = 'POST', options: object = {}) {
  const asked: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders }[] = []
  const origin = await listen(t, ({ method, url, headers }, response) => {
    asked.push({ method, url, headers })
    if (asked.length === 1) response.setHeader('Link', `<${link}>; rel="next"`)
    response.end('[]')
  })
  const security = [['apiKey']]
  const list = { method, path: '/pets', idempotent: true, security } as const
  const paged: ClientTable = { ...table, operations: { list } }
  const settings = { baseUrl: `${origin}/store/v1`, key: 'k', ...options }
  return { asked, store: buildClient(paged, settings, fakeClock()) }
}

// Returns a `fetch` that changes the headers of responses.
function changing(change: (headers: Headers, request: Request, status: number) => void) {
  return async (request: Request) => {
    const { status, headers, body } = await fetch(request)
    const changed = new Headers(headers)
    change(changed, request, status)
    return new Response(body, { status, headers: changed })
  }
}

t.test('further pages are requested with the headers and cookies of the first', async (t) => {
  const elsewhere = ['/v1/pets?cursor=a', 'https://store.example/animals/pets?cursor=a']
  for (const link of ['pets?cursor=a', '?cursor=a', '/store/v1/pets?cursor=a', ...elsewhere]) {
    const { asked, store } = await startPaged(t, link)
    const request = { header: { 'X-Tenant': 'a' }, cookie: { session: 's' }, body: {} }
    for await (const page of store.pages('list', request)) t.strictSame(page.data, [])
    t.match(asked, [
      { method: 'POST', url: '/store/v1/pets', headers: { 'x-tenant': 'a', cookie: 'session=s' } },
      { method: 'GET', url: '/store/v1/pets?cursor=a', headers: { 'x-tenant': 'a', cookie: 'session=s' } },
    ])
    const { authorization, ...others } = asked[1]?.headers ?? {}
    t.equal(authorization, 'Bearer k')
    t.notOk('content-type' in others || 'idempotency-key' in others, 'without what belongs to the body')
  }
})

t.test('a link out of the base URL is not followed, so the key is not sent there', async (t) => {
  for (const link of ['https://evil.example/store/v1/pets/7', '/v1/toys']) {
    const { asked, store } = await startPaged(t, link)
    const pages = store.pages('list')
    t.match((await pages.next()).value, { data: [], response: { status: 200 } })
    await t.rejects(pages.next(), { code: 'unexpected_answer', message: /^The next page, .*, is not under / })
    t.equal(asked.length, 1)
  }
})

t.test('a page that names itself as the next ends the list with an error', async (t) => {
  let requests = 0
  const loop = changing((headers, { url }) => {
    requests++
    headers.set('Link', `<${url}>; rel="next"`)
  })
  const pages = clientOf(await startService(t), { fetch: loop }).pages('listPets')
  t.match((await pages.next()).value, { data: [] })
  const message = 'The next page is this one again.'
  await t.rejects(pages.next(), { code: 'unexpected_answer', message, operation: 'listPets', status: 200 })
  t.equal(requests, 1)
})

t.test('a list goes on at the position of an earlier page, with its query', async (t) => {
  const service = await startService(t)
  await addPets(service, 5)
  const positions: (string | undefined)[] = []
  for await (const { position } of clientOf(service).pages('listPets', { query: { limit: 2 } }))
    positions.push(position)
  const [first, , last] = positions
  t.equal(last, undefined)
  t.equal(typeof first, 'string')
  const later = clientOf(service)
  const names: string[] = []
  for await (const { name } of later.items('listPets', { position: first })) names.push(name)
  t.strictSame(names, ['pet 2', 'pet 3', 'pet 4'])
  const again = await later.listPets({ position: first })
  t.equal(again.data.length, 2)
  await t.rejects(async () => again.next?.({ position: first } as object), {
    name: 'TypeError',
    message: 'unknown call option: position',
  })
  await t.rejects(later.listPets({ position: first, query: { limit: 1 } }), {
    name: 'TypeError',
    message: 'position has its query: give no other',
  })
  for (const position of ['a=1#', 5])
    await t.rejects(later.listPets({ position: position as string }), {
      name: 'TypeError',
      message: 'position must be that of an earlier result',
    })
})

t.test('only a link of a GET to its own path has a position', async (t) => {
  for (const [method, link, position] of [
    ['GET', '?page=2', 'page=2'],
    ['GET', 'http://other.example/store/v1/pets?page=2', 'page=2'],
    ['GET', 'http://other.example/v1/store/v1/pets?page=2', 'page=2'],
    ['GET', 'http://other.example/v1/pets?page=2', 'page=2'],
    ['GET', 'toys?page=2', undefined],
    ['GET', 'http://[', undefined],
    ['POST', '?page=2', undefined],
  ] as const) {
    const { store } = await startPaged(t, link, method)
    t.equal((await call(store, 'list')).position, position, `${method} ${link}`)
  }
})

t.test('headers of the client and of a call are sent, also with further pages', async (t) => {
  const { asked, store } = await startPaged(t, '?page=2', 'GET', {
    headers: { 'X-A': '1', 'X-B': undefined },
  })
  const first = await call(store, 'list', { headers: { 'x-a': '2', 'X-C': '3', 'User-Agent': 'mine' } })
  await first.next?.({ headers: { 'X-C': '4' } })
  t.match(asked, [
    { headers: { 'x-a': '2', 'x-b': undefined, 'x-c': '3', 'user-agent': 'mine' } },
    { headers: { 'x-a': '2', 'x-c': '4', 'user-agent': 'mine', authorization: 'Bearer k' } },
  ])
  await call(store, 'list', { headers: { 'X-Tenant': 'a' }, header: { 'X-Tenant': 'b' } })
  t.match(asked[2]?.headers, { 'x-a': '1', 'x-tenant': 'b' }, 'a parameter is the closest')
})

t.test('headers that cannot be sent, or that the client writes, are rejected', async (t) => {
  const base = { baseUrl: 'http://127.0.0.1:1/v1', key: '' }
  for (const [headers, message] of [
    [{ Authorization: 'Basic a' }, 'headers must not contain authorization: give the key as `key`'],
    [{ 'Content-Type': 'text/plain' }, 'headers must not contain content-type: it follows from the body'],
    [
      { 'Idempotency-Key': 'a' },
      'headers must not contain idempotency-key: give it in `header`, for one call',
    ],
    [{ 'X-A': 5 }, 'headers: x-a must be a string'],
    [new Headers(), 'headers must be an object with a string for each name'],
    [null, 'headers must be an object with a string for each name'],
    ['X-A: 1', 'headers must be an object with a string for each name'],
    [{ 'X-A': 'a\nb' }, /./],
    [{ 'X A': 'a' }, /./],
  ] as const) {
    const given = { headers } as object
    t.throws(() => buildClient(table, { ...base, ...given }), { name: 'TypeError', message })
    await t.rejects(call(buildClient(table, base), 'listPets', given), { name: 'TypeError', message })
  }
})

t.test('300 creations at once with a new key all succeed, in the order of the quota', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)
  const { key } = await service.createKey({ plan: fixedPlan.name, perMinute: null, perDay: null })
  const statuses: number[] = []
  const counted = changing((headers, _, status) => {
    statuses.push(status)
    headers.delete('Date') // Node writes it by a clock that is not stopped
  })
  const time = { now: clock.now, random: () => 0.5, wait: async (ms: number) => clock.advance(ms) }
  const options = { fetch: counted, warn: () => {}, inFlightMax: Math.min(32, fixedPlan.perMinute) }
  const store = buildClient(table, { baseUrl: service.base, key, ...options }, time)
  const calls = Array.from({ length: Math.min(300, fixedPlan.perDay) }, (_, i) =>
    call(store, 'createPet', { body: { name: `pet ${i}`, categoryId: 1n } }),
  )
  const ids = (await Promise.all(calls)).map(({ data }) => (data as { id: bigint }).id)
  t.strictSame(new Set(statuses), new Set([201]), 'none was refused')
  t.notMatch(service.log, [{ msg: 'key banned' }])
  const windows = ids.map((id) => Math.floor((Number(id) - 1) / fixedPlan.perMinute))
  t.strictSame(
    windows,
    windows.toSorted((a, b) => a - b),
  )
})

t.test('requests name the package and its version', async (t) => {
  const { asked, store } = await startPaged(t, '')
  await call(store, 'list')
  const manifest = JSON.parse(readFileSync(path.join(projectRoot, 'src/client/package.json'), 'utf8'))
  t.equal(asked[0]?.headers['user-agent'], `animal-store-client/${manifest.version}`)
})

t.test('an error has a code, a status and a request id', async (t) => {
  const service = await startService(t)
  const store = clientOf(service, { warn: () => {} })
  const thrown = await t.rejects(store.getPet({ path: { petId: 5n } }), {
    name: 'ApiError',
    code: 'pet_not_found',
    status: 404,
    message: 'There is no animal with id 5.',
  })
  const error = thrown as ApiError
  t.equal(error.requestId, error.response?.headers.get('x-request-id'))
  const refused = clientOf(service, { key: 'x' }).listPets()
  await t.rejects(refused, { code: 'invalid_api_key', status: 401 })
  await t.rejects(store.listPets({ query: { limit: 0 } }), { code: 'invalid_request', status: 400 })
})

t.test('a deprecated operation is reported once, with its sunset', async (t) => {
  const service = await startService(t)
  const warnings: string[] = []
  const store = clientOf(service, { warn: (message) => warnings.push(message) })
  await store.listPets()
  await t.rejects(store.getPet({ path: { petId: 1n } }), { code: 'pet_not_found' })
  await addPets(service, 1)
  for (const petId of [1n, 1n]) await store.getPet({ path: { petId } })
  t.strictSame(warnings, [deprecationWarning])
})

// Starts a service whose operation responds 503 a number of times before it works.
async function startFailing(t: Test, operation: 'listPets' | 'createPet', failures: number) {
  let left = failures
  const failing = async (...args: [never, never]) => {
    if (left-- > 0) throw unavailable(new Error('unavailable'))
    return (handlers[operation] as (...args: unknown[]) => Promise<never>)(...args)
  }
  return startService(t, { handlers: { ...handlers, [operation]: failing } })
}

t.test('a 503 is retried after Retry-After', async (t) => {
  const { base, key } = await startFailing(t, 'listPets', 3)
  const clock = fakeClock()
  const store = buildClient(table, { baseUrl: base, key }, clock)
  t.strictSame((await call(store, 'listPets')).data, [])
  t.strictSame(clock.waits, [1_000, 1_000, 1_000])
})

t.test('retries end after attemptsMax', async (t) => {
  const { base, key } = await startFailing(t, 'listPets', 99)
  const clock = fakeClock()
  const store = buildClient(table, { baseUrl: base, key, attemptsMax: 3 }, clock)
  await t.rejects(call(store, 'listPets'), { code: 'unavailable', status: 503, retryAfterMs: 1_000 })
  t.equal(clock.waits.length, 2)
  await t.rejects(call(store, 'listPets', { attemptsMax: 1 }), { code: 'unavailable' })
  t.equal(clock.waits.length, 2, 'a call may have its own')
})

t.test('a creation without an idempotency key is never sent twice', async (t) => {
  const service = await startFailing(t, 'createPet', 1)
  const clock = fakeClock()
  const store = buildClient(plain, { baseUrl: service.base, key: service.key }, clock)
  const rex = { body: { name: 'Rex', categoryId: 1n } }
  await t.rejects(call(store, 'createPet', rex), { code: 'unavailable' })
  t.strictSame(clock.waits, [])
})

t.test('a creation that accepts an idempotency key gets one, the same at each attempt', async (t) => {
  const service = await startFailing(t, 'createPet', 2)
  const keys: (string | null)[] = []
  const watch = (request: Request) => {
    keys.push(request.headers.get('Idempotency-Key'))
    return fetch(request)
  }
  const store = buildClient(keyed, { baseUrl: service.base, key: service.key, fetch: watch }, fakeClock())
  const rex = { body: { name: 'Rex', categoryId: 1n } }
  t.match((await call(store, 'createPet', rex)).data, { id: 1n })
  await call(store, 'createPet', rex)
  const [first, second, third, other] = keys
  t.match(first, /^[0-9a-f]{32}$/)
  t.strictSame([second, third], [first, first])
  t.not(other, first, 'another call has another key')
  await call(store, 'createPet', { ...rex, header: { 'idempotency-key': 'mine' } })
  t.equal(keys.at(-1), 'mine', 'a key of the caller is used instead')
})

t.test('an unknown call option is rejected, not ignored', async (t) => {
  const store = buildClient(table, { baseUrl: 'http://127.0.0.1:1/v1', key: '' }, fakeClock())
  const request = { body: { name: 'Rex', categoryId: 1n }, timeout: 5 }
  const error = { name: 'TypeError', message: 'unknown call option: timeout' }
  await t.rejects(call(store, 'createPet', request), error)
  await t.rejects(store.pages('listPets', request).next(), error)
})

t.test('an invalid duration or number of attempts is rejected, of the client and of a call', async (t) => {
  const base = { baseUrl: 'http://127.0.0.1:1/v1', key: '' }
  const wrong: [name: string, values: readonly unknown[], requirement: string][] = [
    ['timeoutMs', [0, -1, Number.NaN, '5', null], 'a number of milliseconds above 0, or Infinity'],
    ['waitMaxMs', [-1, Number.NaN, 1n], 'a number of milliseconds of at least 0, or Infinity'],
    ['attemptsMax', [0, 1.5, Number.NaN], 'a whole number above 0, or Infinity'],
  ]
  for (const [name, values, requirement] of wrong) {
    for (const value of values) {
      const error = { name: 'TypeError', message: `${name} must be ${requirement}, not ${value}` }
      t.throws(() => buildClient(table, { ...base, [name]: value }), error)
      await t.rejects(call(buildClient(table, base), 'listPets', { [name]: value }), error)
    }
  }
  const most = {
    timeoutMs: Number.POSITIVE_INFINITY,
    waitMaxMs: Number.POSITIVE_INFINITY,
    attemptsMax: undefined,
  }
  t.doesNotThrow(() => buildClient(table, { ...base, ...most }))
  t.throws(() => buildClient(table, { ...base, ...{ timeout: 5 } }), { message: 'unknown option: timeout' })
  t.throws(() => buildClient(table, { ...base, ...{ onRetry: 5 } } as never), {
    message: /^onRetry must be a function/,
  })
})

t.test('a creation whose response is lost is sent again and takes effect once', async (t) => {
  const { base, key, sql } = await startService(t)
  let isLost = false
  const losing = async (request: Request) => {
    const answer = await fetch(request)
    if (isLost) return answer
    isLost = true
    await answer.arrayBuffer()
    throw new TypeError('the connection broke')
  }
  const store = buildClient(table, { baseUrl: base, key, fetch: losing }, fakeClock())
  const { data, response } = await call(store, 'createPet', { body: { name: 'Rex', categoryId: 1n } })
  t.match(data, { id: 1n })
  t.equal(response.headers.get('Idempotent-Replayed'), 'true')
  t.match(await sql`select count(*)::int as count from pets`, [{ count: 1 }])
})

t.test('a call over the quota of the minute waits for the next window', async (t) => {
  const first = await startService(t)
  const { key } = await first.createKey({ perMinute: 2, perDay: 100 })
  // A second instance, which has counted no requests yet, stands for the next window.
  let current = first
  const redirect = (request: Request) =>
    fetch(new Request(request.url.replace(first.origin, current.origin), request))
  const clock = fakeClock(async () => {
    current = await startService(t, { sql: first.sql })
  })
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  const store = buildClient(table, { baseUrl: first.base, key, fetch: redirect, warn }, clock)
  const began = performance.now()
  for (let i = 0; i < 3; i++) t.strictSame((await call(store, 'listPets')).data, [])
  const [wait = 0, ...others] = clock.waits
  // The time of the reset is in whole seconds.
  t.ok(wait > 60_000 - (performance.now() - began) && wait <= 61_000, `${wait} ms`)
  t.strictSame(others, [])
  t.match(warnings, [/^The quota of the key is used up: its calls wait 6[01] s for the next window\.$/])
})

t.test('a call over the quota of the day fails at once', async (t) => {
  const service = await startService(t)
  const { key } = await service.createKey({ perMinute: 9, perDay: 1 })
  const clock = fakeClock()
  const store = buildClient(table, { baseUrl: service.base, key }, clock)
  await call(store, 'listPets')
  const error = await t.rejects(call(store, 'listPets'), { code: 'rate_limit_exceeded', status: 429 })
  t.ok(Number((error as ApiError).response?.headers.get('Retry-After')) > 86_000)
  t.strictSame(clock.waits, [])
})

t.test('a call can be aborted while it waits to retry', async (t) => {
  const { base, key } = await startFailing(t, 'listPets', 99)
  const controller = new AbortController()
  const reason = new Error('enough')
  const clock = fakeClock(() => {
    controller.abort(reason)
    throw reason // as the system clock does
  })
  const store = buildClient(table, { baseUrl: base, key }, clock)
  for (const signal of [controller.signal, AbortSignal.abort(reason)])
    await t.rejects(call(store, 'listPets', { signal }), { code: 'aborted', cause: reason })
})

// createPet without and with `x-idempotent`.
const { createPet } = table.operations
const { idempotent: _, ...unmarked } = createPet ?? { method: '', path: '' }
const plain: ClientTable = { ...table, operations: { ...table.operations, createPet: unmarked } }
const keyed: ClientTable = {
  ...table,
  operations: { ...table.operations, createPet: { ...unmarked, idempotent: true } },
}
