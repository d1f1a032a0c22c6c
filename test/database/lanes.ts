import t, { type Test } from 'tap'
import type { RootSql } from '../../src/database/connect.js'
import { createLanes } from '../../src/database/lanes.js'
import { connectTo, readCluster } from '../fixtures/cluster.js'

async function lanesOf(t: Test, count: number) {
  const cluster = await readCluster()
  const handles: RootSql[] = []
  const lanes = createLanes(count, () => {
    const handle = connectTo(cluster, undefined, { max: 1, backoff: () => 0.01 })
    handles.push(handle)
    return handle
  })
  t.teardown(() => lanes.end({ timeout: 1 }))
  return { ...lanes, handles }
}

t.test('statements take the lanes in turn, each a connection of its own', async (t) => {
  const { sql } = await lanesOf(t, 3)
  const pids: number[] = []
  for (let i = 0; i < 6; i++) {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    pids.push(row?.pid ?? 0)
  }
  t.equal(new Set(pids).size, 3)
  t.strictSame(pids.slice(3), pids.slice(0, 3))
})

t.test('many statements at once each get their own answer', async (t) => {
  const { sql } = await lanesOf(t, 2)
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => sql<{ i: number }[]>`select ${i}::int as i`),
  )
  t.strictSame(
    answers.map(([row]) => row?.i),
    Array.from({ length: 1_000 }, (_, i) => i),
  )
})

t.test('a statement that fails fails alone', async (t) => {
  const { sql } = await lanesOf(t, 1)
  const settled = await Promise.allSettled([
    sql`select 1 as one`,
    sql`select 1 / 0`,
    sql.unsafe('select 2 as two'),
  ])
  t.strictSame(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

t.test('parts and helpers of one lane may be used on another', async (t) => {
  const { sql } = await lanesOf(t, 2)
  for (let i = 0; i < 4; i++) {
    const condition = sql`schema_name = ${'public'}`
    const rows = await sql`select ${sql('schema_name')} from information_schema.schemata where ${condition}`
    t.strictSame([...rows], [{ schema_name: 'public' }])
  }
})

t.test('a connection that breaks costs its statements, and no lane', async (t) => {
  const { sql, handles } = await lanesOf(t, 2)
  const admin = connectTo(await readCluster(), undefined, { max: 1 })
  t.teardown(() => admin.end())
  const [row] = await (handles[0] as RootSql)<{ pid: number }[]>`select pg_backend_pid() as pid`
  const sleeping = Promise.allSettled([sql`select pg_sleep(60)`])
  await admin`select pg_terminate_backend(${row?.pid ?? 0})`
  t.match(await sleeping, [{ status: 'rejected' }])
  // What is sent before the end of the connection has arrived is lost with it.
  const both = async (): Promise<unknown[]> =>
    Promise.all([sql`select 1 as one`, sql`select 1 as one`]).catch(both)
  t.strictSame((await both()).flat(), [{ one: 1 }, { one: 1 }])
})

t.test('an end waits for what is under way', async (t) => {
  const { sql, end } = await lanesOf(t, 2)
  const last = sql`select pg_sleep(0.05), 1 as one`
  last.catch(() => {})
  await Promise.all([last, end({ timeout: 5 })])
  t.match(await last, [{ one: 1 }])
  await t.rejects(async () => sql`select 1`, { code: 'CONNECTION_ENDED' })
})
