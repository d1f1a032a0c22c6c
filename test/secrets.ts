// Keys, their hashes and the database's password: nowhere but where they belong.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createApiKey, hashApiKey } from '../src/access/api-key.js'
import { startProcess } from './fixtures/process.js'
import { startDatabaseProxy } from './fixtures/proxy.js'
import { type Answer, send, startService } from './fixtures/service.js'

const run = promisify(execFile)

t.test('no log, answer or list of processes shows a secret, whatever goes wrong', async (t) => {
  const { sql, key } = await startService(t) // for its database and its key
  const proxy = await startDatabaseProxy(t, sql)
  const url = new URL(proxy.url)
  url.password ||= 'hunter2'
  const service = await startProcess(t, { DATABASE_URL: url.href, LOG_LEVEL: 'trace' })
  const unknown = createApiKey()
  const rex = { name: 'Rex', categoryId: 1 }
  const answers: Answer[] = []
  const call = async (authorization: string, path = '/pets', own = {}, body: unknown = rex) => {
    answers.push(await send(service.base + path, 'POST', { authorization, ...own }, body))
  }
  for (const each of [key, unknown, key.slice(0, -1)]) {
    await call(`Bearer ${each}`)
    await call(`Bearer ${each}`, `/pets?key=${each}`, { 'x-request-id': each, 'user-agent': each })
    await call(each, `/${each}`, { 'idempotency-key': each, cookie: each })
    await call(`Bearer ${each}`, '/pets', { 'idempotency-key': `"${each}"` })
    await call(`Bearer ${each}`, '/pets', { 'idempotency-key': each, 'content-type': 'text/plain' }, each)
  }
  await sql`alter table pets rename to gone`
  await call(`Bearer ${key}`)
  await call(`Bearer ${key}`, '/pets', { 'idempotency-key': 'x' })
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'`
  await call(`Bearer ${key}`)
  const statuses = new Set(answers.map(({ status }) => status))
  for (const status of [201, 400, 401, 404, 415, 500])
    t.ok(statuses.has(status), `some of them got ${status}`)
  const { stdout: processes } = await run('ps', ['-A', '-o', 'args'])
  const { stdout, stderr } = await service.stop()
  t.match(stdout, /"level":50/, 'faults are in the log')
  const told = answers.map(({ text, headers }) => text + JSON.stringify([...headers])).join()
  for (const [name, secret] of Object.entries({
    key: key.slice(4, -6),
    hash: hashApiKey(key),
    unknown: unknown.slice(4, -6),
    password: url.password,
  })) {
    for (const [place, text] of Object.entries({ log: stdout, stderr, answers: told, processes }))
      t.notOk(text.includes(secret), `no ${name} in ${place}`)
  }
})

t.test('the time of a refusal does not tell a revoked key from an unknown one', async (t) => {
  const { base, createKey, sql } = await startService(t, { env: { TRUST_PROXY: 'true' } })
  const { id, key: revoked } = await createKey()
  await sql`update api_keys set revoked_at = now() where id = ${id}`
  const unknown = createApiKey()
  const times: Record<string, number[]> = { [revoked]: [], [unknown]: [] }
  // In turn, so that whatever else the machine does falls on both.
  for (let i = 0; i < 400; i++) {
    for (const key of [revoked, unknown]) {
      const began = performance.now()
      const { status } = await send(`${base}/pets`, 'GET', {
        authorization: `Bearer ${key}`,
        'x-forwarded-for': `198.51.100.${i % 200}`,
      })
      times[key]?.push(performance.now() - began)
      if (status !== 401) t.fail(`it answered ${status}`)
    }
  }
  const [one, other] = [median(times[revoked]), median(times[unknown])]
  t.ok(one / other > 0.75 && one / other < 1.33, `medians of ${one.toFixed(3)} and ${other.toFixed(3)} ms`)
})

function median(values: number[] = []): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
