import t, { type Test } from 'tap'
import type { RootSql, Sql } from '../../../src/database/database.js'
import type { ConnectionSource, Signal } from '../../../src/database/driver/sql.js'
import { inTransaction, type TransactionSql, transact } from '../../../src/database/driver/transaction.js'
import { isUnavailable } from '../../../src/database/unavailable.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

async function start(t: Test) {
  const admin = await createDatabase(t)
  await admin`create table notes (id int primary key)`
  const { writes } = await openPools(t, admin)
  const kill = (pid: number) => admin`select pg_terminate_backend(${pid})`
  return { pool: writes, admin, kill }
}

function transactOn<Result>(
  pool: ConnectionSource,
  signal: Signal | undefined,
  run: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  return pool.hold(signal, (held) => transact(held, signal, run))
}

type Kill = Awaited<ReturnType<typeof start>>['kill']

async function pidOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row?.pid ?? 0
}

async function idsOf(sql: RootSql): Promise<number[]> {
  return (await sql`select id from notes order by id`).map(({ id }) => id)
}

t.test('a transaction commits, and one that fails does not', async (t) => {
  const { pool, admin } = await start(t)
  t.equal(
    await transactOn(pool, undefined, async (sql) => (await sql`insert into notes values (1)`).count),
    1,
  )
  await t.rejects(
    transactOn(pool, undefined, async (sql) => {
      await sql`insert into notes values (2)`
      throw new Error('no')
    }),
    { message: 'no' },
  )
  await transactOn(pool, undefined, async (sql) => {
    const rollBack = sql.savepoint()
    await sql`insert into notes values (1)`.catch(() => {})
    await rollBack()
    await sql`insert into notes values (3)`
  })
  t.strictSame(await idsOf(admin), [1, 3])
})

t.test('a transaction that ignores a failed statement rejects', async (t) => {
  const { pool, admin } = await start(t)
  await t.rejects(
    transactOn(pool, undefined, async (sql) => {
      await sql`insert into notes values (1)`
      await sql`select 1 / 0`.catch(() => {})
    }),
    { message: /failed/ },
  )
  t.strictSame(await idsOf(admin), [])
})

t.test('a transaction whose caller has stopped waiting does nothing', async (t) => {
  const { pool, admin } = await start(t)
  const caller = new AbortController()
  const abandoned = { code: 'STATEMENT_ABANDONED' }
  const work = async (sql: Sql) => {
    await sql`insert into notes values (1)`
    caller.abort()
  }
  await t.rejects(transactOn(pool, caller.signal, work), abandoned, 'it is not committed')
  await t.rejects(transactOn(pool, caller.signal, work), abandoned, 'it is not begun')
  t.strictSame(await idsOf(admin), [])
  t.equal(
    await transactOn(pool, undefined, async (sql) => (await sql`insert into notes values (2)`).count),
    1,
  )
})

t.test('no statement is sent after the transaction', async (t) => {
  const { pool, admin } = await start(t)
  let escaped = undefined as unknown as Sql // the work sets it
  await transactOn(pool, undefined, async (sql) => {
    escaped = sql
  })
  await t.rejects(async () => escaped`insert into notes values (1)`, { code: 'STATEMENT_ABANDONED' })
  t.strictSame(await idsOf(admin), [])
})

// Ways in which the work reacts to the loss of its connection.
const works: [title: string, work: (sql: TransactionSql, kill: Kill) => Promise<unknown>][] = [
  [
    'during a statement',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      await Promise.all([sql`insert into notes select 1 from pg_sleep(20)`, kill(pid)])
    },
  ],
  [
    'within a savepoint',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      const rollBack = sql.savepoint()
      await Promise.all([sql`insert into notes select 1 from pg_sleep(20)`, kill(pid)]).finally(rollBack)
    },
  ],
  [
    'and ignores the errors',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      await Promise.all([sql`select pg_sleep(20)`, kill(pid)]).catch(() => {})
      await sql`insert into notes values (1)`.catch(() => {})
      return 'done'
    },
  ],
]

for (const [title, work] of works) {
  t.test(
    `a transaction that loses its connection ${title} is rejected, and the next one is not`,
    async (t) => {
      const { pool, kill, admin } = await start(t)
      await t.rejects(
        transactOn(pool, undefined, (sql) => work(sql, kill)),
        { code: /^(CONNECTION_CLOSED|ECONNRESET|57P01)$/ },
      )
      t.strictSame(await idsOf(admin), [])
      await transactOn(pool, undefined, async (sql) => sql`insert into notes values (1)`)
      t.strictSame(await idsOf(admin), [1])
    },
  )
}

