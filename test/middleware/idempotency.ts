import type { Around, Operation, SerializedResponse } from 'contract-engine'
import { clientOf, clientOfKey } from 'contract-service/fixtures/clients'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import type { Client } from 'contract-service/internal/auth/client'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { batched } from 'contract-service/internal/database/batch'
import type { Sql } from 'contract-service/internal/database/database'
import { inTransaction } from 'contract-service/internal/database/driver/transaction'
import { isUnavailable } from 'contract-service/internal/database/unavailable'
import { contractFile } from 'contract-service/internal/lib/paths'
import { purgeResponses } from 'contract-service/internal/middleware/stored-responses'
import { transactional } from 'contract-service/internal/middleware/writes'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../generated/handlers.js'
import { ApiError, type Handlers } from '../../src/handlers/handler.js'
import { insertPet } from '../../src/handlers/pets/pets.js'
import { countStatements } from '../fixtures/count.js'
import { prefix, prefixEncoded, status } from '../fixtures/facts.js'
import { holdInserts } from '../fixtures/locks.js'
import {
  contract,
  contractText,
  createDatabase,
  openPools,
  type Service,
  send,
  sendRaw,
  startService,
} from '../fixtures/service.js'

const rex = { name: 'Rex', categoryId: 9223372036854775807n }
const rexText = `{"name":"Rex","categoryId":9223372036854775807,"status":"${status}"}`

function create({ call }: Service, key: string, body: unknown = rexText, headers = {}) {
  return call('POST', '/pets', { body, headers: { 'idempotency-key': key, ...headers } })
}

// Calls a service with another service's API key.
function callWith({ base }: Service, auth: Service['auth']): Service['call'] {
  return (method, path, { headers = {}, body } = {}) =>
    send(`${base}${path}`, method, { ...auth, ...headers }, body)
}

