// Every test is run, by one suite.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { suites } from './fixtures/suites.js'

t.test('every test file belongs to a suite', async (t) => {
  t.strictSame(
    suites.files().filter((file) => suites.suiteOf(file) === undefined),
    [],
  )
})

t.test('each suite has a process', async (t) => {
  const names = readdirSync(path.join(projectRoot, 'test/suites'), { recursive: true, encoding: 'utf8' })
  const programs = names
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => name.replace(/(?<=^|\/)\d-|\.mjs$/g, ''))
  t.strictSame(programs.sort(), [...suites.names].sort())
})