t.test('inTransaction commits all statements of a handler, or none', async (t) => {
  const { pool, admin } = await start(t)
  const failure = new Error('no')
  const addTwo = (sql: Sql, error?: Error) =>
    inTransaction(sql, async (sql) => {
      await sql`insert into notes values (1)`
      if (error) throw error
      return (await sql`insert into notes values (2)`).count
    })
  await t.rejects(addTwo(pool.sql, failure), failure)
  t.same(await idsOf(admin), [])
  // Within a transaction, they become part of it.
  const whole = transactOn(pool, undefined, async (sql) => {
    t.equal(await addTwo(sql), 1)
    throw failure
  })
  await t.rejects(whole, failure)
  t.same(await idsOf(admin), [])
  t.equal(await addTwo(pool.sql), 1)
  t.same(await idsOf(admin), [1, 2])
})

t.test('of two deadlocked transactions, one fails as unavailable', async (t) => {
  const { pool, admin } = await start(t)
  await admin`insert into notes values (1), (2)`
  let locked = 0
  let go = () => {}
  const bothLocked = new Promise<void>((resolve) => {
    go = resolve
  })
  const lock = (sql: Sql, id: number) => sql`select from notes where id = ${id} for update`
  const [one, other] = await Promise.allSettled(
    [1, 2].map((id) =>
      inTransaction(pool.sql, async (sql) => {
        await lock(sql, id)
        if (++locked === 2) go()
        await bothLocked
        await lock(sql, 3 - id)
      }),
    ),
  )
  const failed = [one, other].filter((each) => each?.status === 'rejected')
  t.equal(failed.length, 1)
  t.match(failed[0], { reason: { code: '40P01' } })
  t.ok(isUnavailable((failed[0] as PromiseRejectedResult).reason))
})

t.test('for code that does not know of the transaction', async (t) => {
  const { pool, admin } = await start(t)
  const duplicate = { code: '23505' }
  const add = (sql: Sql, id: number) => sql`insert into notes values (${id})`
  // Runs the same code on a pool and on the tag of a transaction.
  const alike = (title: string, run: (sql: Sql, t: Test) => Promise<unknown>, ids: readonly number[]) => {
    for (const [where, runIn] of Object.entries({
      'on a pool': (work: (sql: Sql) => Promise<unknown>) => work(pool.sql),
      'in a transaction': (work: (sql: Sql) => Promise<unknown>) =>
        transactOn(pool, undefined, (sql) => work(sql.independent())),
    }))
      t.test(`${title}, ${where}`, async (t) => {
        await admin`truncate notes`
        await admin`insert into notes values (1)`
        await runIn((sql) => run(sql, t))
        t.strictSame(await idsOf(admin), [1, ...ids])
      })
  }

  alike(
    'a statement that fails is undone alone',
    async (sql, t) => {
      await add(sql, 2)
      await t.rejects(() => add(sql, 1), duplicate)
      await add(sql, 3)
    },
    [2, 3],
  )
  alike(
    'so is one of several that are sent at once',
    async (sql, t) => {
      const settled = await Promise.allSettled([add(sql, 2), add(sql, 1), add(sql, 3)])
      t.match(settled, [{ status: 'fulfilled' }, { reason: duplicate }, { status: 'fulfilled' }])
    },
    [2, 3],
  )
  alike(
    'a transaction within it is kept as a whole',
    async (sql, t) => {
      await add(sql, 2)
      const failing = inTransaction(sql, async (sql) => {
        await add(sql, 3)
        await add(sql, 1)
      })
      await t.rejects(failing, duplicate)
      t.equal(await inTransaction(sql, async (sql) => (await add(sql, 4)).count), 1)
      await add(sql, 5)
    },
    [2, 4, 5],
  )
  alike(
    'a transaction that ignores a failed statement rejects',
    async (sql, t) => {
      const ignoring = inTransaction(sql, async (sql) => {
        await add(sql, 2)
        await add(sql, 1).catch(() => {})
      })
      await t.rejects(ignoring)
      await add(sql, 3)
    },
    [3],
  )
  alike(
    'a transaction may use the tag from outside of it',
    async (sql) =>
      inTransaction(sql, async () => {
        await add(sql, 2)
        await inTransaction(sql, (sql) => add(sql, 3))
      }),
    [2, 3],
  )
})
