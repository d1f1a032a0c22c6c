// The engine uses undocumented modules of Ajv, so its version is pinned to a minor one. Each module is listed
// here: if one disappears, the failure names it.

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../fixtures/root.js'

const require = createRequire(import.meta.url)

/** For each module, the exports that the engine uses, and their types. */
const taken: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'ajv/dist/2020.js': { Ajv2020: 'function' },
  'ajv/dist/compile/codegen/index.js': { and: 'function', not: 'function', or: 'function' },
  'ajv/dist/compile/names.js': { default: 'object' },
  'ajv/dist/compile/util.js': { Type: 'object', useFunc: 'function' },
  'ajv/dist/runtime/ucs2length.js': { default: 'function' },
  'ajv/dist/standalone/index.js': { default: 'function' },
  'ajv/dist/vocabularies/code.js': { usePattern: 'function' },
}

for (const [name, exports] of Object.entries(taken))
  t.test(`${name} has what the engine takes from it`, async (t) => {
    const found = require(name) as Readonly<Record<string, unknown>>
    for (const [each, type] of Object.entries(exports)) t.equal(typeof found[each], type, `${name}: ${each}`)
  })

t.test('no private module is taken that is not in this list', async (t) => {
  const folder = path.join(packageRoot, 'src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
    /\.ts$/.test(each),
  )
  const texts = files.map((each) => readFileSync(path.join(folder, each), 'utf8'))
  const imported = texts.flatMap((each) => each.match(/(?<=from ')ajv\/[^']+/g) ?? [])
  t.same([...new Set(imported)].sort(), Object.keys(taken).sort())
})

t.test('the version of Ajv is pinned to a minor one', async (t) => {
  const { dependencies } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  t.match(dependencies.ajv, /^~\d+\.\d+\.\d+$/)
})
