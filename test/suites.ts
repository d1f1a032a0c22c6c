// One suite runs each test, both of this folder and of the packages.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { projectRoot } from 'contract-service/internal/lib/paths'
import type { Suites } from 'contract-testing/suites'
import t from 'tap'

const packages = readdirSync(path.join(projectRoot, 'packages')).map((name) => `packages/${name}`)

for (const folder of ['.', ...packages]) {
  const place = (file: string) => path.join(projectRoot, folder, file)

  t.test(`every test of ${folder} belongs to a suite, and each suite has a process`, async (t) => {
    const { suites } = (await import(pathToFileURL(place('dist/test/fixtures/suites.js')).href)) as {
      readonly suites: Suites
    }
    t.strictSame(
      suites.files().filter((file) => suites.suiteOf(file) === undefined),
      [],
    )
    const programs = readdirSync(place('test/suites'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.mjs'))
      .map((name) => name.replace(/(?<=^|\/)\d-|\.mjs$/g, ''))
    t.strictSame(programs.sort(), [...suites.names].sort())
  })
}
