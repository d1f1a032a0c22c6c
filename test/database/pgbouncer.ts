import { randomBytes } from 'node:crypto'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import type { RootSql } from 'contract-service/internal/database/database'
import { prepareServiceRole } from 'contract-service/internal/database/roles'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { ampleTerms } from '../fixtures/facts.js'
import { holdPets } from '../fixtures/locks.js'
import { pgBouncerIsMissing, startPgBouncer } from '../fixtures/pgbouncer.js'
import { createDatabase, send } from '../fixtures/service.js'

// The statement timeout is a fifth of it: longer than a statement takes on a busy machine.
const handlerTimeoutMs = 40_000
const statementTimeoutMs = handlerTimeoutMs / 5

async function createRole(t: Test, sql: RootSql, boundMs?: number): Promise<string> {
  const name = `pooled_${randomBytes(4).toString('hex')}`
  await prepareServiceRole(sql, { name, password: 'x' }, boundMs ?? handlerTimeoutMs)
  t.after(async () => {
    await sql`drop owned by ${sql(name)}`
    await sql`drop role ${sql(name)}`
  })
  return name
}

for (const mode of ['session', 'transaction'] as const)
  t.test(`behind PgBouncer with ${mode} pooling`, { skip: pgBouncerIsMissing }, async (t) => {
    const sql = await createDatabase(t)
    const role = await createRole(t, sql)
    const bouncer = await startPgBouncer(t, sql, mode, { [role]: '' })
    const env = { DATABASE_URL: bouncer.urlOf(role), HANDLER_TIMEOUT_MS: String(handlerTimeoutMs) }
    const service = await startProcess(t, env)
    t.ok(
      await service.logged(
        'database is behind a connection pooler: prepared statements and pipelining are off',
      ),
    )
    const made = await runProgram('commands/keys.ts', ['create', '--name', 'x', ...ampleTerms], env)
    t.equal(made.code, 0, made.stderr)
    const auth = { authorization: `Bearer ${made.stdout.trim()}` }
    const call = (method: string, path: string, headers = {}, body?: object) =>
      send(`${service.base}${path}`, method, { ...auth, ...headers }, body)
    const create = (key?: string) =>
      call('POST', '/pets', key && { 'idempotency-key': key }, { name: 'Rex', categoryId: 1 })
    const readyz = async () => (await send(new URL('/readyz', service.base).href)).status
    const isReady = () => until(async () => (await readyz()) === 200)
    const count = async () => (await sql<{ n: number }[]>`select count(*)::int as n from pets`)[0]?.n

    t.test('the service serves requests', async (t) => {
      await isReady()
      t.match(await create(), { status: 201, body: { id: 1, name: 'Rex' } })
      t.match(await call('GET', '/pets/1'), { status: 200, body: { id: 1 } })
      t.match(await call('GET', '/pets'), { status: 200, body: [{ id: 1 }] })
      t.match(await call('GET', '/pets?status=sold'), { status: 200, body: [] })
    })

    t.test('a creation with an Idempotency-Key is done once, also concurrently', async (t) => {
      const first = await create('once')
      const again = await create('once')
      t.equal(first.status, 201)
      t.equal(again.text, first.text)
      const several = await Promise.all(Array.from({ length: 8 }, () => create('twice')))
      t.ok(several.every(({ status }) => status === 201 || status === 409))
      t.equal(await count(), 3)
    })

    t.test('concurrent requests of all kinds each get their own response', async (t) => {
      const before = (await count()) ?? 0
      const all = await Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          if (i % 5 === 0) return [200, 503].includes(await readyz()) // 503 on a busy machine
          if (i % 5 === 1) return (await call('GET', '/pets?limit=1')).body.length === 1
          if (i % 5 === 2) return (await create()).status === 201
          if (i % 5 === 3) return (await create(`key-${i}`)).status === 201
          return (await call('GET', '/pets/2')).body.id === 2
        }),
      )
      t.ok(all.every(Boolean))
      t.equal(await count(), before + 24)
    })

    t.test('a request that waits for a lock gets 503 in time, and has no effect', async (t) => {
      const before = await count()
      const held = await holdPets(sql)
      const answers = await Promise.all([create(), create('locked'), call('GET', '/pets')])
      t.strictSame(
        answers.map(({ status }) => status),
        [503, 503, 503],
      )
      const waiting = await sql`
        select from pg_locks
        where not granted and database = (select oid from pg_database where datname = current_database())`
      t.equal(waiting.length, 0, 'PostgreSQL has ended the statements itself')
      await held.release()
      t.equal(await count(), before)
      t.equal((await create('locked')).status, 201)
    })

    t.test('while PgBouncer is down the service is not ready, and it recovers afterwards', async (t) => {
      await bouncer.kill()
      t.equal(await readyz(), 503)
      t.equal((await create()).status, 503)
      await bouncer.start()
      await isReady()
      t.equal((await create('later')).status, 201)
      t.equal((await call('GET', '/pets?limit=1')).status, 200)
    })

    t.test('seed adds animals', async (t) => {
      const seeded = await runProgram(
        'src/commands/seed/seed.ts',
        ['--count', '100', '--append', '--json'],
        env,
      )
      t.match(seeded, { code: 0, stdout: /"added":100/ })
    })
    t.test('the service shuts down cleanly', async (t) => t.match(await service.stop(), { code: 0 }))
  })

t.test('startup behind PgBouncer reports what is missing', { skip: pgBouncerIsMissing }, async (t) => {
  const sql = await createDatabase(t)
  const [role, lax] = [await createRole(t, sql), await createRole(t, sql, handlerTimeoutMs + 5)]
  const users = { [role]: '', [lax]: '' }
  const start = (databaseUrl: string) =>
    runProgram('src/main.ts', [], {
      ...{ DATABASE_URL: databaseUrl, HANDLER_TIMEOUT_MS: String(handlerTimeoutMs), PORT: '0' },
    })

  t.test('timeouts of the role', async (t) => {
    const bouncer = await startPgBouncer(t, sql, 'transaction', users)
    for (const [user, others] of [
      [lax, ''],
      [sql.options.user, ', .*jit off.*'],
    ])
      t.match(await start(bouncer.urlOf(String(user))), {
        code: 1,
        stderr: new RegExp(
          `^startup failed: The database is behind a connection pooler, and the role "${user}" lacks these settings: statement_timeout of at most ${statementTimeoutMs} ms, idle_in_transaction_session_timeout of at most ${statementTimeoutMs} ms${others}\\.\nRun \`migrate\``,
        ),
      })
  })

  t.test('other settings of the role', async (t) => {
    const others = { DateStyle: 'SQL', lock_timeout: '1s' }
    for (const [name, value] of Object.entries(others))
      await sql.unsafe(`alter role ${role} in database ${sql.options.database} set ${name} = '${value}'`)
    const bouncer = await startPgBouncer(t, sql, 'transaction', users)
    t.match(await start(bouncer.urlOf(role)), {
      code: 1,
      stderr: /lacks these settings: DateStyle ISO, lock_timeout 0\.\n/,
    })
  })

  t.test('transactions, with statement pooling', async (t) => {
    const bouncer = await startPgBouncer(t, sql, 'statement', users)
    t.match(await start(bouncer.urlOf(role)), {
      code: 1,
      stderr:
        /^startup failed: The database is behind a connection pooler, through which a transaction fails: .+\nSet the pooler to /,
    })
  })
})
