// A comparison loads no module that serves requests, because its user may have another server.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-testing/directory'
import t from 'tap'
import { packageRoot } from './fixtures/root.js'

const file = path.join(packageRoot, 'test/fixtures/contract-1.0.0.yaml')

t.test('a comparison loads no server, no log and no compiler of types', async (t) => {
  const loaded = await loadedBy(temporaryDirectory(t), ['--format', 'github', file, file])
  t.ok(loaded.some((name) => name.endsWith('/diff/dist/src/contract.js')))
  const packages = new Set(
    loaded.flatMap((name) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []),
  )
  t.ok(packages.has('yaml'), 'packages are seen')
  for (const name of [
    'fastify',
    'fastify-openapi-glue',
    'fastify-plugin',
    'find-my-way',
    'pino',
    'typescript',
  ])
    t.notOk(packages.has(name), name)
  const serving = loaded.filter((name) => /\/engine\/dist\/src\/(mount|index|mock\/server)\b/.test(name))
  t.strictSame(serving, [])
})

// Lists the loaded scripts: V8's coverage names each, imported or required.
async function loadedBy(folder: string, args: readonly string[]): Promise<string[]> {
  const env = { PATH: process.env.PATH, NODE_V8_COVERAGE: folder }
  await promisify(execFile)(process.execPath, [path.join(packageRoot, 'contract-diff.js'), ...args], { env })
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as {
      readonly result: readonly { readonly url: string }[]
    }
    return result.map(({ url }) => url)
  })
}
