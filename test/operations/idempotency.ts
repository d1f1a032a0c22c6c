import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../generated/handlers.js'
import { readContract } from '../../src/contract/read.js'
import { batched } from '../../src/database/batch.js'
import { inTransaction } from '../../src/database/driver/transaction.js'
import { purgeResponses, type SerializedResponse } from '../../src/database/idempotency-keys.js'
import { insertPet } from '../../src/database/pets.js'
import type { Sql } from '../../src/database/types.js'
import { isUnavailable } from '../../src/database/unavailable.js'
import { ApiError } from '../../src/errors.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { createIdempotent } from '../../src/operations/idempotency.js'
import { contractFile } from '../../src/paths.js'
import { countStatements } from '../fixtures/count.js'
import { prefixEncoded, status } from '../fixtures/facts.js'
import { holdInserts } from '../fixtures/locks.js'
import { startProcess } from '../fixtures/process.js'
import { startDatabaseProxy } from '../fixtures/proxy.js'
import { contract, createDatabase, openPools, type Service, send, startService } from '../fixtures/service.js'

const rex = { name: 'Rex', categoryId: 9223372036854775807n }
const rexText = `{"name":"Rex","categoryId":9223372036854775807,"status":"${status}"}`

function create({ call }: Service, key: string, body: unknown = rexText, headers = {}) {
  return call('POST', '/pets', { body, headers: { 'idempotency-key': key, ...headers } })
}

