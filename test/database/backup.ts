// The backup and restore commands of docs/postgresql.md, with the binaries of an installed PostgreSQL.

import { execFile, execFileSync } from 'node:child_process'
import { chown, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { freePort } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { debianBinaries } from '../../scripts/faults/debian-postgres.js'
import { ampleTerms } from '../fixtures/facts.js'
import { blocksOf, readPage } from '../fixtures/pages.js'
import { send } from '../fixtures/service.js'

const run = promisify(execFile)
const blocks = blocksOf(readPage('docs/postgresql.md'))

// Runs the block of the page that starts with a program, adapted to the test's directories.
async function paste(program: string, cwd: string, env: Record<string, string>): Promise<void> {
  const { text } = blocks.find((block) => block.text.startsWith(program)) ?? { text: 'false' }
  const script = text.replaceAll('npm run', 'npm --prefix "$PROJECT" run')
  const { PATH = '', HOME = '' } = process.env
  await run('bash', ['-euc', script], {
    cwd,
    env: { PATH: `${programs}:${PATH}`, HOME, PROJECT: projectRoot, ...env },
  })
}

const programs = debianBinaries() // Debian does not put them in PATH.
const skip = programs === undefined && 'no PostgreSQL is installed'

/** Starts PostgreSQL with two databases, and returns a function for their URLs. */
async function startPostgres(t: Test): Promise<(database: string, role?: string) => string> {
  const directory = path.join(temporaryDirectory(t), 'data')
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  await mkdir(directory, { mode: 0o700 })
  if (isRoot) await chown(directory, 65_534, 65_534)
  const port = await freePort()
  const options = { cwd: directory, stdio: 'ignore', ...identity } as const
  const command = (name: string, ...args: string[]) => execFileSync(`${programs}/${name}`, args, options)
  command('initdb', '--username=owner', '--auth=trust', '--no-sync', '--encoding=UTF8', '--pgdata=.')
  const settings = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`
  command('pg_ctl', 'start', '--pgdata=.', `--options=${settings}`, '--log=log', '--wait', '--silent')
  t.teardown(() => command('pg_ctl', 'stop', '--pgdata=.', '--mode=immediate', '--silent'))
  for (const name of ['store', 'restored'])
    command('createdb', '--host=127.0.0.1', `--port=${port}`, '--username=owner', name)
  return (database, role = 'owner') => `postgres://${role}:secret@127.0.0.1:${port}/${database}`
}

async function createKey(env: Record<string, string>): Promise<{ readonly authorization: string }> {
  const args = ['create', '--name', 'x', ...ampleTerms]
  const { stdout } = await runProgram('commands/keys.ts', args, env)
  return { authorization: `Bearer ${stdout.trim()}` }
}

const rex = { name: 'Rex', categoryId: 1 }

t.test('a dump made under load contains every write acknowledged before it', { skip }, async (t) => {
  const urlOf = await startPostgres(t)
  const owner = { DATABASE_URL: urlOf('store'), SERVICE_DATABASE_URL: urlOf('store', 'service') }
  t.match(await runProgram('commands/migrate.ts', [], owner), { code: 0 })
  const service = await startProcess(t, { DATABASE_URL: owner.SERVICE_DATABASE_URL })
  const headers = await createKey(owner)
  const keyed = { ...headers, 'idempotency-key': '"once"' }
  const first = await send(`${service.base}/pets`, 'POST', keyed, rex)
  t.equal(first.status, 201)
  const acknowledged: number[] = [first.body.id]
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const { status, body } = await send(`${service.base}/pets`, 'POST', headers, rex)
      if (status === 201) acknowledged.push(body.id)
    }
  }
  const clients = Array.from({ length: 4 }, client)
  await until(() => acknowledged.length >= 200)
  const known = [...acknowledged]
  const cwd = temporaryDirectory(t)
  await paste('pg_dump', cwd, { DATABASE_URL: owner.DATABASE_URL })
  isOver = true
  await Promise.all(clients)
  t.match(await service.stop(), { code: 0 })

  const env = { RESTORED_URL: urlOf('restored'), SERVICE_DATABASE_URL: urlOf('restored', 'service') }
  await paste('psql', cwd, env)
  const restored = await startProcess(t, { DATABASE_URL: env.SERVICE_DATABASE_URL })
  const { origin } = new URL(restored.base)
  const warm = [
    await send(`${restored.base}/pets`, 'GET', headers),
    await send(`${restored.base}/pets`, 'POST', { ...headers, 'idempotency-key': '"lost"' }, rex),
  ]
  t.match(warm, [{ status: 200 }, { status: 201 }])
  await paste('psql', cwd, env) // over the store in use, which serves again without a restart
  await until(async () => (await send(`${origin}/readyz`)).status === 200)
  const found = await Promise.all(known.map((id) => send(`${restored.base}/pets/${id}`, 'GET', headers)))
  t.equal(
    found.filter(({ status }) => status === 200).length,
    known.length,
    `all ${known.length} are restored`,
  )
  t.equal(
    (await send(`${restored.base}/pets`, 'POST', keyed, rex)).text,
    first.text,
    'as are stored responses',
  )
  const { body } = await send(`${restored.base}/pets`, 'POST', headers, rex)
  t.ok(body.id > known.length, 'the next id is unused')
  t.match(await restored.stop(), { code: 0 })
})

t.test('a copy of the folder of a stopped embedded database is a backup', async (t) => {
  const dataDir = dataDirectory(t)
  const service = await startProcess(t, { DATA_DIR: dataDir })
  const headers = await createKey({ DATA_DIR: dataDir })
  const made = await Promise.all(
    Array.from({ length: 50 }, () => send(`${service.base}/pets`, 'POST', headers, rex)),
  )
  t.match(await service.stop(), { code: 0 })

  const other = temporaryDirectory(t)
  const { text } = blocks.find((block) => block.text.startsWith('cp -a')) ?? { text: 'false' }
  const script = text.replace('.data', '"$FROM"').replace('backup', '"$TO"')
  const { PATH = '' } = process.env
  await run('bash', ['-euc', script], { env: { PATH, FROM: dataDir, TO: path.join(other, 'postgresql') } })
  const restored = await startProcess(t, { DATA_DIR: other })
  const found = await Promise.all(
    made.map(({ body }) => send(`${restored.base}/pets/${body.id}`, 'GET', headers)),
  )
  t.equal(found.filter(({ status }) => status === 200).length, 50)
  t.match(await restored.stop(), { code: 0 })
})
