// The version of an engine depends on its code.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { compileContract } from 'contract-engine/compile'
import { temporaryDirectory } from 'contract-testing/directory'
import { build } from 'esbuild'
import t from 'tap'

const extension = path.extname(import.meta.filename) // from the sources with tsx, or compiled in dist/
const own = path.join(import.meta.dirname, `../../src/document/engine-version${extension}`)

t.test('the version of an engine changes with its code, and with nothing else', async (t) => {
  const folder = temporaryDirectory(t)
  const add = (file: string, text: string) => {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  const module = path.join(folder, `openapi/document/engine-version${extension}`)
  add('package.json', '{ "type": "module" }')
  add(`openapi/lib/a${extension}`, '')
  cpSync(own, module, { recursive: true })
  add(`openapi/document/built-version${extension}`, 'export const builtVersion = undefined')
  let count = 0
  const version = async () => {
    const { engineVersion } = await import(`${pathToFileURL(module)}?${count++}`) // loads the module again
    return engineVersion()
  }
  const first = await version()
  t.match(first, /^[\w-]{43}$/)
  for (const name of [
    'types.d.ts',
    'page.md',
    `generate/types${extension}`,
    `documents/static/page${extension}`,
  ])
    add(`openapi/${name}`, 'new')
  t.equal(await version(), first)
  const versions = [first]
  for (const file of [
    `openapi/lib/a${extension}`,
    `openapi/new${extension}`,
    `openapi/deep/new${extension}`,
  ]) {
    add(file, 'new')
    versions.push(await version())
  }
  t.equal(new Set(versions).size, versions.length)
  rmSync(path.join(folder, `openapi/new${extension}`))
  t.notOk(versions.includes(await version()))
})

const built = path.dirname(createRequire(import.meta.url).resolve('contract-engine/package.json'))
// CommonJS packages in the bundle need `require` for Node's own modules.
const requiring = "import { createRequire as of } from 'node:module'; const require = of(import.meta.url)"
const program = `
import { readFileSync } from 'node:fs'
import { loadContract } from 'contract-engine'
const [plan, contract] = process.argv.slice(2)
console.log((await loadContract(readFileSync(plan), contract)).title)
`

t.test('a server that bundles the engine loads the plan that its command made', async (t) => {
  const contract = 'openapi: 3.1.0\ninfo: { title: Toys, version: 1.0.0 }\npaths: {}\n'
  const folder = temporaryDirectory(t, { 'openapi.yaml': contract })
  const file = path.join(folder, 'openapi.yaml')
  const plan = path.join(folder, 'contract.plan')
  writeFileSync(plan, await compileContract(file))
  const bundle = path.join(folder, 'bundle/server.mjs')
  await build({
    ...{ stdin: { contents: program, resolveDir: built }, outfile: bundle, format: 'esm' },
    ...{ bundle: true, platform: 'node', banner: { js: requiring }, logLevel: 'silent' },
  })
  const { stdout } = await promisify(execFile)(process.execPath, [bundle, plan, file])
  t.equal(stdout, 'Toys\n')
})
