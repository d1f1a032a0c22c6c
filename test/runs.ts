// Test runs are isolated from each other, and each cleans up after killed ones.

import { existsSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { connectTo, readCluster, runDirectory, silent } from 'contract-service/fixtures/cluster'
import { isRunning, removeLeftovers } from 'contract-service/fixtures/leftovers'
import { runProgram, temporaryDirectory } from 'contract-service/fixtures/process'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import { ownedName, ownerOf } from 'contract-service/tools/lib/directory'
import { until } from 'contract-testing/until'
import t from 'tap'

const lockFile = (directory: string) => path.join(directory, 'postgresql/data/postmaster.pid')

t.test(
  'leftovers of a killed process are removed, with its server; directories in use are not',
  async (t) => {
    const parent = await temporaryDirectory(t)
    const used = path.join(parent, ownedName(process.pid, 'used'))
    const server = await startEmbedded(used, silent)
    t.teardown(() => server.stop())
    const { stdout } = await runProgram('packages/service/dist/test/fixtures/left-server.js', [], {
      TMPDIR: parent,
    })
    const left = stdout.trim()
    const pid = Number(readFileSync(lockFile(left), 'utf8').split('\n')[0])
    t.ok(isRunning(pid), 'the server still runs')

    await Promise.all([removeLeftovers(parent), removeLeftovers(parent)])
    await until(() => !isRunning(pid)) // its lock is removed just before it exits
    t.strictSame((await readdir(parent)).filter(ownerOf), [path.basename(used)])
    const sql = connectTo({ connection: server.connection, template: '' }, undefined)
    t.match(await sql`select 1 as one`, [{ one: 1 }])
    await sql.end()
  },
)

t.test('each run has its own database server, unless TEST_DATABASE_URL names one', async (t) => {
  const { connection } = await readCluster()
  if (typeof connection === 'string') t.equal(connection, process.env.TEST_DATABASE_URL)
  else t.ok(existsSync(lockFile(runDirectory)))
  t.match(path.basename(runDirectory), new RegExp(`-${process.ppid}-`))
})

t.test('a file that is run alone has a server of its own, which ends with it', async (t) => {
  const parent = await temporaryDirectory(t)
  const file = (...names: string[]) => runProgram('test/fixtures/file.mjs', names, { TMPDIR: parent })
  t.match(await file('test/handlers/getPet.ts'), { code: 0, stdout: /^TAP version 14$/m })
  t.strictSame((await readdir(parent)).filter(ownerOf), [])
  t.match(await file('src/main.ts'), { code: 2, stderr: /^Usage: npm run test:file/ })
})