async function countPets({ sql }: Pick<Service, 'sql'>): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pets`
  return row?.count ?? -1
}

t.test('a request that is sent again with its key', async (t) => {
  const service = await startService(t)

  t.test('gets the first answer, byte for byte, with a word of it', async (t) => {
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
    t.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'), 'but it is its own request')
    t.ok(second.headers.get('x-ratelimit-remaining'), 'and counted')
    t.equal(await countPets(service), before)
    t.strictSame((await service.call('GET', `/pets/${first.body.id}`)).text, first.text)
  })

  t.test('may have its JSON written in another way', async (t) => {
    const first = await create(service, 'blanks')
    const again = `{ "status": "${status}", "categoryId": 9223372036854775807.0, "name": "R\\u0065x" }`
    t.match(await create(service, 'blanks', again), { status: 201, text: first.text })
  })

  t.test('but another body is refused with 422', async (t) => {
    await create(service, 'other')
    const before = await countPets(service)
    const refused = await create(service, 'other', { name: 'Rex', categoryId: 1 })
    t.match(refused, { status: 422, body: { code: 'idempotency_key_reused', status: 422 } })
    t.equal(await countPets(service), before)
    t.match(await create(service, 'other'), { status: 201 }, 'and the first answer stays')
  })

  t.test('or another path', async (t) => {
    await create(service, 'path')
    const refused = await send(
      `${service.origin}${prefixEncoded}/pets`,
      'POST',
      { ...service.auth, 'idempotency-key': 'path' },
      rexText,
    )
    t.match(refused, { status: 422 })
  })

  t.test('names it bare or in quotes', async (t) => {
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
    t.test(`${title} is ${status === 201 ? 'taken' : 'refused'}`, async (t) => {
      const before = await countPets(service)
      const answer = await create(service, key)
      t.equal(answer.status, status)
      if (status === 400) {
        t.match(answer.body, {
          code: 'invalid_request',
          message: /^header\.idempotency-key must be 1 to 255/,
        })
        t.equal(await countPets(service), before)
      }
    })
  }

  t.test('given twice is refused', async (t) => {
    const headers = new Headers([...Object.entries(service.auth), ['content-type', 'application/json']])
    headers.append('idempotency-key', 'a')
    headers.append('idempotency-key', 'b')
    t.equal((await fetch(`${service.base}/pets`, { method: 'POST', headers, body: rexText })).status, 400)
  })

  t.test('is known by its API key alone', async (t) => {
    const first = await create(service, 'mine')
    const { key } = await service.createKey()
    const second = await create(service, 'mine', rexText, { authorization: `Bearer ${key}` })
    t.equal(second.status, 201)
    t.not(second.body.id, first.body.id)
    t.equal(second.headers.get('idempotent-replayed'), null)
  })

  t.test('is done again when its answer is too old', async (t) => {
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
    t.equal((await create(service, 'old')).text, second.text, 'and that answer is kept')
  })
})

t.test('50 requests at once with one key make one animal', async (t) => {
  const service = await startService(t)
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(service, 'fifty')))
  t.equal(await countPets(service), 1)
  const done = answers.filter(({ status }) => status === 201)
  const busy = answers.filter(({ status }) => status === 409)
  t.equal(done.length + busy.length, 50)
  t.equal(new Set(done.map(({ text }) => text)).size, 1)
  t.equal(done.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1)
})

t.test('while the first is under way, others are told to wait', async (t) => {
  const service = await startService(t)
  const held = await holdInserts(service.sql)
  const first = create(service, 'slow')
  await held.someoneWaits()
  const second = await create(service, 'slow')
  t.match(second, { status: 409, body: { code: 'idempotency_key_in_use', status: 409 } })
  t.equal(second.headers.get('retry-after'), '1')
  await held.release()
  const done = await first
  t.equal(done.status, 201)
  t.equal((await create(service, 'slow')).text, done.text)
})

t.test('requests of one iteration', async (t) => {
  // Calls, all at once, for what is named; each stores an animal of that name first.
  async function start(
    t: Test,
    act: (name: string, sql: Sql) => Promise<SerializedResponse> = async () => done,
  ) {
    const sql = await createDatabase(t)
    const { writes } = await openPools(t, sql)
    const answerOnce = createIdempotent(
      writes,
      24,
    )(async ({ body }, _reply, by) => {
      const { name } = body as { name: string }
      await insertPet(by, { name, categoryId: 1n })
      return act(name, by)
    })
    const ask = (name: string, signal?: AbortSignal) => {
      const headers = { 'idempotency-key': name }
      const request = { client: { keyId: '1' }, headers, method: 'POST', url: '/', body: { name } }
      return answerOnce({ ...request, lifetime: signal } as never, undefined as never)
    }
    const stored = async () => (await sql`select name from pets order by name`).map(({ name }) => name)
    const keys = async () =>
      (await sql`select idempotency_key as key from idempotent_answers order by key`).map(({ key }) => key)
    return { ask, stored, keys, writes, admin: sql }
  }
  const done: SerializedResponse = { status: 201, headers: {}, body: undefined }
  const names = ['a', 'b', 'c', 'd']

  t.test('share a transaction, and few statements', async (t) => {
    const { ask, stored, keys, writes } = await start(t)
    const statements = countStatements(writes)
    const answers = await Promise.all(names.map((name) => ask(name)))
    t.strictSame(
      answers,
      names.map(() => ({ ...done, isReplay: false })),
    )
    t.strictSame([await stored(), await keys()], [names, names])
    t.equal(statements.count, 6, 'begin, locks, kept answers, animals, answers, commit')
    t.match(await Promise.all(names.map((name) => ask(name))), [{ isReplay: true }, { isReplay: true }])
    t.strictSame(await stored(), names)
  })

  t.test('share a key, and one of them is done', async (t) => {
    const { ask, stored } = await start(t)
    const answers = await Promise.allSettled(['a', 'a', 'b'].map((name) => ask(name)))
    t.match(answers, [{ value: done }, { reason: { code: 'idempotency_key_in_use' } }, { value: done }])
    t.strictSame(await stored(), ['a', 'b'])
  })

  for (const [title, act, outcome, kept] of [
    ['is refused', async () => ({ ...done, status: 409 }), { value: { status: 409 } }, names],
    ['throws', () => Promise.reject(new Error('no')), { reason: { message: 'no' } }, ['a', 'c', 'd']],
    [
      'makes a statement that fails',
      (sql: Sql) => sql`select 1 / 0`.then(() => done),
      { reason: { message: 'division by zero' } },
      ['a', 'c', 'd'],
    ],
  ] as const) {
    t.test(`are done, each once, where one ${title}, which has done nothing`, async (t) => {
      const { ask, stored, keys } = await start(t, async (name, sql) => (name === 'b' ? act(sql) : done))
      const answers = await Promise.allSettled(names.map((name) => ask(name)))
      t.match(answers, [{ value: done }, outcome, { value: done }, { value: done }])
      t.strictSame(await stored(), ['a', 'c', 'd'])
      t.strictSame(await keys(), kept)
    })
  }

  t.test('are done where one of the callers goes, for whom nothing is', async (t) => {
    const caller = new AbortController()
    const { ask, stored, keys } = await start(t, async (name) => {
      if (name === 'b') caller.abort()
      return done
    })
    const answers = await Promise.allSettled(
      names.map((name) => ask(name, name === 'b' ? caller.signal : undefined)),
    )
    t.match(answers, [{ value: done }, { reason: { code: 'STATEMENT_ABANDONED' } }, { value: done }])
    t.strictSame(
      [await stored(), await keys()],
      [
        ['a', 'c', 'd'],
        ['a', 'c', 'd'],
      ],
    )
  })

  t.test('are told that nothing is done where one has gone, and no answer can be kept', async (t) => {
    const caller = new AbortController()
    const { ask, stored } = await start(t, async (name, sql) => {
      if (name === 'b') caller.abort()
      if (name === 'c') await sql`select 1 / 0`.catch(() => {})
      return done
    })
    const asked = names.map((name) => ask(name, name === 'b' ? caller.signal : undefined))
    t.match(await Promise.allSettled(asked), [
      { value: done },
      { reason: { code: 'STATEMENT_ABANDONED' } },
      { status: 'rejected' },
      { value: done },
    ])
    t.strictSame(await stored(), ['a', 'd'])
  })

  t.test('fail together where the connection does, and each may be asked again', async (t) => {
    let isCut = true
    const { ask, stored, admin } = await start(t, async (name) => {
      if (name === 'b' && isCut)
        await admin`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`
      return done
    })
    const answers = await Promise.allSettled(names.map((name) => ask(name)))
    t.ok(answers.every((each) => each.status === 'rejected' && isUnavailable(each.reason)))
    t.strictSame(await stored(), [])
    isCut = false
    await Promise.all(names.map((name) => ask(name)))
    t.strictSame(await stored(), names)
  })
})

t.test('headers that are no text are kept as they go out', async (t) => {
  const document = parseDocument(contract.text)
  const headers = ['paths', '/pets', 'post', 'responses', '201', 'headers']
  const int64 = { type: 'integer', format: 'int64' }
  document.setIn([...headers, 'X-Total'], document.createNode({ schema: int64 }))
  document.setIn([...headers, 'X-Ids'], document.createNode({ schema: { type: 'array', items: int64 } }))
  const total = 9223372036854775807n
  const createPet: Handlers['createPet'] = async (request, context) => {
    const answer = await handlers.createPet(request, context)
    return { ...answer, headers: { ...answer.headers, 'X-Total': total, 'X-Ids': [1n, total] } } as never // no types know of these
  }
  const edited = await readContract(contractFile, async () => document.toString())
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

t.test('requests that arrive together read what each other has written, where they read first', async (t) => {
  const max = 3
  const count = batched(async (sql: Sql, inputs: readonly string[]) => {
    await sql`lock table pets in exclusive mode`
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pets`
    return inputs.map(() => row?.count ?? 0)
  })
  const plainly = async (sql: Sql) => {
    await sql`lock table pets in exclusive mode`
    return (await sql`select from pets`).length
  }
  for (const [title, countIn] of [
    ['by batched statements', (sql: Sql) => count(sql, '')],
    ['by statements of their own', plainly],
    ['in a transaction of their own', (sql: Sql) => inTransaction(sql, plainly)],
  ] as const)
    t.test(title, async (t) => {
      const createPet: Handlers['createPet'] = async (request, context) => {
        if ((await countIn(context.sql)) >= max) throw new ApiError('pet_not_found', 'enough')
        return handlers.createPet(request, context)
      }
      const service = await startService(t, { handlers: { ...handlers, createPet } })
      for (const round of ['a', 'b']) {
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, i) => create(service, `${round}${i}`)),
        )
        const added = answers.filter(({ status }) => status === 201).length
        t.equal(added, round === 'a' ? max : 0)
        t.equal(await countPets(service), max)
      }
    })
})

