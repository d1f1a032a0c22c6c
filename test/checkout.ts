// Checkouts of the project in folders of unusual names.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import t from 'tap'
import { copyBuild, copyProjectTo } from './fixtures/copy.js'
import { fixedPlan } from './fixtures/facts.js'
import { send } from './fixtures/service.js'

t.test('a checkout works in a folder of any name', async (t) => {
  const root = copyProjectTo(t, "My projects, Über 100% 🐾 'x'")
  copyBuild(root)
  const service = await startProcess(t, {}, { root })
  const run = (program: string, ...args: string[]) => runProgram(`commands/${program}.ts`, args, {}, { root })
  t.match(await run('seed/seed', '--count', '3'), { code: 0 })
  const made = await run('keys', 'create', '--name', 'x', '--plan', fixedPlan.name)
  t.match(await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${made.stdout.trim()}` }), {
    status: 200,
    body: { length: 3 },
  })
  t.match(await service.stop(), { code: 0 })
  t.ok(existsSync(path.join(root, '.data/postgresql/data/PG_VERSION')), 'its data is in the folder')
})

t.test('a checkout whose name a shell would expand requires DATA_DIR', async (t) => {
  const root = copyProjectTo(t, '$(touch read) `touch read`')
  copyBuild(root)
  const list = (env: Record<string, string>) => runProgram('commands/keys.ts', ['list'], env, { root })
  t.match(await list({}), { code: 1, stderr: /a character that a shell interprets\. Set DATA_DIR/ })
  t.match(await list({ DATA_DIR: temporaryDirectory(t) }), { code: 0 })
  t.notOk(existsSync(path.join(root, 'read')) || existsSync(path.join(root, '.data/postgresql/read')))
})
