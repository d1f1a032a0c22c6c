// The version of an engine is that of its code.

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { temporaryDirectory } from '../fixtures/directory.js'

const extension = path.extname(import.meta.filename) // from the sources with tsx, or in dist/
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
  let count = 0
  const version = async () => {
    const { engineVersion } = await import(`${pathToFileURL(module)}?${count++}`) // read again
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
