import t from 'tap'
import { watchStatements } from '../../src/database/watch.js'
import { createDatabase } from '../fixtures/service.js'

t.test('each statement is told of once, from its sending to its end', async (t) => {
  const counts = { begun: 0, ended: 0 }
  const sql = watchStatements(await createDatabase(t), () => {
    counts.begun++
    return () => void counts.ended++
  })
  const told = async (begun: number, ended: number) => {
    await null // what ends a statement is heard by whoever waits for it and by the watch in turn
    t.strictSame(counts, { begun, ended })
  }

  const query = sql`select 1 as one`
  await told(0, 0)
  t.match(await query, [{ one: 1 }])
  await told(1, 1)
  await Promise.all([query, query])
  await told(1, 1)

  t.test('a part of another is none', async (t) => {
    const where = sql`where name = ${'Rex'}`
    t.strictSame([...(await sql`select name from pets ${where}`)], [])
    t.match(await sql`insert into pets ${sql({ name: 'Rex', category_id: 1 })} returning name`, [
      { name: 'Rex' },
    ])
    t.match(await sql`select name from pets ${where}`, [{ name: 'Rex' }])
    t.strictSame(counts, { begun: 4, ended: 4 })
  })

  t.test('one that fails ends, too', async (t) => {
    await t.rejects(sql`select * from nowhere`, { code: '42P01' })
    t.strictSame(counts, { begun: 5, ended: 5 })
  })

  t.test('one that waits has begun', async (t) => {
    const slow = sql`select pg_sleep(0.05)`.execute()
    t.ok(slow)
    while (counts.begun === 5) await new Promise(setImmediate)
    t.strictSame(counts, { begun: 6, ended: 5 })
    await slow
  })

  t.test('what else the handle can do is as before', async (t) => {
    const id = await sql.begin(async (transaction) => (await transaction`select 7 as id`)[0]?.id)
    t.equal(id, 7)
    t.match(await sql.unsafe('select 1 as one'), [{ one: 1 }])
  })
})
