import { once } from 'node:events'
import net from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { connectTo, readCluster } from 'contract-service/fixtures/cluster'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import type { RootSql, Sql } from 'contract-service/internal/database/database'
import { Pool } from 'contract-service/internal/database/driver/pool'
import { type PostgresServer, Servers } from 'contract-service/internal/database/servers'
import { block } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { holdInserts, holdPets } from '../../fixtures/locks.js'
import { createDatabase } from '../../fixtures/service.js'

interface Options {
  readonly size?: number
  readonly depth?: number
  readonly readTimeoutMs?: number
  /** How long a statement may take: on the server, and from when its caller asked. */
  readonly limitMs?: number
  readonly host?: string
  readonly port?: number
}

async function openPool(
  t: Test,
  admin: RootSql,
  { size = 1, depth = 1, readTimeoutMs = 60_000, limitMs, ...place }: Options = {},
): Promise<Pool> {
  const cluster = await readCluster()
  const pool = new Pool({
    size,
    depth,
    readTimeoutMs,
    limitMs,
    make: (hooks) =>
      connectTo(cluster, admin.options.database, {
        ...{ ...hooks, ...place },
        ...(limitMs !== undefined && { connection: { statement_timeout: limitMs } }),
      }),
  })
  t.teardown(() => pool.end(1))
  return pool
}

async function pidOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row?.pid ?? 0
}

t.test('statements', async (t) => {
  const admin = await createDatabase(t)

  t.test('in sequence use one connection, and concurrent ones use as many as allowed', async (t) => {
    const { sql } = await openPool(t, admin, { size: 3 })
    t.equal(new Set([await pidOf(sql), await pidOf(sql), await pidOf(sql)]).size, 1)
    const held = await holdInserts(admin)
    const insert = () => sql<{ pid: number }[]>`
        insert into pets (name, category_id) values ('Rex', 1) returning pg_backend_pid() as pid`
    const inserting = Promise.all(Array.from({ length: 6 }, insert))
    await held.someoneWaits(3)
    await held.release()
    const rows = await inserting
    t.equal(new Set(rows.map(([row]) => row?.pid)).size, 3)
  })

  t.test('in large numbers each get their own result', async (t) => {
    for (const depth of [1, 8, 100]) {
      const { sql } = await openPool(t, admin, { size: 2, depth })
      const numbers = Array.from({ length: 1_000 }, (_, i) => i)
      const answers = await Promise.all(numbers.map((i) => sql<{ i: number }[]>`select ${i}::int as i`))
      t.strictSame(
        answers.map(([row]) => row?.i),
        numbers,
      )
    }
  })

  t.test('fail independently', async (t) => {
    const { sql } = await openPool(t, admin, { depth: 8 })
    const settled = await Promise.allSettled([
      sql`select 1 as one`,
      sql`select 1 / 0`,
      sql.unsafe('select 2 as two'),
    ])
    t.match(settled, [{ value: [{ one: 1 }] }, { reason: { code: '22012' } }, { value: [{ two: 2 }] }])
  })

  t.test('may contain fragments and helpers', async (t) => {
    const { sql } = await openPool(t, admin, { size: 2, depth: 8 })
    const condition = sql`schema_name = ${'public'}`
    const rows = await sql`select ${sql('schema_name')} from information_schema.schemata where ${condition}`
    t.strictSame([...rows], [{ schema_name: 'public' }])
    t.strictSame([...(await sql`select ${sql.json({ a: 1 })}::json as value`)], [{ value: { a: 1 } }])
  })

  t.test('are observed from queueing to settling, fragments are not', async (t) => {
    const pool = await openPool(t, admin)
    const counts = { begun: 0, ended: 0 }
    pool.observer = () => {
      counts.begun++
      return () => void counts.ended++
    }
    const observed = async (begun: number, ended: number) => {
      await null // the observer's callback may run after the caller's
      t.strictSame(counts, { begun, ended })
    }
    const { sql } = pool
    const query = sql`select 1 as one`
    await observed(0, 0)
    await Promise.all([query, query])
    await observed(1, 1)
    await sql`select name from pets ${sql`where name = ${'Rex'}`}`
    await observed(2, 2)
    await t.rejects(sql`select * from nowhere`, { code: '42P01' })
    await observed(3, 3)
    await pool.hold(undefined, async (held) => held.sqlUntil(undefined)`select 1`)
    await observed(4, 4)
  })
})