async function countPets({ sql }: Pick<Service, 'sql'>): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pets`
  return row?.count ?? -1
}

t.test('a request that is repeated with its key', async (t) => {
  const service = await startService(t)

  t.test('gets the first response, byte for byte, marked as a replay', async (t) => {
    const first = await create(service, 'again')
    t.equal(first.status, 201)
    t.equal(first.headers.get('idempotent-replayed'), null)
    const before = await countPets(service)
    const second = await create(service, 'again')
    t.equal(second.status, 201)
    t.equal(second.text, first.text)
    t.match(second.text, /"categoryId":9223372036854775807/)
    for (const name of ['location', 'content-type', 'content-length'])
      t.equal(second.headers.get(name), first.headers.get(name), name)
    t.equal(second.headers.get('idempotent-replayed'), 'true')
    t.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'), 'with its own request id')
    t.ok(second.headers.get('x-ratelimit-remaining'), 'and counted')
    t.equal(await countPets(service), before)
    t.strictSame((await service.call('GET', `/pets/${first.body.id}`)).text, first.text)
  })

  t.test('may have another X-Request-Id: that names an attempt', async (t) => {
    const first = await create(service, 'attempts', rexText, { 'x-request-id': 'attempt-1' })
    const second = await create(service, 'attempts', rexText, { 'x-request-id': 'attempt-2' })
    t.match(second, { status: 201, text: first.text })
    t.equal(second.headers.get('x-request-id'), 'attempt-2')
  })

  t.test('gets a Location at the address that it names itself: a relative one is stored', async (t) => {
    const first = await create(service, 'elsewhere')
    const [stored] = await service.sql<{ location: string }[]>`
      select headers->>'location' as location from idempotent_answers where idempotency_key = 'elsewhere'`
    t.equal(stored?.location, `pets/${first.body.id}`)
    const publicUrl = 'https://store.example/animals'
    const other = await startService(t, { sql: service.sql, env: { PUBLIC_URL: publicUrl } })
    const second = await create({ ...other, call: callWith(other, service.auth) }, 'elsewhere')
    t.equal(second.headers.get('idempotent-replayed'), 'true')
    t.equal(second.headers.get('location'), `${publicUrl}/pets/${first.body.id}`)
  })

  t.test('may format its JSON differently', async (t) => {
    const first = await create(service, 'blanks')
    const again = `{ "status": "${status}", "categoryId": 9223372036854775807.0, "name": "R\\u0065x" }`
    t.match(await create(service, 'blanks', again), { status: 201, text: first.text })
  })

  t.test('is refused with 422 if the body differs', async (t) => {
    await create(service, 'other')
    const before = await countPets(service)
    const refused = await create(service, 'other', { name: 'Rex', categoryId: 1 })
    t.match(refused, { status: 422, body: { code: 'idempotency_key_reused', status: 422 } })
    t.equal(await countPets(service), before)
    t.match(await create(service, 'other'), { status: 201 }, 'and the first response is kept')
  })

  t.test('may spell its URL differently', async (t) => {
    const first = await create(service, 'url')
    const { authorization } = service.auth
    const fields = ['Host: a', 'Connection: close', `Authorization: ${authorization}`, 'Idempotency-Key: url']
    const length = `Content-Type: application/json\r\nContent-Length: ${rexText.length}`
    for (const target of [
      `${prefix}/%70ets`,
      `${prefix}/pets?`,
      `http://b${prefix}/pets`,
      `${prefixEncoded}/pets`,
    ]) {
      const head = `POST ${target} HTTP/1.1\r\n${fields.join('\r\n')}\r\n${length}\r\n\r\n`
      const text = await sendRaw(service.origin, head + rexText)
      t.match(text.slice(0, 12), 'HTTP/1.1 201', target)
      t.equal(text.slice(text.indexOf('\r\n\r\n') + 4), first.text, target)
    }
  })

  t.test('may send the key bare or quoted', async (t) => {
    const first = await create(service, 'bare-or-quoted')
    t.equal((await create(service, '"bare-or-quoted"')).text, first.text)
    const odd = await create(service, '"a \\"b\\" \\\\c"')
    t.equal(odd.status, 201)
    t.equal((await create(service, '"a \\"b\\" \\\\c"')).text, odd.text)
  })

  const lengths: [title: string, key: string, status: number][] = [
    ['of 1 character', 'x', 201],
    ['of 255 characters', 'y'.repeat(255), 201],
    ['of 255 characters in quotes', `"${'z'.repeat(255)}"`, 201],
    ['of 256 characters', 'y'.repeat(256), 400],
    ['of 256 characters in quotes', `"${'z'.repeat(256)}"`, 400],
    ['that is empty', '', 400],
    ['that is empty in quotes', '""', 400],
    ['with a quote that is not closed', '"abc', 400],
    ['with more after its quotes', '"abc";a=1', 400],
    ['with blanks and no quotes', 'a b', 400],
    ['with other letters', 'é', 400],
  ]
  for (const [title, key, status] of lengths) {
    t.test(`a key ${title} is ${status === 201 ? 'accepted' : 'refused'}`, async (t) => {
      const before = await countPets(service)
      const response = await create(service, key)
      t.equal(response.status, status)
      if (status === 400) {
        t.match(response.body, {
          code: 'invalid_request',
          message: /^header\.idempotency-key must (be 1 to 255|have at least 1)/,
        })
        t.equal(await countPets(service), before)
      }
    })
  }

  t.test('is refused if it has two keys', async (t) => {
    const headers = new Headers([...Object.entries(service.auth), ['content-type', 'application/json']])
    headers.append('idempotency-key', 'a')
    headers.append('idempotency-key', 'b')
    t.equal((await fetch(`${service.base}/pets`, { method: 'POST', headers, body: rexText })).status, 400)
  })

  t.test('is a different request with another API key', async (t) => {
    const first = await create(service, 'mine')
    const { key } = await service.createKey()
    const second = await create(service, 'mine', rexText, { authorization: `Bearer ${key}` })
    t.equal(second.status, 201)
    t.not(second.body.id, first.body.id)
    t.equal(second.headers.get('idempotent-replayed'), null)
  })

  t.test('is done again when its response has expired', async (t) => {
    const first = await create(service, 'old')
    const { keepHours } = contract.idempotency
    const age = (hours: number) =>
      service.sql`
        update idempotent_answers set created_at = now() - ${hours} * interval '1 hour'
        where idempotency_key = 'old'`
    await age(keepHours - 0.1)
    t.equal((await create(service, 'old')).text, first.text)
    await age(keepHours + 0.1)
    const second = await create(service, 'old')
    t.not(second.text, first.text)
    t.equal((await create(service, 'old')).text, second.text, 'and that response is stored')
  })
})

