import { batched } from 'contract-service/internal/database/batch'
import type { Sql } from 'contract-service/internal/database/database'
import { inTransaction } from 'contract-service/internal/database/driver/transaction'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { ApiError, type Handlers, onConstraint } from '../../src/handlers/handler.js'
import { type Service, startService } from '../fixtures/service.js'

const schema = `
  create table owners (id bigint primary key);
  insert into owners values (1);
  create table chips (
    name text not null constraint chips_name_key unique constraint chips_name_check check (name <> 'forbidden'),
    owner_id bigint default 1 constraint chips_owner_fkey references owners
      deferrable initially deferred,
    during int4range default 'empty',
    constraint chips_during_excl exclude using gist (during with &&)
  );
  insert into chips (name, during) values ('taken', '[1,5)')`

const toCodes = onConstraint({
  chips_name_key: 'invalid_request',
  chips_name_check: ['pet_not_found', 'Another name, please.'],
  chips_owner_fkey: 'invalid_request',
  chips_during_excl: 'invalid_request',
})

const insertChip = batched(async (sql: Sql, names: readonly string[]) => {
  await sql`insert into chips (name) select * from json_array_elements_text(${JSON.stringify(names)}::text::json)`
  return names
})

const owner = (sql: Sql, name: string, id = 2) =>
  sql`insert into chips (name, owner_id) values (${name}, ${id})`
const statements: Record<string, (sql: Sql, name: string) => Promise<unknown>> = {
  'a statement': (sql, name) => sql`insert into chips (name) values (${name})`.catch(toCodes),
  'a batched statement': (sql, name) => insertChip(sql, name).catch(toCodes),
  'a statement of a transaction': (sql, name) =>
    inTransaction(sql, (sql) => sql`insert into chips (name) values (${name})`.catch(toCodes)),
  'a transaction': (sql, name) =>
    inTransaction(sql, (sql) => sql`insert into chips (name) values (${name})`).catch(toCodes),
}

t.test('a constraint that refuses a row becomes a code of the contract', async (t) => {
  for (const [title, insert] of Object.entries(statements))
    for (const key of ['without a key', 'with a key'])
      t.test(`${title}, ${key}`, async (t) => {
        const createPet: Handlers['createPet'] = async (request, context) => {
          await insert(context.sql, request.body.name)
          return { status: 201, headers: { Location: 'pets/1' }, body: { ...request.body, id: 1n } }
        }
        const shares = Object.assign(createPet, { sharesTransaction: title === 'a batched statement' })
        const service = await startService(t, { handlers: { ...handlers, createPet: shares } })
        await service.sql.unsafe(schema)
        const create = (name: string) => {
          const headers: Record<string, string> = key === 'with a key' ? { 'idempotency-key': name } : {}
          return service.call('POST', '/pets', { body: { name, categoryId: 1 }, headers })
        }
        // Concurrently: creations that share a batch with a refused one must be stored.
        const [taken, forbidden, ...free] = await Promise.all(
          ['taken', 'forbidden', 'a', 'b', 'c'].map(create),
        )
        const message = 'There is one with this value already.'
        t.match(taken, { status: 400, body: { code: 'invalid_request', message } })
        t.match(forbidden, { status: 404, body: { code: 'pet_not_found', message: 'Another name, please.' } })
        t.strictSame(
          free.map(({ status }) => status),
          [201, 201, 201],
        )
        t.strictSame(await names(service, 'chips'), ['a', 'b', 'c', 'taken'])
        t.notOk(
          service.log.some(({ level }) => level === 50),
          'which is no fault',
        )
      })
})

