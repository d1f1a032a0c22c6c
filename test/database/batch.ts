import { setImmediate } from 'node:timers/promises'
import { type Batch, batched, defaultLimits } from 'contract-service/internal/database/batch'
import type { Sql } from 'contract-service/internal/database/database'
import { inTransaction } from 'contract-service/internal/database/driver/transaction'
import t from 'tap'
import { findPet, insertPet } from '../../src/handlers/pets/pets.js'
import { status } from '../fixtures/facts.js'
import { createDatabase, openPools } from '../fixtures/service.js'

// Returns a batch function whose statements the test settles.
function held() {
  const batches: { readonly inputs: readonly number[]; end(): void; fail(error: Error): void }[] = []
  const run: Batch<Sql, number, string> = (_sql, inputs) =>
    new Promise((resolve, reject) => {
      const end = () => resolve(inputs.map((each) => `of ${each}`))
      batches.push({ inputs, end, fail: reject })
    })
  return { batches, run: batched(run) }
}

// When a batch settles in one iteration of the event loop, the next one begins in the following iteration.
async function iteration(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

// Returns the tag of a pool that always has a free connection.
function poolSql(): Sql {
  const pool = { hold: (_signal: unknown, use: (held: unknown) => unknown) => use({ sqlUntil: () => ({}) }) }
  return { pool } as unknown as Sql
}

const sql = poolSql()
const { inputs } = defaultLimits
const oneTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

t.test(
  'calls in one iteration of the event loop share a statement, and each gets its own output',
  async (t) => {
    const { batches, run } = held()
    const outputs = Promise.all(oneTo(3).map((each) => run(sql, each)))
    t.equal(batches.length, 0)
    await iteration()
    t.strictSame(batches[0]?.inputs, [1, 2, 3])
    batches[0]?.end()
    t.strictSame(await outputs, ['of 1', 'of 2', 'of 3'])
    t.equal(batches.length, 1)
  },
)

for (const [title, change] of [
  ['fewer', (outputs: string[]) => outputs.slice(1)],
  ['more', (outputs: string[]) => [...outputs, 'of nobody']],
] as const)
  t.test(`${title} outputs than inputs are an error of all, on a pool and in a transaction`, async (t) => {
    const run = batched(async (_sql, inputs: readonly number[]) => change(inputs.map((each) => `of ${each}`)))
    for (const each of [sql, {} as Sql])
      t.match(await Promise.allSettled([run(each, 1), run(each, 2)]), [
        { status: 'rejected', reason: { message: /inputs have \d outputs/ } },
        { status: 'rejected', reason: { message: /inputs have \d outputs/ } },
      ])
  })

t.test('each pool has its own batches', async (t) => {
  const { batches, run } = held()
  void run(sql, 1)
  void run(poolSql(), 2)
  await iteration()
  t.strictSame(
    batches.map(({ inputs }) => inputs),
    [[1], [2]],
  )
})

t.test('while two batches are in flight, inputs queue', async (t) => {
  const { batches, run } = held()
  const outputs: Promise<string>[] = []
  for (const each of [1, 2, 3, 4]) {
    outputs.push(run(sql, each))
    await iteration()
  }
  t.strictSame(
    batches.map(({ inputs }) => inputs),
    [[1], [2]],
  )
  batches[1]?.end()
  await iteration()
  t.strictSame(batches[2]?.inputs, [3, 4])
  for (const { end } of batches) end()
  t.strictSame(await Promise.all(outputs), ['of 1', 'of 2', 'of 3', 'of 4'])
})

t.test('a full batch is sent at once, and the rest when it is done', async (t) => {
  const { batches, run } = held()
  const outputs = Promise.all(oneTo(inputs + 3).map((each) => run(sql, each)))
  t.strictSame(
    batches.map(({ inputs }) => inputs),
    [oneTo(inputs)],
  )
  batches[0]?.end()
  await iteration()
  t.strictSame(batches[1]?.inputs, [inputs + 1, inputs + 2, inputs + 3])
  for (const { end } of batches) end()
  t.equal((await outputs).at(-1), `of ${inputs + 3}`)
})

t.test('a batch that is smaller than the one in flight waits until it is not', async (t) => {
  const { batches, run } = held()
  const outputs = [run(sql, 1), run(sql, 2)]
  await iteration()
  outputs.push(run(sql, 3))
  await iteration()
  t.equal(batches.length, 1)
  outputs.push(run(sql, 4))
  await iteration()
  t.strictSame(batches[1]?.inputs, [3, 4])
  for (const { end } of batches) end()
  t.equal((await Promise.all(outputs)).length, 4)
})

t.test('but not longer than a moment: the one in flight may be blocked', async (t) => {
  const { batches, run } = held()
  const blocked = Promise.all([run(sql, 1), run(sql, 2)])
  await iteration()
  const small = run(sql, 3)
  while (batches.length < 2) await setImmediate()
  batches[1]?.end()
  t.equal(await small, 'of 3')
  batches[0]?.end()
  t.equal((await blocked).length, 2)
})

t.test('a batch takes half of a long queue, and a second is sent at once', async (t) => {
  const { batches, run } = held()
  const outputs = Promise.all(oneTo(inputs * 10).map((each) => run(sql, each)))
  t.strictSame(
    batches.map(({ inputs }) => inputs.length),
    [inputs, inputs],
  )
  batches[0]?.end()
  await iteration()
  t.equal(batches[2]?.inputs.length, inputs * 4)
  batches[1]?.end()
  await iteration()
  t.equal(batches[3]?.inputs.length, inputs * 2)
  batches[2]?.end()
  batches[3]?.end()
  await iteration()
  t.strictSame(
    batches.slice(4).map(({ inputs }) => inputs.length),
    [inputs, inputs],
  )
  for (const { end } of batches) end()
  t.strictSame(
    await outputs,
    oneTo(inputs * 10).map((each) => `of ${each}`),
  )
})

t.test('the inputs of a transaction are one batch, however many', async (t) => {
  const { batches, run } = held()
  const transaction = {} as Sql
  const outputs = Promise.all(oneTo(inputs * 10).map((each) => run(transaction, each)))
  t.strictSame(batches, [])
  await iteration()
  t.strictSame(
    batches.map(({ inputs }) => inputs),
    [oneTo(inputs * 10)],
  )
  batches[0]?.end()
  t.equal((await outputs).length, inputs * 10)
})

t.test('after a failed batch, each input is retried alone, one after the other', async (t) => {
  const { batches, run } = held()
  const settled = Promise.allSettled(oneTo(3).map((each) => run(sql, each)))
  await iteration()
  batches[0]?.fail(new Error('one of you'))
  await iteration()
  t.strictSame(batches[1]?.inputs, [1])
  batches[1]?.end()
  await iteration()
  t.strictSame(batches[2]?.inputs, [2])
  batches[2]?.fail(new Error('you'))
  await iteration()
  t.strictSame(batches[3]?.inputs, [3])
  batches[3]?.end()
  t.match(await settled, [
    { value: 'of 1' },
    { status: 'rejected', reason: { message: 'you' } },
    { value: 'of 3' },
  ])
  t.equal(batches.length, 4)
})

t.test('an outage rejects the whole batch without a retry: it may have been committed', async (t) => {
  const { batches, run } = held()
  const settled = Promise.allSettled(oneTo(3).map((each) => run(sql, each)))
  await iteration()
  batches[0]?.fail(Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' }))
  const gone = { status: 'rejected', reason: { message: 'gone' } }
  t.match(await settled, [gone, gone, gone])
  t.equal(batches.length, 1)
  const next = run(sql, 4)
  await iteration()
  batches[1]?.end()
  t.equal(await next, 'of 4')
})

t.test('animals', async (t) => {
  const admin = await createDatabase(t)
  const { sql } = (await openPools(t, admin)).writes

  t.test('stored at the same time are each returned to their caller, and are found', async (t) => {
    const names = ['"quoted"', 'back\\slash', '{braces}', 'null', "it's", 'ünï 🐕', '', ' ', 'a,b', '\n']
    const news = oneTo(250).map((i) => ({
      name: `${names[i % names.length]}${i % 3 === 0 ? '' : i}`,
      categoryId: 9223372036854775807n - BigInt(i),
      ...(i % 2 === 0 && { status }),
    }))
    const pets = await Promise.all(news.map((each) => insertPet(sql, each)))
    t.strictSame(
      pets,
      news.map((each, i) => ({ id: pets[i]?.id, ...each })),
    )
    t.equal(new Set(pets.map(({ id }) => id)).size, 250)
    t.strictSame(await Promise.all(pets.map(({ id }) => findPet(sql, id))), pets)
  })

  t.test('that exist and that do not are found correctly, also when requested twice', async (t) => {
    const rex = await insertPet(sql, { name: 'Rex', categoryId: 3n })
    const ids = [rex.id, -1n, rex.id, 9223372036854775807n]
    t.strictSame(await Promise.all(ids.map((id) => findPet(sql, id))), [rex, undefined, rex, undefined])
  })

  t.test('are stored although one of them fails', async (t) => {
    const bad = '\0' // PostgreSQL cannot store it; the contract normally rejects it before
    const settled = await Promise.allSettled(
      ['Ada', bad, 'Bob'].map((name) => insertPet(sql, { name, categoryId: 77n })),
    )
    t.match(settled, [{ value: { name: 'Ada' } }, { status: 'rejected' }, { value: { name: 'Bob' } }])
    const rows = await sql`select name from pets where category_id = 77 order by name`
    t.strictSame(
      rows.map(({ name }) => name),
      ['Ada', 'Bob'],
    )
  })

  t.test('are one probe of readiness, however many transactions store them', async (t) => {
    const { writes } = await openPools(t, admin)
    const store = (name: string) => (sql: Sql) => insertPet(sql, { name, categoryId: 79n })
    for (const name of ['a', 'b', 'c']) await inTransaction(writes.sql, store(name))
    t.equal(writes.probes.size, 1)
  })

  t.test('stored in a transaction are rolled back with it', async (t) => {
    const broken = inTransaction(sql, async (transaction) => {
      await Promise.all(oneTo(3).map((i) => insertPet(transaction, { name: `${i}`, categoryId: 78n })))
      throw new Error('no')
    })
    await t.rejects(broken, { message: 'no' })
    t.strictSame([...(await sql`select from pets where category_id = 78`)], [])
  })
})
