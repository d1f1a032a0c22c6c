// One suite runs each test.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from './fixtures/root.js'
import { suites } from './fixtures/suites.js'

t.test('each suite has a process', async (t) => {
  const names = readdirSync(path.join(packageRoot, 'test/suites'), { recursive: true, encoding: 'utf8' })
  const programs = names
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => name.replace(/(?<=^|\/)\d-|\.mjs$/g, ''))
  t.strictSame(programs.sort(), [...suites.names].sort())
})