t.test('50 concurrent requests with one key add one animal', async (t) => {
  const service = await startService(t)
  const responses = await Promise.all(Array.from({ length: 50 }, () => create(service, 'fifty')))
  t.equal(await countPets(service), 1)
  const done = responses.filter(({ status }) => status === 201)
  const busy = responses.filter(({ status }) => status === 409)
  t.equal(done.length + busy.length, 50)
  t.equal(new Set(done.map(({ text }) => text)).size, 1)
  t.equal(done.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1)
})

t.test('while the first request is running, others get 409 with Retry-After', async (t) => {
  const service = await startService(t)
  const held = await holdInserts(service.sql)
  const first = create(service, 'slow')
  await held.someoneWaits()
  const second = await create(service, 'slow')
  t.match(second, {
    status: 409,
    body: { code: 'idempotency_key_in_use', message: /still under way\. Try again in 1 second\.$/ },
  })
  t.equal(second.headers.get('retry-after'), '1')
  await held.release()
  const done = await first
  t.equal(done.status, 201)
  t.equal((await create(service, 'slow')).text, done.text)
})

t.test('concurrent requests', async (t) => {
  // Each call adds an animal of its name, then acts.
  async function start(
    t: Test,
    act: (name: string, sql: Sql) => Promise<SerializedResponse> = async () => done,
    isShared = true,
  ) {
    const sql = await createDatabase(t)
    const { writes } = await openPools(t, sql)
    const runs: string[] = []
    const run: Parameters<Around<Sql>>[0] = async ({ body }, _reply, by = writes.sql) => {
      const { name } = body as { name: string }
      runs.push(name)
      await insertPet(by, { name, categoryId: 1n })
      return act(name, by)
    }
    const around = transactional(writes, { keepHours: 24, sharesTransactions: () => isShared })
    const answerOnce = around(run, contract.operations.get('createPet') as Operation)
    const ask = (
      name: string,
      signal?: AbortSignal,
      client: Client | null = clientOfKey('1'),
      headers: object = { 'idempotency-key': name },
    ) => {
      const request = { client: client ?? undefined, headers, params: {}, query: {}, body: { name } }
      return answerOnce({ ...request, lifetime: signal } as never, undefined as never)
    }
    const stored = async () => (await sql`select name from pets order by name`).map(({ name }) => name)
    const keys = async () =>
      (await sql`select idempotency_key as key from idempotent_answers order by key`).map(({ key }) => key)
    return { ask, stored, keys, runs, writes, admin: sql }
  }
  const done: SerializedResponse = { status: 201, headers: {}, body: undefined }
  const names = ['a', 'b', 'c', 'd']

  t.test('of different callers have nothing in common, whatever their keys and names', async (t) => {
    const { ask, stored, admin } = await start(t)
    const long = 'x'.repeat(20_000)
    const others = [
      clientOf('jwt', '1'),
      clientOf('jwt', 'ada'),
      clientOf('basic', 'ada'),
      clientOf('jwt', long),
    ]
    const callers = [null, clientOfKey('1'), clientOfKey('2'), ...others]
    for (const isRepeated of [false, true]) {
      const responses = await Promise.all(callers.map((caller) => ask('a', undefined, caller)))
      const replayed = responses.map((response) => 'Idempotent-Replayed' in response.headers)
      t.strictSame(
        replayed,
        callers.map(() => isRepeated),
      )
    }
    t.equal((await stored()).length, callers.length)
    const rows = await admin`
      select api_key_id::int as id, idempotency_key as key from idempotent_answers order by id, key`
    t.strictSame(
      rows.slice(-3),
      [0, 1, 2].map((id) => ({ id, key: 'a' })),
      'as the release before reads them',
    )
    // A caller who knows how another's key is stored gains nothing.
    for (const { id, key } of rows.slice(0, -3)) {
      t.equal(id, -1)
      t.strictSame(await ask(key, undefined, null), done)
      t.strictSame(await ask(key, undefined, clientOf('jwt', 'eve')), done)
    }
  })

  t.test('share a transaction of few statements', async (t) => {
    const { ask, stored, keys, writes } = await start(t)
    const statements = countStatements(writes)
    const responses = await Promise.all(names.map((name) => ask(name)))
    t.strictSame(
      responses,
      names.map(() => done),
    )
    t.strictSame([await stored(), await keys()], [names, names])
    t.equal(statements.count, 6, 'begin, locks, responses, animals, responses, commit')
    t.match(
      await Promise.all(names.map((name) => ask(name))),
      names.map(() => ({ headers: { 'Idempotent-Replayed': 'true' } })),
    )
    t.strictSame(await stored(), names)
  })

  t.test('do what is new once, next to repetitions', async (t) => {
    const { ask, stored, keys, runs } = await start(t)
    await Promise.all(['b', 'd'].map((name) => ask(name)))
    const responses = await Promise.all(names.map((name) => ask(name)))
    t.strictSame(runs, ['b', 'd', 'a', 'c'], 'no handler runs for a repetition')
    t.strictSame(
      responses.map(({ headers }) => headers['Idempotent-Replayed']),
      [undefined, 'true', undefined, 'true'],
    )
    t.strictSame([await stored(), await keys()], [names, names])
  })

  t.test('share a transaction with those that have no key, and each gets its own response', async (t) => {
    const { ask, stored, keys, runs } = await start(t, async (name) => ({ ...done, headers: { Name: name } }))
    await Promise.all(['b', 'd'].map((name) => ask(name)))
    runs.length = 0
    const all = ['x', 'b', 'y', 'd', 'c']
    const withoutKey = (name: string) => ask(name, undefined, undefined, {})
    const responses = await Promise.all(all.map((name) => (/[xy]/.test(name) ? withoutKey(name) : ask(name))))
    t.strictSame(
      responses.map(({ headers }) => headers.Name),
      all,
    )
    t.strictSame(runs, ['x', 'y', 'c'], 'no handler runs for a repetition')
    t.strictSame(
      [await stored(), await keys()],
      [
        ['b', 'c', 'd', 'x', 'y'],
        ['b', 'c', 'd'],
      ],
    )
  })

  t.test('do what is new once, next to a key that is in use', async (t) => {
    const { ask, stored, keys, admin } = await start(t)
    const responses = await admin.begin(async (other) => {
      await other`select pg_advisory_xact_lock(hashtextextended('b', 1))`
      return Promise.allSettled(names.map((name) => ask(name)))
    })
    t.match(responses, [
      { value: done },
      { reason: { code: 'idempotency_key_in_use' } },
      { value: done },
      { value: done },
    ])
    const others = ['a', 'c', 'd']
    t.strictSame([await stored(), await keys()], [others, others])
  })

  t.test('with one key are done once', async (t) => {
    const { ask, stored } = await start(t)
    const responses = await Promise.allSettled(['a', 'a', 'b'].map((name) => ask(name)))
    t.match(responses, [{ value: done }, { reason: { code: 'idempotency_key_in_use' } }, { value: done }])
    t.strictSame(await stored(), ['a', 'b'])
  })

  for (const [title, act, outcome, kept] of [
    ['is refused', async () => ({ ...done, status: 409 }), { value: { status: 409 } }, names],
    ['throws', () => Promise.reject(new Error('no')), { reason: { message: 'no' } }, ['a', 'c', 'd']],
    [
      'makes a second statement',
      (sql: Sql) => sql`select 1`.then(() => done),
      { reason: { message: /one batched statement, and nothing else/ } },
      ['a', 'c', 'd'],
    ],
    [
      'makes a second batched statement',
      (sql: Sql) => insertPet(sql, { name: 'more', categoryId: 1n }).then(() => done),
      { reason: { message: /one batched statement, and nothing else/ } },
      ['a', 'c', 'd'],
    ],
  ] as const) {
    t.test(`are each done once if one ${title}, whose work is rolled back`, async (t) => {
      const { ask, stored, keys } = await start(t, async (name, sql) => (name === 'b' ? act(sql) : done))
      const responses = await Promise.allSettled(names.map((name) => ask(name)))
      t.match(responses, [{ value: done }, outcome, { value: done }, { value: done }])
      t.strictSame(await stored(), ['a', 'c', 'd'])
      t.strictSame(await keys(), kept)
    })
  }

  t.test('are repeated once none of their handlers runs any more', async (t) => {
    const events: string[] = []
    const { ask, admin } = await start(t, async (name) => {
      events.push(`${name} begins`)
      if (name === 'b') throw new Error('no')
      // Longer than it takes to roll back and begin again.
      if (name === 'c') for (let i = 0; i < 20; i++) await admin`select 1`
      events.push(`${name} ends`)
      return done
    })
    await Promise.allSettled(names.map((name) => ask(name)))
    const isAgain = (event: string, i: number) => event.endsWith('begins') && events.indexOf(event) < i
    t.ok(events.findIndex(isAgain) > events.indexOf('c ends'), events.join())
  })

  t.test('of an operation that shares no transaction run its handler once, whatever others do', async (t) => {
    const act = async (name: string, sql: Sql): Promise<SerializedResponse> => {
      if (name === 'b') throw new Error('no')
      if (name === 'c') return { ...done, status: 409 }
      await sql`select 1`
      return done
    }
    const { ask, stored, keys, runs } = await start(t, act, false)
    const responses = await Promise.allSettled(names.map((name) => ask(name)))
    t.match(responses, [
      { value: done },
      { reason: { message: 'no' } },
      { value: { status: 409 } },
      { value: done },
    ])
    t.strictSame(runs.sort(), names)
    t.strictSame(
      [await stored(), await keys()],
      [
        ['a', 'd'],
        ['a', 'c', 'd'],
      ],
    )
    t.match(await ask('c'), { status: 409, headers: { 'Idempotent-Replayed': 'true' } })
    t.strictSame(runs.sort(), names, 'a repetition runs none')
  })

  t.test('are done if one of the clients disconnects, whose request is not', async (t) => {
    const client = new AbortController()
    const { ask, stored, keys } = await start(t, async (name) => {
      if (name === 'b') client.abort()
      return done
    })
    const responses = await Promise.allSettled(
      names.map((name) => ask(name, name === 'b' ? client.signal : undefined)),
    )
    t.match(responses, [{ value: done }, { reason: { code: 'STATEMENT_ABANDONED' } }, { value: done }])
    t.strictSame(
      [await stored(), await keys()],
      [
        ['a', 'c', 'd'],
        ['a', 'c', 'd'],
      ],
    )
  })

  t.test('fail without effect if one client has gone, or a response cannot be stored', async (t) => {
    const client = new AbortController()
    const { ask, stored } = await start(t, async (name, sql) => {
      if (name === 'b') client.abort()
      if (name === 'c') await sql`select 1`.catch(() => {})
      return done
    })
    const asked = names.map((name) => ask(name, name === 'b' ? client.signal : undefined))
    t.match(await Promise.allSettled(asked), [
      { value: done },
      { reason: { code: 'STATEMENT_ABANDONED' } },
      { status: 'rejected' },
      { value: done },
    ])
    t.strictSame(await stored(), ['a', 'd'])
  })

  t.test('fail together if the connection is lost, and each may be repeated', async (t) => {
    let isCut = true
    const { ask, stored, admin } = await start(t, async (name) => {
      if (name === 'b' && isCut)
        await admin`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`
      return done
    })
    const responses = await Promise.allSettled(names.map((name) => ask(name)))
    t.ok(responses.every((each) => each.status === 'rejected' && isUnavailable(each.reason)))
    t.strictSame(await stored(), [])
    isCut = false
    await Promise.all(names.map((name) => ask(name)))
    t.strictSame(await stored(), names)
  })
})

