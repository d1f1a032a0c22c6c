// API keys, their hashes and the database's password never leak.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { createApiKey, hashApiKey } from 'contract-service/internal/auth/api-key'
import t from 'tap'
import { countStatements } from './fixtures/count.js'
import { type Answer, createDatabase, openPools, send, startService } from './fixtures/service.js'

const run = promisify(execFile)

t.test('no log, response or process list contains a secret, whatever goes wrong', async (t) => {
  const { sql, key } = await startService(t) // provides the database and the key
  const proxy = await startDatabaseProxy(t, sql)
  const url = new URL(proxy.url)
  url.password ||= 'hunter2'
  const service = await startProcess(t, { DATABASE_URL: url.href, LOG_LEVEL: 'trace' })
  const unknown = createApiKey()
  const rex = { name: 'Rex', categoryId: 1 }
  const responses: Answer[] = []
  const call = async (authorization: string, path = '/pets', own = {}, body: unknown = rex) => {
    responses.push(await send(service.base + path, 'POST', { authorization, ...own }, body))
  }
  for (const each of [key, unknown, key.slice(0, -1)]) {
    await call(`Bearer ${each}`)
    await call(`Bearer ${each}`, `/pets?key=${each}`, { 'x-request-id': each, 'user-agent': each })
    await call(each, `/${each}`, { 'idempotency-key': each, cookie: each })
    await call(`Bearer ${each}`, '/pets', { 'idempotency-key': `"${each}"` })
    await call(`Bearer ${each}`, '/pets', { 'idempotency-key': each, 'content-type': 'text/plain' }, each)
  }
  await sql`alter table pets add check (name is null) not valid`
  await call(`Bearer ${key}`)
  await sql`alter table pets rename to gone`
  await call(`Bearer ${key}`)
  await call(`Bearer ${key}`, '/pets', { 'idempotency-key': 'x' })
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'animal-store' and datname = current_database()`
  await call(`Bearer ${key}`)
  const statuses = new Set(responses.map(({ status }) => status))
  for (const status of [201, 400, 401, 404, 415, 500, 503])
    t.ok(statuses.has(status), `some of them got ${status}`)
  const { stdout: processes } = await run('ps', ['-A', '-o', 'args'])
  const { stdout, stderr } = await service.stop()
  t.match(stdout, /"level":50/, 'faults are in the log')
  const received = responses.map(({ text, headers }) => text + JSON.stringify([...headers])).join()
  for (const [name, secret] of Object.entries({
    key: key.slice(4, -6),
    hash: hashApiKey(key),
    unknown: unknown.slice(4, -6),
    password: url.password,
  })) {
    for (const [place, text] of Object.entries({ log: stdout, stderr, responses: received, processes }))
      t.notOk(text.includes(secret), `no ${name} in ${place}`)
  }
})

t.test('the time of a refusal does not distinguish a revoked key from an unknown one', async (t) => {
  const sql = await createDatabase(t)
  const pools = await openPools(t, sql)
  const statements = countStatements(pools.keys)
  const { base, createKey } = await startService(t, { env: { TRUST_PROXY: 'true' }, sql, pools })
  const timeOf = async (key: string, address: string) => {
    const began = performance.now()
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address }
    const { status } = await send(`${base}/pets`, 'GET', headers)
    if (status !== 401) t.fail(`it responded ${status}`)
    return performance.now() - began
  }
  // New keys for each pair, because known keys are cached.
  const pairs = 300
  const all = await Promise.all(Array.from({ length: pairs }, () => createKey()))
  await sql`update api_keys set revoked_at = now() where id in ${sql(all.map(({ id }) => id))}`
  // Each is sent first equally often, so that other load on the machine affects both alike.
  let slower = 0
  const differences = new Set<number>()
  for (const [i, { key: revoked }] of all.entries()) {
    const unknown = createApiKey()
    const address = `198.51.100.${i % 200}`
    const isFirst = i % 2 === 0
    statements.count = 0
    const first = await timeOf(isFirst ? revoked : unknown, address)
    const ofFirst = statements.count
    const second = await timeOf(isFirst ? unknown : revoked, address)
    if (first > second === isFirst) slower++
    differences.add(statements.count - 2 * ofFirst)
  }
  t.strictSame([...differences], [0], 'both take the same number of statements')
  // If both take the same time, half of the pairs; outside these bounds by chance less than once in 10^15
  // runs.
  t.ok(slower > pairs / 4 && slower < (3 * pairs) / 4, `the revoked one was slower in ${slower} of ${pairs}`)
})
