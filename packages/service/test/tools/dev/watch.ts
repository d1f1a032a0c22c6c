import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { watchProject } from '../../../tools/dev/watch.js'

// Creates nested folders with a file each, with pauses of 0 to 2 ms, so that some appear while the watcher
// lists their parent.
const makeFolders = `
const { mkdirSync, writeFileSync } = require('node:fs')
const pause = (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
const [root, count] = process.argv.slice(1)
for (let index = 0; index < Number(count); index++) {
  mkdirSync(root + '/src/' + index)
  pause((index % 21) / 10)
  mkdirSync(root + '/src/' + index + '/in')
  pause((index % 21) / 10)
  writeFileSync(root + '/src/' + index + '/in/new.ts', '')
  pause(10)
}`

t.test('a file in a new folder is reported, whenever it is written', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'watched '))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(path.join(root, 'src'))
  const count = 210
  const missing = new Set(Array.from({ length: count }, (_, index) => `src/${index}/in/new.ts`))
  const { bursts } = watchProject(root)
  await bursts.next()
  const made = promisify(execFile)(process.execPath, ['-e', makeFolders, root, String(count)])
  while (missing.size > 0) {
    const { value = [] } = await bursts.next()
    for (const file of value) missing.delete(file)
  }
  await made
})

t.test(
  'files of the contract are reported in any folder, and those of the project that are none are not',
  async (t) => {
    const root = mkdtempSync(path.join(tmpdir(), 'watched '))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    const folders = ['parts/pets', 'deploy', 'generated', '.data']
    for (const folder of folders) mkdirSync(path.join(root, folder), { recursive: true })
    const { bursts } = watchProject(root)
    await bursts.next()
    const names = [...folders.map((folder) => `${folder}/pet.yaml`), 'docker-compose.yml', 'parts/last.yml']
    for (const name of names) writeFileSync(path.join(root, name), '')
    const seen = new Set<string>()
    while (!seen.has('parts/last.yml')) for (const file of (await bursts.next()).value ?? []) seen.add(file)
    t.strictSame([...seen].sort(), ['parts/last.yml', 'parts/pets/pet.yaml'])
  },
)

t.test('a file that a contract is read from is reported wherever it is, and none beside it', async (t) => {
  const root = path.join(mkdtempSync(path.join(tmpdir(), 'watched ')), 'project')
  t.teardown(() => rmSync(path.dirname(root), { recursive: true, force: true }))
  const read = [
    ...['docs/admin.yaml', 'docs/parts/pet', 'node_modules/contracts/api.yaml', 'packages/shop/shop.yaml'],
    ...['.hidden/api.yaml', '../shared/parts/pet.yaml', 'openapi.yaml', 'src/admin/admin.yaml'],
  ]
  const beside = [
    'docs/other.yaml',
    'docs/parts/other',
    'node_modules/other/api.yaml',
    '../shared/other.yaml',
  ]
  for (const name of [...read, ...beside]) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), '')
  }
  const { bursts, add, isContractFile } = watchProject(root)
  await bursts.next()
  for (const name of [...read, ...read]) add(path.join(root, name))
  for (const name of read) t.ok(isContractFile(name), name)
  for (const name of ['docs/other.yaml', 'src/admin/other.yaml']) t.notOk(isContractFile(name), name)
  const replaced = (name: string) => {
    writeFileSync(path.join(root, `${name}~`), '')
    renameSync(path.join(root, `${name}~`), path.join(root, name)) // as many editors do
  }
  for (const write of [(name: string) => writeFileSync(path.join(root, name), 'x'), replaced, replaced]) {
    const missing = new Set(read)
    while (missing.size > 0) {
      // Repeats until the watchers of the other folders are ready; the first file is always seen.
      for (const name of ['openapi.yaml', ...beside, ...missing]) write(name)
      for (const name of (await bursts.next()).value ?? []) {
        t.ok(read.includes(name), name)
        missing.delete(name)
      }
    }
  }
})

t.test('what handlers read is reported, and what editors write beside it is not', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'watched '))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(path.join(root, 'src/mails'), { recursive: true })
  const { bursts } = watchProject(root)
  await bursts.next()
  const names = ['mails/4913', 'mails/welcome.html~', 'mails/#welcome.html#', 'mails/welcome.html', 'last.js']
  for (const name of names) writeFileSync(path.join(root, 'src', name), '')
  const seen = new Set<string>()
  while (!seen.has('src/last.js')) for (const file of (await bursts.next()).value ?? []) seen.add(file)
  t.strictSame([...seen].sort(), ['src/last.js', 'src/mails/welcome.html'])
})
