// Operations that write, without an `Idempotency-Key`: if a request does not succeed, nothing of it is
// stored.

import { inTransaction } from 'contract-service/internal/database/driver/transaction'
import t, { type Test } from 'tap'
import { handlers } from '../../generated/handlers.js'
import { ApiError, type Handlers } from '../../src/handlers/handler.js'
import { countStatements } from '../fixtures/count.js'
import { createDatabase, openPools, startService } from '../fixtures/service.js'

const rex = { name: 'Rex', categoryId: 3 }

async function start(t: Test, createPet: Handlers['createPet']) {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const service = await startService(t, { sql, pools, handlers: { ...handlers, createPet } })
  const create = (name = rex.name) => service.call('POST', '/pets', { body: { ...rex, name } })
  const stored = async () => (await sql`select name from pets order by name`).map(({ name }) => name)
  return { ...service, create, stored, statements: countStatements(pools.writes) }
}

// Handlers with their own mark, or marked as sharing a transaction.
const alone = (handler: Handlers['createPet']): Handlers['createPet'] => handler
const shared = (handler: Handlers['createPet']) =>
  Object.assign(handler, { sharesTransaction: true as const })

for (const [title, mark] of [
  ['of its own', alone],
  ['that it shares', shared],
] as const) {
  t.test(`in a transaction ${title}, nothing is stored of a request`, async (t) => {
    const { create, stored } = await start(
      t,
      mark(async (request, context) => {
        const response = await handlers.createPet(request, context)
        if (response.status !== 201) return response
        if (request.body.name === 'invalid')
          return { ...response, body: { ...response.body, id: 'x' as never } }
        if (request.body.name === 'undeclared') return { ...response, headers: {} as never }
        if (request.body.name === 'failed') throw new Error('no')
        if (request.body.name === 'refused') throw new ApiError('pet_not_found', 'There is no room.')
        return response
      }),
    )
    const names = ['invalid', 'a', 'undeclared', 'b', 'failed', 'c', 'refused']
    const statuses = (await Promise.all(names.map(create))).map(({ status }) => status)
    t.strictSame(statuses, [500, 201, 500, 201, 500, 201, 404], 'but of those beside it')
    t.strictSame(await stored(), ['a', 'b', 'c'])
  })
}

t.test('a handler without statements takes no connection', async (t) => {
  const { create, statements } = await start(t, async () => {
    throw new ApiError('pet_not_found', 'There is no room.')
  })
  t.match(await create(), { status: 404 })
  t.equal(statements.count, 0)
})

t.test('a handler may catch a failed statement and go on, in a transaction too', async (t) => {
  const { create, stored } = await start(t, async (request, context) => {
    const { sql } = context
    await sql`insert into pets (name, category_id) values (null, 1)`.catch(() => {})
    const broken = inTransaction(sql, async (sql) => {
      await sql`insert into pets (name, category_id) values ('part', 1)`
      throw new Error('no')
    })
    await broken.catch(() => {})
    await Promise.all([sql`select 1`, sql`select 1 / 0`.catch(() => {}), sql`select 2`])
    return handlers.createPet(request, context)
  })
  t.match(await create(), { status: 201 })
  t.strictSame(await stored(), ['Rex'])
})

t.test('a handler runs again with a new transaction after its table has changed', async (t) => {
  let runs = 0
  const { create, stored, sql } = await start(t, async (request, context) => {
    runs++
    const { length } = await context.sql`select * from pets`
    if (length > 10) throw new Error('full')
    return handlers.createPet(request, context)
  })
  await create()
  await sql`alter table pets add column more text`
  runs = 0
  t.match(await create('Max'), { status: 201 })
  t.equal(runs, 2)
  t.strictSame(await stored(), ['Max', 'Rex'])
})
