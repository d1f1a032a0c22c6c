import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import t, { type Test } from 'tap'
import { readSource } from '../../src/compile/source/files.js'
import { filesOf } from '../../src/document/file-text.js'
import { filesRead } from '../../src/lib/files-read.js'

const secret = 'host: secret.example\n'

// Creates a contract in a folder beside another one. The target of a `$ref` in its example is served
// unchanged.
function contractWith(t: Test, ref: string): { readonly folder: string; readonly file: string } {
  const text = `openapi: 3.1.0\ninfo: {title: A, version: 1.0.0, x-a: 1}\ncomponents:\n  examples:\n    a: {value: {$ref: '${ref}'}}\n`
  const toys = { 'openapi.yaml': text, parts: { 'toy.yml': secret }, '..data': { 'toy.yml': secret } }
  const folder = temporaryDirectory(t, { toys, outside: { 'hosts.yml': secret } })
  const link = (to: string, name: string) => symlinkSync(to, path.join(folder, 'toys', name))
  link('../outside/hosts.yml', 'link.yml')
  link('../outside', 'linked')
  link('/dev/zero', 'zero.yml')
  link('..data/toy.yml', 'own.yml')
  execFileSync('mkfifo', [path.join(folder, 'toys', 'fifo.yml'), path.join(folder, 'outside', 'fifo.yml')])
  return { folder, file: path.join(folder, 'toys', 'openapi.yaml') }
}

const outside =
  "is outside of the contract's folder, so it is not read: " +
  'keep a copy there, or name a folder that has both to a command with the option --root'
const irregular = 'is no regular file, so it is not read'
const unread: [title: string, ref: string, reason: string][] = [
  ['a file beside the folder', '../outside/hosts.yml', outside],
  ['one in percent-encoding', '%2e%2e/outside/hosts.yml#/host', outside],
  ['a link to one', 'link.yml', outside],
  ['one in a linked folder', 'linked/hosts.yml', outside],
  ['a link to a device', 'zero.yml', outside],
  ['a device', '/dev/zero', outside],
  ['a FIFO', 'fifo.yml', irregular],
  ['a FIFO beside the folder', '../outside/fifo.yml', outside],
  ['a folder', 'parts', irregular],
]

for (const [title, ref, reason] of unread) {
  t.test(`a $ref does not reach ${title}`, async (t) => {
    const { file } = contractWith(t, ref)
    const named = path.relative(
      process.cwd(),
      path.resolve(path.dirname(file), decodeURIComponent(ref.split('#')[0] ?? '')),
    )
    const place = `${path.relative(process.cwd(), file)}:5:9`
    await t.rejects(readSource(file), { message: `${place}: ${named} ${reason}` })
  })
}

t.test('a $ref reaches a file of the folder, also by a link within it', async (t) => {
  for (const ref of ['parts/toy.yml', 'own.yml', '../toys/parts/toy.yml']) {
    const { document } = await readSource(contractWith(t, ref).file)
    t.match(document, { components: { examples: { a: { value: { host: 'secret.example' } } } } })
  }
})

t.test('who watches files is told those that are read, and none that is refused', async (t) => {
  const { folder, file } = contractWith(t, 'parts/toy.yml')
  const told: unknown[] = []
  const listen = (each: unknown) => told.push(each)
  filesRead.subscribe(listen)
  t.teardown(() => filesRead.unsubscribe(listen))
  await readSource(path.relative('', file))
  t.strictSame(told, [file, path.join(folder, 'toys/parts/toy.yml')])
  await t.rejects(readSource(contractWith(t, '../outside/hosts.yml').file))
  t.notMatch(told.join('\n'), /hosts/)
})

t.test('another folder may be named, and the contract itself may be a link', async (t) => {
  const { folder, file } = contractWith(t, '../outside/hosts.yml')
  const link = path.join(folder, 'outside', 'openapi.yaml')
  symlinkSync(file, link)
  for (const each of [file, link]) {
    const { document } = await readSource(each, filesOf(each, folder))
    t.match(document, { components: { examples: { a: { value: { host: 'secret.example' } } } } })
  }
})

t.test('a contract that is a FIFO is refused', async (t) => {
  const file = path.join(contractWith(t, '').folder, 'toys', 'fifo.yml')
  await t.rejects(filesOf(file)(file), { message: irregular })
})