t.test('what a handler refuses is kept, and has done nothing', async (t) => {
  let calls = 0
  const createPet: Handlers['createPet'] = async ({ body }, { sql }) => {
    calls++
    await insertPet(sql, body)
    if (body.status === status) throw new ApiError('pet_not_found', 'There is no room.')
    // A statement that fails is no end of the transaction.
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

t.test('what went wrong in the service is not kept, and is undone', async (t) => {
  let isBroken = true
  const createPet: Handlers['createPet'] = async (request, context) => {
    const answer = await handlers.createPet(request, context)
    if (isBroken && request.body.status === status) throw new Error('broken')
    // Nothing that the contract forbids is kept, either.
    return isBroken ? { ...answer, headers: {} as never } : answer
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

t.test('a refusal before the operation is not kept', async (t) => {
  const service = await startService(t)
  t.equal((await create(service, 'late', { name: '' })).status, 400)
  const limited = await service.createKey({ perMinute: 1 })
  const auth = { authorization: `Bearer ${limited.key}` }
  t.equal((await service.call('GET', '/pets', { headers: auth })).status, 200)
  t.equal((await create(service, 'late', rexText, auth)).status, 429)
  t.equal((await service.sql`select from idempotent_answers`).length, 0)
  t.equal((await create(service, 'late')).status, 201)
})

t.test('without a key nothing is different', async (t) => {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const statements = countStatements(pools.writes)
  const service = await startService(t, { sql, pools })
  const first = await service.call('POST', '/pets', { body: { ...rex, categoryId: 1 } })
  const second = await service.call('POST', '/pets', { body: { ...rex, categoryId: 1 } })
  t.not(second.body.id, first.body.id)
  t.equal(statements.count, 2, 'no transaction')
  t.equal((await sql`select from idempotent_answers`).length, 0)
  await create(service, 'with')
  t.ok(statements.count > 3, 'a transaction')
})

t.test('an operation without the mark takes no notice of a key', async (t) => {
  const service = await startService(t)
  const headers = { 'idempotency-key': '' }
  t.equal((await service.call('GET', '/pets', { headers })).status, 200)
})

t.test('old answers are purged by an index, some at a time', async (t) => {
  const sql = await createDatabase(t) // without a service, which purges too
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

t.test('killed between commit and answer, and asked again, the service makes one animal', async (t) => {
  const service = await startService(t) // for its database and its key
  const proxy = await startDatabaseProxy(t, service.sql)
  const post = (base: string) =>
    send(`${base}/pets`, 'POST', { ...service.auth, 'idempotency-key': 'killed' }, rexText)

  const first = await startProcess(t, { DATABASE_URL: proxy.url })
  const committed = proxy.holdBack('COMMIT')
  const lost = post(first.base).then(
    ({ status }) => status,
    () => 'no answer',
  )
  await committed
  await first.stop('SIGKILL')
  t.equal(await lost, 'no answer')
  t.equal(await countPets(service), 1)

  const second = await startService(t, { sql: service.sql })
  const again = await post(second.base)
  t.match(again, { status: 201, body: rex })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(await countPets(service), 1)
})