async function names({ sql }: Service, table: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from ${sql(table)} order by name`
  return rows.map(({ name }) => name)
}

t.test('so does a deferred constraint, behind its transaction', async (t) => {
  const createPet: Handlers['createPet'] = async (request, context) => {
    const { name } = request.body
    // Each part defers its check again, after a part that succeeded and one that failed.
    for (const id of [2, 3])
      await inTransaction(context.sql, async (sql) => {
        await owner(sql, `${name} ${id}`, id)
        await sql`insert into owners values (${id}) on conflict do nothing`
      })
    await inTransaction(context.sql, (sql) => owner(sql, `${name} 4`, 4)).catch(() => {})
    await inTransaction(context.sql, async (sql) => {
      await owner(sql, name, 5)
      if (name === 'completed') await sql`insert into owners values (5)`
    }).catch(toCodes)
    return handlers.createPet(request, context)
  }
  for (const headers of [{}, { 'idempotency-key': 'a' }]) {
    const service = await startService(t, { handlers: { ...handlers, createPet } })
    const { call, sql } = service
    await sql.unsafe(schema)
    const refused = await call('POST', '/pets', { body: { name: 'Rex', categoryId: 1 }, headers })
    const message = 'This refers to something that does not exist, or is still referred to.'
    t.match(refused, { status: 400, body: { code: 'invalid_request', message } })
    t.strictSame(await names(service, 'pets'), [])
    const another = 'idempotency-key' in headers ? { 'idempotency-key': 'b' } : {}
    const completed = await call('POST', '/pets', {
      body: { name: 'completed', categoryId: 1 },
      headers: another,
    })
    t.equal(completed.status, 201)
    t.strictSame(await names(service, 'chips'), ['completed', 'completed 2', 'completed 3', 'taken'])
  }
})

t.test('a violation that nobody expects is a 500, whose log line names the constraint', async (t) => {
  const insert: Record<string, (sql: Sql) => Promise<unknown>> = {
    chips_during_excl: (sql) => sql`insert into chips (name, during) values ('x', '[2,3)')`,
    chips_name_key: (sql) => sql`insert into chips (name) values ('taken')`,
    chips_owner_fkey: (sql) => owner(sql, 'x'), // only its COMMIT fails
    undefined: (sql) => sql`insert into chips (name) values (null)`,
  }
  const createPet: Handlers['createPet'] = async (request, context) => {
    await insert[request.body.name]?.(context.sql).catch(onConstraint({ chips_pkey: 'invalid_request' }))
    return handlers.createPet(request, context)
  }
  const service = await startService(t, { handlers: { ...handlers, createPet } })
  const { call, sql, log } = service
  await sql.unsafe(schema)
  for (const name of Object.keys(insert))
    for (const headers of [{}, { 'idempotency-key': name }]) {
      log.splice(0)
      const body = { name, categoryId: 1 }
      t.match(await call('POST', '/pets', { body, headers }), {
        status: 500,
        body: { code: 'internal_error' },
      })
      const { err = {} } = (log.find(({ msg }) => msg === 'request failed') ?? {}) as {
        err?: Record<string, unknown>
      }
      t.equal(String(err.constraint_name), name)
      t.match(err, { table_name: 'chips', ...(name === 'undefined' && { column_name: 'name' }) })
    }
  t.strictSame(await names(service, 'pets'), [])
})

t.test('other errors are thrown on as they are', async (t) => {
  const throws = (error: unknown) =>
    Promise.reject(error)
      .catch(onConstraint({ chips_name_key: 'invalid_request', undefined: 'invalid_request' }))
      .catch((thrown) => thrown)
  for (const error of [
    new Error('any'),
    undefined,
    Object.assign(new Error(), { code: '23502' }), // of a column, not of a constraint
    Object.assign(new Error(), { code: '22003', constraint_name: 'chips_name_key' }),
    Object.assign(new Error(), { code: '23505', constraint_name: 'toString' }),
    new ApiError('pet_not_found', ''),
  ])
    t.equal(await throws(error), error)
  const cause = Object.assign(new Error(), { code: '23P01', constraint_name: 'chips_name_key' })
  const message = 'This conflicts with what is stored.'
  t.match(await throws(cause), { code: 'invalid_request', message, cause })
  // @ts-expect-error the contract has no such code
  onConstraint({ chips_name_key: 'taken' })
  // @ts-expect-error nor with a message
  onConstraint({ chips_name_key: ['taken', ''] })
})
