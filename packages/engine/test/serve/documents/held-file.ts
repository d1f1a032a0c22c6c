import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { heldFile } from '../../../src/serve/documents/held-file.js'

function makeFile(t: Test, text: string) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'held-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'file')
  writeFileSync(file, text)
  return file
}

const upgrades: [title: string, upgrade: (file: string) => void][] = [
  ['removed', (file) => rmSync(file)],
  [
    'replaced',
    (file) => {
      writeFileSync(`${file}.new`, 'of the next version')
      renameSync(`${file}.new`, file)
    },
  ],
]
const text = 'of this version, '.repeat(10_000)

for (const [title, upgrade] of upgrades)
  t.test(`a file that is ${title} is read as it was when the server began to listen`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const file = makeFile(t, text)
    const read = heldFile(app, pathToFileURL(file))
    await app.listen({ port: 0 })
    upgrade(file)
    for (let i = 0; i < 2; i++) t.equal(String(await read()), text)
  })

t.test('before a server listens, a file is read as it is', async (t) => {
  const app = Fastify()
  const file = makeFile(t, text)
  const read = heldFile(app, pathToFileURL(file))
  writeFileSync(file, 'another')
  t.equal(String(await read()), 'another')
  await app.close()
})