t.test('every declared parameter is part of what makes a request the same, as it is read', async (t) => {
  const document = parseDocument(contractText)
  const int64 = { type: 'integer', format: 'int64' }
  const post = ['paths', '/pets', 'post']
  const parameters = [
    { name: 'X-Tenant', in: 'header', schema: int64 },
    { name: 'region', in: 'cookie', schema: { type: 'string' } },
    { name: 'shop', in: 'query', schema: { ...int64, default: 1 } },
    { name: 'tags', in: 'query', explode: false, schema: { type: 'array', items: { type: 'string' } } },
  ]
  for (const each of parameters) document.addIn([...post, 'parameters'], document.createNode(each))
  const edited = await readServiceContract(contractFile, async () => document.toString())
  const service = await startService(t, { contract: edited, handlers })
  const same = { 'x-tenant': '9007199254740993', cookie: 'region=eu', 'idempotency-key': 'parameters' }
  const ask = (query: string, headers = {}) =>
    service.call('POST', `/pets${query}`, { body: rexText, headers: { ...same, ...headers } })
  const first = await ask('?tags=a,b')
  t.equal(first.status, 201)
  const others: [query: string, headers: object, status: number][] = [
    ['?shop=1&tags=%61,b', {}, 201],
    ['?tags=a,b', { cookie: 'a=b; region=eu', 'x-other': '1' }, 201],
    ['?tags=a,b', { 'x-tenant': '9007199254740992' }, 422],
    ['?tags=a,b', { cookie: 'region=us' }, 422],
    ['?tags=a,b', { cookie: '' }, 422],
    ['?tags=a,b&shop=2', {}, 422],
    ['?tags=a%2Cb', {}, 422],
  ]
  for (const [query, headers, status] of others) {
    const again = await ask(query, headers)
    t.equal(again.status, status, `${query} ${JSON.stringify(headers)}`)
    if (status === 201) t.equal(again.text, first.text)
  }
  t.equal(await countPets(service), 1)
})

