// Statements as PostgreSQL receives them: when, with which parts, and in which form.

import t, { type Test } from 'tap'
import type { Sql } from '../../../src/database/database.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

async function start(t: Test): Promise<Sql> {
  const admin = await createDatabase(t)
  await admin`create table notes (id int primary key, text text)`
  const { writes } = await openPools(t, admin)
  return writes.sql
}

t.test('a statement is sent once, when it is first awaited', async (t) => {
  const sql = await start(t)
  const insert = sql`insert into notes values (1, 'a')`
  t.strictSame([...(await sql`select id from notes`)], [])
  await Promise.all([insert, insert, insert.then(), insert.catch(() => {}), insert.execute()])
  t.strictSame([...(await sql`select id from notes`)], [{ id: 1 }])
})

const parts: readonly [title: string, make: (sql: Sql) => PromiseLike<object>, expected: object][] = [
  ['in a template', (sql) => sql`select ${sql`1 + ${2}::int`} as sum`, { sum: 3 }],
  ['in a text', (sql) => sql`select ${sql.unsafe('1 + 2')} as sum`, { sum: 3 }],
  ['in a list', (sql) => sql`select 1 ${[sql`+ 2`, sql`+ ${3}::int`]} as sum`, { sum: 6 }],
  ['in a part', (sql) => sql`select ${sql`1 + ${sql`2 * ${3}::int`}`} as sum`, { sum: 7 }],
  [
    'in a row',
    (sql) => sql`insert into notes ${sql({ id: 1, text: sql`upper(${'b'})` as never })} returning *`,
    { id: 1, text: 'B' },
  ],
  [
    'in one of several rows',
    (sql) =>
      sql`insert into notes ${sql([{ id: 2, text: sql`upper(${'c'})` as never }])} returning id, text as "raw"`,
    { id: 2, raw: 'C' },
  ],
]

t.test('a statement may be a part of another', async (t) => {
  const sql = await start(t)
  for (const [title, make, expected] of parts)
    t.strictSame([...((await make(sql)) as Iterable<object>)], [expected], title)
})

t.test('a statement has its rows in the form that its caller asks for', async (t) => {
  const sql = await start(t)
  t.strictSame([...(await sql`select 1 as a, 'b' as b`.values())], [[1, 'b']])
  t.strictSame([...(await sql`select 1 as a`.raw())], [[Buffer.from('1')]])
  const both = (await sql.unsafe('select 1 as a; select 2 as b').simple()) as unknown as object[][]
  t.strictSame(
    both.map((rows) => [...rows]),
    [[{ a: 1 }], [{ b: 2 }]],
  )
})
