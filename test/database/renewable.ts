import t, { type Test } from 'tap'
import type { RootSql, Sql } from '../../src/database/connect.js'
import { renewable } from '../../src/database/renewable.js'
import { connectTo, readCluster } from '../fixtures/cluster.js'
import { createDatabase } from '../fixtures/service.js'

async function start(t: Test, max: number) {
  const cluster = await readCluster()
  const admin = await createDatabase(t)
  await admin`create table notes (id int primary key)`
  let made = 0
  const handle = renewable((renewal) => {
    made++
    return connectTo(cluster, admin.options.database, { max, ...renewal })
  })
  t.after(() => handle.sql.end({ timeout: 1 }))
  const kill = (pid: number) => admin`select pg_terminate_backend(${pid})`
  return { ...handle, admin, kill, madeCount: () => made }
}

async function pidOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row?.pid ?? 0
}

async function count(sql: RootSql): Promise<number> {
  return (await sql`select from notes`).length
}

t.test('a transaction commits, and one that fails does not', async (t) => {
  const { transact, admin } = await start(t, 2)
  t.equal(await transact(async (sql) => (await sql`insert into notes values (1)`).count), 1)
  await t.rejects(
    transact(async (sql) => {
      await sql`insert into notes values (2)`
      throw new Error('no')
    }),
    { message: 'no' },
  )
  await transact(async (sql) => {
    await sql.savepoint((part) => part`insert into notes values (1)`.execute()).catch(() => {})
    await sql`insert into notes values (3)`
  })
  t.strictSame(
    (await admin`select id from notes order by id`).map(({ id }) => id),
    [1, 3],
  )
})

// By what the work makes of the loss. Each would have postgres.js write to a socket that is gone, which ends the process.
const works: [
  title: string,
  work: (sql: Parameters<Parameters<Started['transact']>[0]>[0], kill: Started['kill']) => Promise<unknown>,
][] = [
  [
    'in the midst of a statement',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      await Promise.all([sql`insert into notes select 1 from pg_sleep(20)`, kill(pid)])
    },
  ],
  [
    'in a part that can be undone',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      await sql.savepoint((part) =>
        Promise.all([part`insert into notes select 1 from pg_sleep(20)`, kill(pid)]),
      )
    },
  ],
  [
    'and the work goes on as if nothing were',
    async (sql, kill) => {
      const pid = await pidOf(sql)
      await Promise.all([sql`select pg_sleep(20)`, kill(pid)]).catch(() => {})
      await sql`insert into notes values (1)`.catch(() => {})
      return 'done'
    },
  ],
]

type Started = Awaited<ReturnType<typeof start>>

for (const [title, work] of works) {
  t.test(
    `a transaction that loses its connection ${title} is rejected, and the next one is not`,
    async (t) => {
      const { sql, transact, kill, admin, madeCount } = await start(t, 2)
      await t.rejects(
        transact((transaction) => work(transaction, kill)),
        { code: /^(CONNECTION_|57P01)/ },
      )
      t.equal(await count(admin), 0)
      t.ok((await pidOf(sql)) > 0, 'statements go on')
      t.equal(
        await transact(async (transaction) => (await transaction`insert into notes values (1)`).count),
        1,
      )
      t.equal(await count(admin), 1)
      t.equal(madeCount(), 2, 'by a handle that was made anew')
    },
  )
}

t.test('a handle outlives its connections many times, and LISTEN goes on', async (t) => {
  const { sql, kill, admin } = await start(t, 1)
  const heard: string[] = []
  let hear = () => {}
  await sql.listen('notes', (payload) => {
    heard.push(payload)
    hear()
  })
  for (let i = 0; i < 10; i++) {
    await kill(await pidOf(sql))
    // What was written on the way to a connection that is just closing fails, and nothing after it.
    for (let tries = 0; ; tries++) {
      try {
        await Promise.all(Array.from({ length: 20 }, () => pidOf(sql)))
        break
      } catch {
        t.ok(tries < 5, 'at once, or nearly so')
      }
    }
  }
  const next = new Promise<void>((resolve) => {
    hear = resolve
  })
  await admin`select pg_notify('notes', 'still there')`
  await next
  t.strictSame(heard, ['still there'])
})