t.test('headers that are not strings are stored as they are sent', async (t) => {
  const document = parseDocument(contractText)
  const headers = ['paths', '/pets', 'post', 'responses', '201', 'headers']
  const int64 = { type: 'integer', format: 'int64' }
  document.setIn([...headers, 'X-Total'], document.createNode({ schema: int64 }))
  document.setIn([...headers, 'X-Ids'], document.createNode({ schema: { type: 'array', items: int64 } }))
  const total = 9223372036854775807n
  const createPet: Handlers['createPet'] = async (request, context) => {
    const response = await handlers.createPet(request, context)
    return { ...response, headers: { ...response.headers, 'X-Total': total, 'X-Ids': [1n, total] } } as never // not in the types
  }
  const edited = await readServiceContract(contractFile, async () => document.toString())
  const service = await startService(t, { contract: edited, handlers: { ...handlers, createPet } })
  for (const replayed of [null, 'true']) {
    const { status, headers } = await create(service, 'headers')
    const names = ['x-total', 'x-ids', 'idempotent-replayed']
    t.strictSame(
      [status, ...names.map((name) => headers.get(name))],
      [201, `${total}`, `1, ${total}`, replayed],
    )
  }
})

t.test('a replay is of the media type that was stored, whatever the repetition accepts', async (t) => {
  const document = parseDocument(contractText)
  const content = ['paths', '/pets', 'post', 'responses', '201', 'content']
  const vendor = 'application/vnd.pet+json'
  document.setIn([...content, vendor], document.getIn([...content, 'application/json']))
  const edited = await readServiceContract(contractFile, async () => document.toString())
  const service = await startService(t, { contract: edited })
  const first = await create(service, 'typed', rexText, { accept: vendor })
  t.equal(first.headers.get('content-type'), `${vendor}; charset=utf-8`)
  for (const accept of ['application/json', '*/*', 'text/html']) {
    const { status, text, headers } = await create(service, 'typed', rexText, { accept })
    t.strictSame([status, text], [201, first.text], accept)
    const names = ['content-type', 'idempotent-replayed', 'vary']
    const expected = [`${vendor}; charset=utf-8`, 'true', first.headers.get('vary')]
    t.strictSame(
      names.map((name) => headers.get(name)),
      expected,
      accept,
    )
  }
  t.equal(await countPets(service), 1)
})

