import { batched } from 'contract-service/internal/database/batch'
import type { Sql } from 'contract-service/internal/database/database'
import { inTransaction } from 'contract-service/internal/database/driver/transaction'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { insertPet } from '../../src/handlers/pets/pets.js'
import { createDatabase, openPools, startService } from '../fixtures/service.js'

const pet = { name: 'Rex', categoryId: 1n }
const writes: Record<string, (sql: Sql) => PromiseLike<unknown>> = {
  'a batched creation': (sql) => insertPet(sql, pet),
  'an insert': (sql) => sql`insert into pets (name, category_id) values ('Rex', 1)`,
  'an insert in a transaction': (sql) => inTransaction(sql, (sql) => insertPet(sql, pet)),
  'nextval of a sequence': (sql) => sql`select nextval('pets_id_seq')`,
  'a lock of rows': (sql) => sql`select id from pets for update`,
  'a lock of rows, batched': batched(async (sql, inputs) => {
    await sql`select id from pets where ${inputs.length} > 0 for update`
    return inputs
  }) as (sql: Sql) => Promise<unknown>,
  'a temporary table': (sql) => sql`create temporary table seen (id bigint)`,
  'a truncation': (sql) => sql`truncate pets`,
}

t.test('a GET cannot write: its statement fails with 500, and the log names the operation', async (t) => {
  let write: (sql: Sql) => PromiseLike<unknown> = async () => {}
  const listPets: Handlers['listPets'] = async (_request, { sql }) => {
    await write(sql)
    return { status: 200, body: [] }
  }
  const database = await createDatabase(t)
  const pools = await openPools(t, database)
  const { call, sql, log } = await startService(t, {
    sql: database,
    pools,
    handlers: { ...handlers, listPets },
  })
  await sql`insert into pets (name, category_id) values ('Misty', 7)`
  const pidOf = async () => (await pools.reads.sql`select pg_backend_pid() as pid`)[0]?.pid
  const pid = await pidOf()
  for (const [title, statement] of Object.entries(writes))
    for (const method of ['GET', 'HEAD']) {
      write = statement
      log.splice(0)
      t.equal((await call(method, '/pets')).status, 500, `${method}: ${title}`)
      const line = log.find(({ msg }) => msg === 'request failed') as { err: { message: string } } | undefined
      t.match(line?.err.message, /^listPets is a GET, and its handler may not write: cannot execute [A-Z]/i)
    }
  t.equal(await pidOf(), pid, 'its connection goes on')
  t.match(await sql`select name from pets`, { length: 1 })
})

t.test('nor can one read where PostgreSQL refuses it: that is no outage either', async (t) => {
  const listPets: Handlers['listPets'] = async (_request, { sql }) => {
    await sql`select 1 from pets for update of pets skip locked limit 1`.catch(() => {}) // a handler may go on
    await sql`select count(*) from pets group by id for update`
    return { status: 200, body: [] }
  }
  const { call } = await startService(t, { handlers: { ...handlers, listPets } })
  t.match(await call('GET', '/pets'), { status: 500, body: { code: 'internal_error' } })
})

t.test('another operation writes, and waits for a primary where it cannot', async (t) => {
  const createPet: Handlers['createPet'] = async (request, context) => {
    if (request.body.name === 'standby')
      await inTransaction(context.sql, async (sql) => {
        await sql`set transaction read only`
        await insertPet(sql, request.body)
      })
    return handlers.createPet(request, context)
  }
  const { call } = await startService(t, { handlers: { ...handlers, createPet } })
  const create = (name: string) => call('POST', '/pets', { body: { name, categoryId: 1 } })
  t.match(await create('Rex'), { status: 201 })
  t.match(await create('standby'), { status: 503, body: { code: 'unavailable' } })
})
