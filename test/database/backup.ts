// The backup and restore commands of docs/operating.md, with the binaries of an installed PostgreSQL.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { until } from 'contract-testing/until'
import t from 'tap'
import { ampleTerms } from '../fixtures/facts.js'
import { blockOf } from '../fixtures/pages.js'
import { postgresIsMissing, programs, startPostgres } from '../fixtures/postgres.js'
import { send } from '../fixtures/service.js'

const run = promisify(execFile)
const dump = blockOf('docs/operating.md', 'pg_dump')
const restore = blockOf('docs/operating.md', 'psql --quiet')
const copy = blockOf('docs/operating.md', 'cp -a')

// Runs a block of the page, adapted to the test's directories.
async function paste(text: string, cwd: string, env: Record<string, string>): Promise<void> {
  const script = text.replaceAll('npm run', 'npm --prefix "$PROJECT" run')
  const { PATH = '', HOME = '' } = process.env
  await run('bash', ['-euc', script], {
    cwd,
    env: { PATH: `${programs}:${PATH}`, HOME, PROJECT: projectRoot, ...env },
  })
}

async function createKey(env: Record<string, string>): Promise<{ readonly authorization: string }> {
  const args = ['create', '--name', 'x', ...ampleTerms]
  const { stdout } = await runProgram('commands/keys.ts', args, env)
  return { authorization: `Bearer ${stdout.trim()}` }
}

const rex = { name: 'Rex', categoryId: 1 }

t.test(
  'a dump made under load contains every write acknowledged before it',
  { skip: postgresIsMissing },
  async (t) => {
    const urlOf = await startPostgres(t, 'owner', 'store', 'restored')
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
    await paste(dump, cwd, { DATABASE_URL: owner.DATABASE_URL })
    isOver = true
    await Promise.all(clients)
    t.match(await service.stop(), { code: 0 })

    const env = { RESTORED_URL: urlOf('restored'), SERVICE_DATABASE_URL: urlOf('restored', 'service') }
    await paste(restore, cwd, env)
    const restored = await startProcess(t, { DATABASE_URL: env.SERVICE_DATABASE_URL })
    const { origin } = new URL(restored.base)
    const warm = [
      await send(`${restored.base}/pets`, 'GET', headers),
      await send(`${restored.base}/pets`, 'POST', { ...headers, 'idempotency-key': '"lost"' }, rex),
    ]
    t.match(warm, [{ status: 200 }, { status: 201 }])
    await paste(restore, cwd, env) // over the store in use, which serves again without a restart
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
  },
)

t.test('a copy of the folder of a stopped embedded database is a backup', async (t) => {
  const dataDir = dataDirectory(t)
  const service = await startProcess(t, { DATA_DIR: dataDir })
  const headers = await createKey({ DATA_DIR: dataDir })
  const made = await Promise.all(
    Array.from({ length: 50 }, () => send(`${service.base}/pets`, 'POST', headers, rex)),
  )
  t.match(await service.stop(), { code: 0 })

  const other = temporaryDirectory(t)
  const script = copy.replace('.data', '"$FROM"').replace('backup', '"$TO"')
  const { PATH = '' } = process.env
  await run('bash', ['-euc', script], { env: { PATH, FROM: dataDir, TO: path.join(other, 'postgresql') } })
  const restored = await startProcess(t, { DATA_DIR: other })
  const found = await Promise.all(
    made.map(({ body }) => send(`${restored.base}/pets/${body.id}`, 'GET', headers)),
  )
  t.equal(found.filter(({ status }) => status === 200).length, 50)
  t.match(await restored.stop(), { code: 0 })
})