t.test('a statement whose caller has stopped waiting is never sent', async (t) => {
  const admin = await createDatabase(t)
  await admin`create table notes (id int)`
  const pool = await openPool(t, admin)
  const caller = new AbortController()
  const sql = pool.sqlUntil(caller.signal)
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const holding = pool.hold(undefined, () => released)
  const late = Promise.allSettled([
    sql`insert into notes values (1)`,
    pool.hold(caller.signal, async (held) => held.sqlUntil(undefined)`insert into notes values (2)`),
    pool.sql`insert into notes values (3)`,
  ])
  caller.abort()
  release()
  await holding
  const abandoned = { status: 'rejected', reason: { code: 'STATEMENT_ABANDONED' } }
  t.match(await late, [abandoned, abandoned, { status: 'fulfilled' }])
  await t.rejects(async () => sql`insert into notes values (4)`, { code: 'STATEMENT_ABANDONED' })
  await pool.hold(undefined, async (held) => {
    const mine = held.sqlUntil(caller.signal)
    await t.rejects(async () => mine`insert into notes values (5)`, { code: 'STATEMENT_ABANDONED' })
  })
  t.strictSame(
    (await admin`select id from notes`).map(({ id }) => id),
    [3],
  )
})

t.test('a connection', async (t) => {
  const admin = await createDatabase(t)
  const kill = (pid: number) => admin`select pg_terminate_backend(${pid})`

  t.test('that is held is exclusive', async (t) => {
    const pool = await openPool(t, admin)
    const order: string[] = []
    const holding = pool.hold(undefined, async (held) => {
      const sql = held.sqlUntil(undefined)
      for (let i = 0; i < 3; i++) order.push(`held ${await pidOf(sql)}`)
    })
    await Promise.all([holding, pidOf(pool.sql).then((pid) => order.push(`other ${pid}`))])
    const pid = order[0]?.split(' ')[1]
    t.strictSame(order, [`held ${pid}`, `held ${pid}`, `held ${pid}`, `other ${pid}`])
  })

  t.test('is released when the work fails', async (t) => {
    const pool = await openPool(t, admin)
    await t.rejects(
      pool.hold(undefined, () => Promise.reject(new Error('no'))),
      { message: 'no' },
    )
    t.ok((await pidOf(pool.sql)) > 0)
  })

  t.test('that is lost rejects its statements in flight, and queued ones use another', async (t) => {
    const pool = await openPool(t, admin)
    const pid = await pidOf(pool.sql)
    const sleeping = Promise.allSettled([pool.sql`select pg_sleep(60)`])
    const waiting = pidOf(pool.sql)
    await kill(pid)
    t.match(await sleeping, [
      { status: 'rejected', reason: { code: /^(CONNECTION_CLOSED|ECONNRESET|57P01)$/ } },
    ])
    t.not(await waiting, pid)
  })

  t.test('that is lost is replaced although who holds it goes on', async (t) => {
    const pool = await openPool(t, admin)
    await pool.hold(undefined, async (held) => {
      const pid = await pidOf(held.sqlUntil(undefined))
      const waiting = pidOf(pool.sql)
      await kill(pid)
      t.not(await waiting, pid)
    })
    t.ok((await pidOf(pool.sql)) > 0)
  })

  t.test('may be lost many times', async (t) => {
    const { sql } = await openPool(t, admin, { depth: 32 })
    for (let i = 0; i < 10; i++) {
      await kill(await pidOf(sql))
      // Statements sent while a connection is closing fail; later ones must not.
      for (let tries = 0; ; tries++) {
        try {
          await Promise.all(Array.from({ length: 20 }, () => pidOf(sql)))
          break
        } catch {
          t.ok(tries < 5, 'within a few attempts')
        }
      }
    }
  })

  t.test('that loses packets is closed, and a new one serves once the network is back', async (t) => {
    const proxy = await startDatabaseProxy(t, admin)
    const pool = await openPool(t, admin, {
      host: proxy.host,
      port: proxy.port,
      size: 2,
      depth: 4,
      readTimeoutMs: 2_000,
    })
    await pidOf(pool.sql)
    proxy.silence()
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => pidOf(pool.sql)))
    for (const answer of answers)
      t.match(answer, { status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } })
    proxy.resume()
    t.ok((await untilServed(pool.sql)) > 0)
  })

  t.test('dropped by the network makes the pool replace all idle ones', async (t) => {
    const proxy = await startDatabaseProxy(t, admin)
    const place = { host: proxy.host, port: proxy.port }
    const pool = await openPool(t, admin, { ...place, size: 4, readTimeoutMs: 2_000 })
    await Promise.all(Array.from({ length: 4 }, () => pool.sql`select pg_sleep(0.1)`))
    proxy.forget()
    await t.rejects(pool.probe(100), { name: 'TimeoutError' })
    await t.rejects(pidOf(pool.sql), { code: 'CONNECTION_CLOSED' })
    t.ok((await pidOf(pool.sql)) > 0, 'the next is served')
    await pool.probe(60_000)
  })

  t.test('that is busy passes a probe, one that is blocked does not', async (t) => {
    const pool = await openPool(t, admin, {})
    let isOver = false
    const busy = pool.hold(undefined, async (held) => {
      while (!isOver) await held.sqlUntil(undefined)`select 1`
    })
    await pool.probe(2_000) // it waits for the statement, while others complete
    isOver = true
    await busy
    let release = () => {}
    const holding = pool.hold(
      undefined,
      () =>
        new Promise<void>((resolve) => {
          release = resolve
        }),
    )
    await t.rejects(pool.probe(100), { name: 'TimeoutError' })
    release()
    await holding
  })

  t.test('ends pipelined statements within their time from when they were asked for', async (t) => {
    const limitMs = 500
    const pool = await openPool(t, admin, { depth: 8, limitMs })
    const pid = await pidOf(pool.sql)
    const held = await holdPets(admin)
    const startedAt = performance.now()
    const ends = await Promise.allSettled(Array.from({ length: 12 }, () => pool.sql`select from pets`))
    const ms = performance.now() - startedAt
    const codes = ends.map((end) => (end.status === 'rejected' ? end.reason.code : 'none'))
    t.strictSame(codes.slice(0, 8), Array(8).fill('57014'))
    t.equal(codes.at(-1), 'STATEMENT_ABANDONED', 'one that was queued is not sent')
    t.ok(ms < 4 * limitMs, `${ms} ms: one after the other would take eight times the limit`)
    const running = await admin`select from pg_stat_activity where pid = ${pid} and state = 'active'`
    t.equal(running.length, 0, 'none goes on behind its answer')
    await held.release()
    t.ok((await untilServed(pool.sql)) > 0, 'the next is served')
  })

  t.test('fails a probe where all statements fail, however many errors arrive', async (t) => {
    const pool = await openPool(t, admin, { depth: 8, limitMs: 300 })
    pool.probes.add((sql) => sql`select from pets limit 0`)
    const held = await holdPets(admin)
    let isOver = false
    const fail = async () => {
      while (!isOver) await t.rejects(pool.sql`select from pets`)
    }
    const failing = [fail(), fail()]
    for (let i = 0; i < 3; i++) await t.rejects(pool.probe(60_000), { code: '57014' })
    isOver = true
    await Promise.all(failing)
    await held.release()
    t.equal(await pool.probe(60_000), undefined)
  })

  t.test('is probed by all its statements, and refuses some or all', async (t) => {
    const pool = await openPool(t, admin, { size: 2 })
    const missing = (sql: Sql) => sql`select from nowhere`
    const denied = (sql: Sql) => sql`do $$ begin raise insufficient_privilege; end $$`
    const wrong = (sql: Sql) => sql`select 1 / 0`
    t.equal(await pool.probe(60_000), undefined, 'without any')
    pool.probes.add(missing)
    pool.probes.add(denied)
    await t.rejects(pool.probe(60_000), { code: '42P01' }, 'the first of those that it refuses')
    pool.probes.add((sql) => sql`select 1`)
    t.match(await pool.probe(60_000), { code: '42P01' }, 'it accepts another')
    pool.probes.delete(missing)
    t.match(await pool.probe(60_000), { code: '42501' })
    pool.probes.delete(denied)
    pool.probes.add(wrong)
    t.equal(await pool.probe(60_000), undefined, 'a fault of the statement')
  })

  t.test('to a server that hangs up at once is attempted once, not endlessly', async (t) => {
    const { port, attempts } = await hangUp(t)
    const pool = await openPool(t, admin, { host: '127.0.0.1', port, size: 8 })
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => pidOf(pool.sql)))
    for (const answer of answers)
      t.match(answer, { status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } })
    t.equal(attempts(), 1, 'the first is opened alone')
  })

  t.test('to a server that is down is attempted ten times a second at most', async (t) => {
    const { port, attempts } = await hangUp(t)
    const pool = await openPool(t, admin, { host: '127.0.0.1', port, size: 8 })
    const startedAt = performance.now()
    const callers = Array.from({ length: 4 }, async () => {
      while (attempts() < 5) await t.rejects(pidOf(pool.sql), { code: 'CONNECTION_CLOSED' })
    })
    await Promise.all(callers)
    t.ok(performance.now() - startedAt > 390, 'four rests between five attempts')
  })

  t.test('that gets a statement just as its read timer fires is not closed', async (t) => {
    const readTimeoutMs = 1_000
    const { sql } = await openPool(t, admin, { readTimeoutMs })
    const pid = await pidOf(sql)
    for (let i = 0; i < 3; i++) {
      await setTimeout(readTimeoutMs) // in the same tick as the connection's timer
      t.equal(await pidOf(sql), pid)
    }
  })

  t.test('that receives a byte just as its read timer fires gets the full timeout again', async (t) => {
    const { sql } = await openPool(t, admin, { readTimeoutMs: 600 })
    await pidOf(sql)
    const statement = sql.unsafe(
      `do $$ begin perform pg_sleep(0.3); raise notice 'more'; perform pg_sleep(100); end $$`,
    )
    const answer = t.rejects(statement, { code: 'CONNECTION_CLOSED' })
    await setTimeout(200) // before the byte, which comes after 300 ms
    await new Promise(setImmediate) // so that timers run next
    block(600) // so that the byte is still unread when the timer is due
    await answer
  })

  t.test('that is idle for long is not closed', async (t) => {
    const { sql } = await openPool(t, admin, { readTimeoutMs: 1_000 })
    const pid = await pidOf(sql)
    await setTimeout(1_500) // the test is about elapsed time
    t.equal(await pidOf(sql), pid)
    await sql`select pg_sleep(0.01)`
    t.equal(await pidOf(sql), pid)
  })
})