t.test('concurrent requests that read before they write see the writes of the others', async (t) => {
  const max = 3
  const count = batched(async (sql: Sql, inputs: readonly string[]) => {
    await sql`lock table pets in exclusive mode`
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pets`
    return inputs.map(() => row?.count ?? 0)
  })
  const withoutBatch = async (sql: Sql) => {
    await sql`lock table pets in exclusive mode`
    return (await sql`select from pets`).length
  }
  for (const [title, countIn] of [
    ['by batched statements', (sql: Sql) => count(sql, '')],
    ['by statements of their own', withoutBatch],
    ['in a transaction of their own', (sql: Sql) => inTransaction(sql, withoutBatch)],
  ] as const)
    t.test(title, async (t) => {
      const createPet: Handlers['createPet'] = async (request, context) => {
        if ((await countIn(context.sql)) >= max) throw new ApiError('pet_not_found', 'enough')
        return handlers.createPet(request, context)
      }
      const service = await startService(t, { handlers: { ...handlers, createPet } })
      for (const round of ['a', 'b']) {
        const responses = await Promise.all(
          Array.from({ length: 10 }, (_, i) => create(service, `${round}${i}`)),
        )
        const added = responses.filter(({ status }) => status === 201).length
        t.equal(added, round === 'a' ? max : 0)
        t.equal(await countPets(service), max)
      }
    })
})

t.test('the refusal of a handler is stored, and its statements are rolled back', async (t) => {
  let calls = 0
  const createPet: Handlers['createPet'] = async ({ body }, { sql }) => {
    calls++
    await insertPet(sql, body)
    if (body.status === status) throw new ApiError('pet_not_found', 'There is no room.')
    // A failed statement does not end the transaction.
    await sql`select 1 / 0`.catch(() => {})
    return { status: 400, body: { code: 'invalid_request', message: 'No.', status: 400 } }
  }
  const service = await startService(t, { handlers: { ...handlers, createPet } })
  for (const [key, body, status] of [
    ['thrown', rexText, 404],
    ['answered', '{"name":"Rex","categoryId":1}', 400],
  ] as const) {
    calls = 0
    const first = await create(service, key, body)
    t.equal(first.status, status)
    t.equal(first.headers.get('idempotent-replayed'), null)
    const second = await create(service, key, body)
    t.match(second, { status, text: first.text })
    t.equal(second.headers.get('content-type'), first.headers.get('content-type'))
    t.equal(second.headers.get('idempotent-replayed'), 'true')
    t.equal(calls, 1)
  }
  t.equal(await countPets(service), 0)
})

t.test('a handler may go on after a failed statement, with a key as without one', async (t) => {
  const createPet: Handlers['createPet'] = async (request, context) => {
    const { sql } = context
    await sql`insert into pets (name, category_id) values (null, 1)`.catch(() => {})
    await inTransaction(sql, async (sql) => sql`select 1 / 0`).catch(() => {})
    return handlers.createPet(request, context)
  }
  const service = await startService(t, { handlers: { ...handlers, createPet } })
  t.equal((await service.call('POST', '/pets', { body: rexText })).status, 201)
  t.equal((await create(service, 'goes-on')).status, 201)
  t.equal((await create(service, 'goes-on')).headers.get('idempotent-replayed'), 'true')
  t.equal(await countPets(service), 2)
})

t.test('an error of the service is not stored, and its statements are rolled back', async (t) => {
  let isBroken = true
  const createPet: Handlers['createPet'] = async (request, context) => {
    const response = await handlers.createPet(request, context)
    if (isBroken && request.body.status === status) throw new Error('broken')
    // An invalid response must not be stored, either.
    return isBroken ? { ...response, headers: {} as never } : response
  }
  const service = await startService(t, { handlers: { ...handlers, createPet } })
  for (const body of [rexText, '{"name":"Rex","categoryId":1}']) {
    isBroken = true
    t.match(await create(service, 'broken', body), { status: 500, body: { code: 'internal_error' } })
    t.equal(await countPets(service), 0)
    isBroken = false
    const second = await create(service, 'broken', body)
    t.equal(second.status, 201)
    t.equal(second.headers.get('idempotent-replayed'), null)
    await service.sql`truncate pets, idempotent_answers`
  }
})

t.test('a refusal before the handler runs is not stored', async (t) => {
  const service = await startService(t)
  t.equal((await create(service, 'late', { name: '' })).status, 400)
  const limited = await service.createKey({ perMinute: 1 })
  const auth = { authorization: `Bearer ${limited.key}` }
  t.equal((await service.call('GET', '/pets', { headers: auth })).status, 200)
  t.equal((await create(service, 'late', rexText, auth)).status, 429)
  t.equal((await service.sql`select from idempotent_answers`).length, 0)
  t.equal((await create(service, 'late')).status, 201)
})

t.test('without a key a request is done every time', async (t) => {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const statements = countStatements(pools.writes)
  const service = await startService(t, { sql, pools })
  const first = await service.call('POST', '/pets', { body: { ...rex, categoryId: 1 } })
  const second = await service.call('POST', '/pets', { body: { ...rex, categoryId: 1 } })
  t.not(second.body.id, first.body.id)
  t.equal(statements.count, 6, 'begin, insert and commit of each')
  t.equal((await sql`select from idempotent_answers`).length, 0)
})

t.test('an operation without x-idempotent ignores the key', async (t) => {
  const service = await startService(t)
  const headers = { 'idempotency-key': '' }
  t.equal((await service.call('GET', '/pets', { headers })).status, 200)
})

t.test('expired responses are purged in batches, by an index', async (t) => {
  const sql = await createDatabase(t) // without a service, because that also purges
  const fill = (count: number, hours: number) => sql`
    insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers, created_at)
    select ${hours}, 'k' || n, sha256('x'), 201, '{}', now() - ${hours} * interval '1 hour'
    from generate_series(1, ${count}) as n`
  await fill(5, 25)
  await fill(20_000, 1)
  await sql`analyze idempotent_answers`
  const plan = await sql`
    explain delete from idempotent_answers
    where ctid = any(array(
      select ctid from idempotent_answers
      where created_at <= now() - ${24} * interval '1 hour' order by created_at limit ${3} for update skip locked))`
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  t.match(text, /Index Scan using idempotent_answers_created_at/)
  t.notMatch(text, /Seq Scan/)
  t.equal(await purgeResponses(sql, 24, 3), 3)
  t.equal(await purgeResponses(sql, 24, 3), 2)
  t.equal(await purgeResponses(sql, 24, 3), 0)
  t.equal((await sql`select count(*)::int as count from idempotent_answers`)[0]?.count, 20_000)
})

t.test(
  'a request repeated after the service was killed between commit and response adds one animal',
  async (t) => {
    const service = await startService(t) // provides the database and the key
    const proxy = await startDatabaseProxy(t, service.sql)
    const post = (base: string) =>
      send(`${base}/pets`, 'POST', { ...service.auth, 'idempotency-key': 'killed' }, rexText)

    const first = await startProcess(t, { DATABASE_URL: proxy.url })
    const committed = proxy.holdBack('COMMIT')
    const lost = post(first.base).then(
      ({ status }) => status,
      () => 'no response',
    )
    await committed
    await first.stop('SIGKILL')
    t.equal(await lost, 'no response')
    t.equal(await countPets(service), 1)

    const second = await startService(t, { sql: service.sql })
    const again = await post(second.base)
    t.match(again, { status: 201, body: rex })
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal(await countPets(service), 1)
  },
)
