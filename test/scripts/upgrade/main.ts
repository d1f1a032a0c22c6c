import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { silent } from 'contract-service/fixtures/cluster'
import { copyDataDirectory, dataDirectory } from 'contract-service/fixtures/data-directory'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import { connect } from 'contract-service/internal/database/connect'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { installBinaries } from 'contract-service/tools/upgrade/install'
import t from 'tap'
import { ampleTerms } from '../../fixtures/facts.js'
import { blockOf } from '../../fixtures/pages.js'
import { send, testConfig } from '../../fixtures/service.js'

t.test('the command of the docs moves the data', async (t) => {
  const [, script = ''] =
    / (\w+)$/.exec(blockOf('docs/operating.md', 'npm run --silent upgrade').trim()) ?? []
  const { scripts } = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8'))
  t.equal(scripts[script], 'exec contract-service upgrade', 'which the tests below run')
})

// Runs the upgrade with this environment's npm and proxy settings.
const upgrade = (dataDir: string) => {
  const own = Object.entries(process.env).filter(([name]) => /^npm_config_|_proxy$|_CERTS?$/i.test(name))
  return runProgram('packages/service/contract-service.js', ['upgrade'], {
    ...Object.fromEntries(own),
    DATA_DIR: dataDir,
  })
}

t.test('without data, or with those of the installed version, nothing is done', async (t) => {
  const dataDir = temporaryDirectory(t)
  t.match(await upgrade(dataDir), { code: 1, stderr: /^There are no data to move in / })
  await (await connect({ ...testConfig(), dataDir }, silent)).close()
  t.match(await upgrade(dataDir), { code: 0, stdout: /^The data are of PostgreSQL \d+ already\.\n$/ })
  t.notOk(existsSync(path.join(dataDir, 'postgresql-18')))
})

t.test('the data of PostgreSQL 17 are moved, keys and all', async (t) => {
  const programs = await installBinaries('17', temporaryDirectory(t)).catch((error: Error) => error)
  if (programs instanceof Error) {
    t.pass('npm has its programs', { skip: programs.message })
    return
  }
  const dataDir = temporaryDirectory(t)
  const env = { DATA_DIR: dataDir }
  const old = await startEmbedded(dataDir, silent, undefined, programs)
  const { host, port } = old.connection
  const url = { DATABASE_URL: `postgres://postgres@/postgres?host=${host}&port=${port}` }
  t.match(await runProgram('commands/migrate.ts', [], url), { code: 0 })
  t.match(await runProgram('src/commands/seed/seed.ts', ['--count', '1000'], url), { code: 0 })
  const made = await runProgram('commands/keys.ts', ['create', '--name', 'x', ...ampleTerms], url)
  t.match(await upgrade(dataDir), { code: 1, stderr: /uses the store\. Stop it first/ })
  await old.stop()

  const refused = await runProgram('src/main.ts', [], { ...env, PORT: '0' })
  t.match(refused, { code: 1, stderr: /is of PostgreSQL 17\..*\n.*npm run upgrade/ })
  t.match(await upgrade(dataDir), {
    ...{ code: 0, stderr: '' },
    stdout: /^1,00\d rows of \d+ tables moved from PostgreSQL 17 to 18\S*\. .* in .*postgresql-17\.\n$/,
  })
  t.ok(existsSync(path.join(dataDir, 'postgresql-17/data/PG_VERSION')))

  const service = await startProcess(t, env)
  const headers = { authorization: `Bearer ${made.stdout.trim()}` }
  const rex = { name: 'Rex', categoryId: 1 }
  t.match(await send(`${service.base}/pets`, 'POST', headers, rex), { status: 201, body: { id: 1001 } })
  t.match(await send(`${service.base}/pets?limit=3`, 'GET', headers), { status: 200, body: { length: 3 } })
  t.match(await service.stop(), { code: 0 })
})

// Returns the pid of a process that has ended.
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

const nothingToDo = { code: 0, stdout: /^The data are of PostgreSQL \d+ already\.\n$/, stderr: '' }

t.test('what a killed upgrade has left is removed', async (t) => {
  const dataDir = dataDirectory(t)
  const draft = path.join(dataDir, `upgrade-${await endedPid()}`)
  mkdirSync(path.join(draft, 'postgresql'), { recursive: true })
  t.match(await upgrade(dataDir), nothingToDo)
  t.strictSame(readdirSync(dataDir), ['postgresql'])
})

t.test('the server of a killed upgrade is stopped', async (t) => {
  // In a separate folder, because another test run removes leftovers of ended processes.
  const TMPDIR = temporaryDirectory(t)
  const program = 'packages/service/dist/test/fixtures/left-server.js'
  const { stdout } = await runProgram(program, [], { TMPDIR })
  const dataDir = path.join(TMPDIR, 'store')
  mkdirSync(dataDir, { mode: 0o711 })
  const draft = path.join(dataDir, `upgrade-${await endedPid()}`)
  renameSync(stdout.trim(), draft)
  t.ok(existsSync(path.join(draft, 'postgresql/data/postmaster.pid')))
  t.match(await upgrade(dataDir), nothingToDo)
  t.strictSame(readdirSync(dataDir), ['postgresql'], 'it had been killed between its renames')
  t.notOk(existsSync(path.join(dataDir, 'postgresql/data/postmaster.pid')))
})

t.test('an upgrade that was killed between its renames is finished', async (t) => {
  const dataDir = dataDirectory(t)
  const draft = path.join(dataDir, `upgrade-${await endedPid()}`)
  mkdirSync(draft)
  renameSync(path.join(dataDir, 'postgresql'), path.join(draft, 'postgresql'))
  mkdirSync(path.join(dataDir, 'postgresql-17'))
  t.match(await upgrade(dataDir), nothingToDo)
  t.strictSame(readdirSync(dataDir).sort(), ['postgresql', 'postgresql-17'])
  t.ok(existsSync(path.join(dataDir, 'postgresql/data/PG_VERSION')))
})

t.test('an upgrade names what it must not remove', async (t) => {
  const dataDir = dataDirectory(t)
  const pid = await endedPid()
  const moved = path.join(dataDir, `upgrade-${pid}`)
  mkdirSync(moved)
  copyDataDirectory(moved)
  const refused = {
    code: 1,
    stdout: '',
    stderr: new RegExp(`upgrade-${pid}/postgresql has the data of an upgrade`),
  }
  t.match(await upgrade(dataDir), refused)
  t.ok(existsSync(path.join(moved, 'postgresql/data/PG_VERSION')))
  rmSync(moved, { recursive: true })

  mkdirSync(path.join(dataDir, `upgrade-${process.pid}`))
  t.match(await upgrade(dataDir), { code: 1, stderr: new RegExp(`still runs, as process ${process.pid}\\.`) })
})
