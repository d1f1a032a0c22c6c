// The commands of the pages for a PostgreSQL and a Redis of an operator's own, pasted with the addresses of
// the test's.

import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { blockOf, readPage } from '../fixtures/pages.js'
import { postgresIsMissing, programs, startPostgres } from '../fixtures/postgres.js'
import { missing } from '../fixtures/programs.js'
import { createDatabase, send } from '../fixtures/service.js'

const bareMachine = blockOf('docs/deploying.md', 'export SERVICE_DATABASE_URL')
const scram = blockOf('docs/deploying.md', 'export SERVICE_PASSWORD')
const rotation = blockOf('docs/operating.md', 'docker compose exec database')

const { PATH = '', HOME = '' } = process.env

const psqlIsMissing = missing('psql', 'postgresql-client')

// Starts a pasted block; the end of the test kills what it left.
function start(t: Test, block: string, env: Record<string, string>, cwd = projectRoot) {
  const child = spawn('bash', ['-euc', block], {
    cwd,
    env: { PATH: `${programs ?? ''}:${PATH}`, HOME, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const stop = (signal: NodeJS.Signals) => child.exitCode === null && process.kill(-(child.pid ?? 0), signal)
  t.teardown(() => stop('SIGKILL'))
  return { child, stop }
}

async function run(t: Test, block: string, env: Record<string, string>, cwd?: string): Promise<void> {
  const { child } = start(t, block, env, cwd)
  child.stdout.resume()
  t.strictSame(await once(child, 'close'), [0, null])
}

// The port of the metrics, which the service logs; what is before it is of the migrations.
async function metricsPortOf(stdout: NodeJS.ReadableStream): Promise<number> {
  for await (const text of createInterface({ input: stdout })) {
    if (!text.startsWith('{')) continue
    const { msg, port } = JSON.parse(text)
    if (msg === 'metrics server listening') return port
  }
  throw new Error('the service ended')
}

t.test(
  'the block of a bare machine migrates as the owner, and serves as the role that this creates',
  { skip: postgresIsMissing || redisIsMissing },
  async (t) => {
    const urlOf = await startPostgres(t, 'owner', 'animal_store')
    const redis = await startRedis(t)
    const { host } = new URL(urlOf('animal_store'))
    const block = bareMachine.replaceAll('db.example', host).replaceAll('redis://redis.example', redis.url)
    const { child, stop } = start(t, block, { PORT: '0', METRICS_PORT: '0' })
    const { body } = await send(`http://127.0.0.1:${await metricsPortOf(child.stdout)}/readyz`)
    t.strictSame(body, { status: 'ok', counters: 'redis' })
    child.stdout.resume()
    const url = urlOf('animal_store', 'animal_store_service')
    await statementsRun(t, { owner: urlOf('animal_store'), service: url })
    stop('SIGTERM')
    await once(child, 'close')
  },
)

// Each statement that a page names in a line, as the role that may: `N` is a number of the operator's.
async function statementsRun(t: Test, roles: Record<'owner' | 'service', string>): Promise<void> {
  const statement = /`psql -c '(.+?)'`|`((?:select|show|alter) [^`…]+)`/g
  const found = ['docs/deploying.md', 'docs/operating.md'].flatMap((page) =>
    [...readPage(page).matchAll(statement)].map(([, quoted, bare = '']) => quoted ?? bare),
  )
  t.ok(found.length >= 9, `${found.length} statements`)
  for (const text of found.map((each) => each.replace(/\bN$/, '40'))) {
    const url = /^alter|setval/.test(text) ? roles.owner : roles.service
    const options = ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--command', text]
    await t.resolves(promisify(execFile)(`${programs}/psql`, [url, ...options]), text)
  }
}

t.test('a password is set with few iterations, whatever the server’s', { skip: psqlIsMissing }, async (t) => {
  const sql = await createDatabase(t)
  const [server] = await sql`select current_setting('scram_iterations', true) as iterations`
  if (server?.iterations === null) {
    t.pass('a setting since PostgreSQL 16', { skip: 'the server is older' })
    return
  }
  const role = `scram_${randomBytes(4).toString('hex')}`
  await sql`create role ${sql(role)} login`
  t.after(() => sql`drop role ${sql(role)}`)
  const { url } = await startDatabaseProxy(t, sql)
  await run(t, scram.replace('animal_store_service', role), {
    DATABASE_URL: url,
    PGOPTIONS: '-c scram_iterations=9999',
  })
  const [stored] = await sql`select rolpassword from pg_authid where rolname = ${role}`
  t.match(stored?.rolpassword, /^SCRAM-SHA-256\$4096:/)
})

t.test('the owner’s password in Compose is rotated by its block', { skip: postgresIsMissing }, async (t) => {
  const urlOf = await startPostgres(t, 'animal_store', 'animal_store')
  const url = new URL(urlOf('animal_store'))
  const docker = '#!/bin/sh\n[ "$1 $2 $3" != "compose exec database" ] || { shift 3; exec "$@"; }\n'
  const cwd = temporaryDirectory(t)
  writeFileSync(path.join(cwd, 'docker'), docker, { mode: 0o755 })
  const within = { PGHOST: '127.0.0.1', PGPORT: url.port, PGPASSWORD: 'secret' }
  await run(t, rotation, { PATH: `${cwd}:${programs}:${PATH}`, ...within }, cwd)
  const password = /^POSTGRES_PASSWORD=(\w+)$/m.exec(readFileSync(path.join(cwd, '.env'), 'utf8'))?.[1]
  const migrate = () => runProgram('commands/migrate.ts', [], { DATABASE_URL: url.href })
  t.match(await migrate(), { code: 1, stderr: /password authentication failed/ })
  url.password = password ?? ''
  t.match(await migrate(), { code: 0 })
})