/** Two parallel attempts: one reaches the second server when the other has just reached the first. */
class TwoAttempts extends Servers {
  #isFirst = true

  override accept(...[server, state, address]: Parameters<Servers['accept']>): void {
    super.accept(server, state, address)
    if (!this.#isFirst) return
    this.#isFirst = false
    const [, second] = this.all
    super.accept(second as PostgresServer, state, address)
  }
}

t.test('a connection to a server that another attempt has replaced meanwhile is not used', async (t) => {
  const names = [await createDatabase(t), await createDatabase(t)].map(({ options }) => options.database)
  const servers = new TwoAttempts(
    names.map((database) => ({ database })),
    'any',
  )
  const cluster = await readCluster()
  const make: ConstructorParameters<typeof Pool>[0]['make'] = (hooks) => connectTo(cluster, undefined, hooks)
  const pool = new Pool({ size: 2, depth: 32, readTimeoutMs: 60_000, isReadOnly: true, servers, make })
  servers.onchange = () => pool.retireAll()
  t.teardown(() => pool.end(1))
  const [row] = await pool.sql<{ name: string }[]>`select current_database() as name`
  t.equal(row?.name, names[1])
  t.equal(servers.current, servers.all[1])
})

t.test('a refusing server fails all queued statements, and serves again once it is back', async (t) => {
  const admin = await createDatabase(t)
  const proxy = await startDatabaseProxy(t, admin)
  const pool = await openPool(t, admin, { host: proxy.host, port: proxy.port, size: 2 })
  await pidOf(pool.sql)
  proxy.admit(false)
  for (let i = 0; i < 2; i++) {
    const refused = await Promise.allSettled(Array.from({ length: 5 }, () => pidOf(pool.sql)))
    for (const each of refused)
      t.match(each, { status: 'rejected', reason: { code: /^(ECONNRESET|CONNECTION_CLOSED)$/ } })
  }
  proxy.admit(true)
  t.ok((await untilServed(pool.sql)) > 0)
})

t.test('end() waits for statements in flight, and rejects queued and later ones', async (t) => {
  const pool = await openPool(t, await createDatabase(t))
  await pidOf(pool.sql)
  const settled = Promise.allSettled([pool.sql`select pg_sleep(0.05), 1 as one`.execute(), pidOf(pool.sql)])
  await new Promise(setImmediate) // a statement is sent when it is awaited
  await pool.end(5)
  const ended = { status: 'rejected', reason: { code: 'CONNECTION_ENDED' } }
  t.match(await settled, [{ value: [{ one: 1 }] }, ended])
  await t.rejects(async () => pool.sql`select 1`, { code: 'CONNECTION_ENDED' })
})

// Starts a server that hangs up at once.
async function hangUp(t: Test): Promise<{ readonly port: number; attempts(): number }> {
  let count = 0
  const server = net.createServer((socket) => {
    count++
    socket.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as net.AddressInfo).port, attempts: () => count }
}

// Retries, because the first attempts may have started while the server was down.
async function untilServed(sql: Sql): Promise<number> {
  for (;;) {
    const pid = await pidOf(sql).catch(() => 0)
    if (pid > 0) return pid
  }
}
