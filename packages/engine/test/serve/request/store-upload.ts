// Uploaded files: complete and flushed to disk under their name, or not there at all.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { Readable } from 'node:stream'
import { storeUpload } from 'contract-engine'
import { temporaryDirectory } from 'contract-testing/directory'
import { anyError, contractWith, type Handler, startEngine } from 'contract-testing/engine'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'

const digestOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

// Returns a new folder within the test's.
function folderOf(t: Test): string {
  const folder = path.join(temporaryDirectory(t, {}), 'folder')
  mkdirSync(folder)
  return folder
}

t.test('bytes are stored under their name, with their size and digest', async (t) => {
  const folder = folderOf(t)
  const chunks = Array.from({ length: 20 }, (_, i) => Buffer.alloc(100_000, i))
  const stored = await storeUpload(Readable.from(chunks), folder, 'photo.png')
  const whole = Buffer.concat(chunks)
  t.match(stored, { path: path.join(folder, 'photo.png'), size: 2_000_000, sha256: digestOf(whole) })
  t.ok(readFileSync(stored.path).equals(whole))
  t.strictSame(readdirSync(folder), ['photo.png'])
  t.match(await storeUpload(Buffer.from('abc'), folder, 'text'), { size: 3, sha256: digestOf('abc') })
  t.match(await storeUpload(Readable.from([]), folder, 'none'), { size: 0, sha256: digestOf('') })
  await stored.remove()
  await stored.remove()
  t.strictSame(readdirSync(folder), ['none', 'text'])
})

t.test('until all has arrived, the name has what it had before', async (t) => {
  const folder = folderOf(t)
  writeFileSync(path.join(folder, 'a'), 'before')
  const seen: string[] = []
  async function* bytes() {
    for (const text of ['af', 'ter']) {
      yield Buffer.from(text)
      seen.push(readFileSync(path.join(folder, 'a'), 'utf8'))
    }
  }
  await storeUpload(bytes(), folder, 'a')
  t.strictSame(seen, ['before', 'before'])
  t.equal(readFileSync(path.join(folder, 'a'), 'utf8'), 'after')
  t.strictSame(readdirSync(folder), ['a'])
})

t.test('a link of that name is replaced, and what it leads to is not written', async (t) => {
  const folder = folderOf(t)
  const outside = path.join(folder, '../outside')
  writeFileSync(outside, 'secret')
  symlinkSync(outside, path.join(folder, 'a'))
  await storeUpload(Buffer.from('new'), folder, 'a')
  t.equal(readFileSync(outside, 'utf8'), 'secret')
  t.equal(readFileSync(path.join(folder, 'a'), 'utf8'), 'new')
})

const long = 'x'.repeat(256)
const names = [
  '',
  '.',
  '..',
  '../a',
  'a/b',
  '/etc/passwd',
  'a\\b',
  '..\\a',
  'a\0',
  'C:a',
  '.arriving-1',
  long,
]

for (const name of names)
  t.test(`the name ${JSON.stringify(name)} is refused before a byte is taken`, async (t) => {
    const folder = folderOf(t)
    let isRead = false
    async function* bytes() {
      isRead = true
      yield Buffer.from('x')
    }
    const message = `A file cannot have the name ${JSON.stringify(name.slice(0, 64))}.`
    await t.rejects(storeUpload(bytes(), folder, name), { code: 'invalid_request', message, statusCode: 400 })
    t.equal(isRead, false)
    t.strictSame(readdirSync(path.dirname(folder)), ['folder'])
    t.strictSame(readdirSync(folder), [])
  })

t.test('the name of a folder is refused before a byte is taken, or once there is one', async (t) => {
  const folder = folderOf(t)
  let isRead = false
  async function* bytes(make?: string) {
    isRead = true
    yield Buffer.from('x')
    if (make !== undefined) mkdirSync(path.join(folder, make))
  }
  mkdirSync(path.join(folder, 'a'))
  const refusal = { code: 'invalid_request', statusCode: 400 }
  await t.rejects(storeUpload(bytes(), folder, 'a'), refusal)
  t.equal(isRead, false)
  await t.rejects(storeUpload(bytes('b'), folder, 'b'), refusal)
  t.strictSame(readdirSync(folder), ['a', 'b'])
})

t.test('a folder that takes no file is told before a byte is taken, and by its name', async (t) => {
  const folder = folderOf(t)
  writeFileSync(path.join(folder, 'file'), '')
  async function* bytes() {
    t.fail('a byte is taken')
    yield Buffer.from('x')
  }
  for (const [where, code] of [
    ['none', 'ENOENT'],
    ['file', 'ENOTDIR'],
  ] as const) {
    const place = path.join(folder, where)
    const message = `no file can be stored in ${place}: ${code}`
    await t.rejects(storeUpload(bytes(), place, 'a'), { name: 'StorageError', message, isFull: false })
  }
})

// Mounts a disk of 64 kB.
function smallDisk(t: Test): string | undefined {
  const folder = folderOf(t)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  if (status !== 0) return undefined
  t.teardown(() => void spawnSync('umount', [folder]))
  return folder
}

t.test('a disk that is full takes no part of a file, and says so', async (t) => {
  const folder = smallDisk(t)
  if (folder === undefined) return void t.comment('skipped: no disk can be mounted')
  const refusal = { name: 'StorageError', message: /: ENOSPC$/, isFull: true }
  const chunks = Array.from({ length: 20 }, () => Buffer.alloc(10_000))
  await t.rejects(storeUpload(Readable.from(chunks), folder, 'a'), refusal)
  t.strictSame(readdirSync(folder), [])
  await storeUpload(Buffer.alloc(10_000), folder, 'a')
})

t.test('names that only look strange are names of files', async (t) => {
  const folder = folderOf(t)
  for (const name of ['...', '.hidden', 'a b', 'é😀', '-rf', 'a..b', 'x'.repeat(255)]) {
    await storeUpload(Buffer.from(name), folder, name)
    t.equal(readFileSync(path.join(folder, name), 'utf8'), name)
  }
})

// Failures that must leave the folder as it was before.
const failures: [title: string, fail: (t: Test, folder: string) => Promise<unknown>, message: RegExp][] = [
  ['bytes that end with an error', (_, folder) => storeUpload(failing(), folder, 'a'), /the client has left/],
  [
    'a disk that is full',
    async (t, folder) => {
      await failAt(t, folder, 'appendFile', 'ENOSPC')
      return storeUpload(Buffer.from('x'), folder, 'a')
    },
    /ENOSPC/,
  ],
  [
    'a disk that does not confirm',
    async (t, folder) => {
      await failAt(t, folder, 'sync', 'EIO')
      return storeUpload(Buffer.from('x'), folder, 'a')
    },
    /EIO/,
  ],
]

async function* failing(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(100_000)
  throw new Error('the client has left')
}

// Patches the class of file handles, which Node does not export.
async function failAt(t: Test, folder: string, method: 'appendFile' | 'sync', code: string): Promise<void> {
  const handle = await open(folder, 'r')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const before = prototype[method]
  prototype[method] = async () => {
    throw Object.assign(new Error(code), { code })
  }
  t.teardown(() => Object.assign(prototype, { [method]: before }))
}

for (const [title, fail, message] of failures)
  t.test(`${title}: nothing is stored, and nothing is left`, async (t) => {
    const folder = folderOf(t)
    await t.rejects(fail(t, folder), { message })
    const left = readdirSync(folder).filter((name) => statSync(path.join(folder, name)).isFile())
    t.strictSame(left, [])
  })

t.test('an upload is stored as it arrives, and one that is cut is not', async (t) => {
  const folder = folderOf(t)
  const contract = await contractWith({
    add: {
      'x-limits': { bodyBytes: 2_000_000 },
      requestBody: { content: { 'application/octet-stream': {} } },
      responses: { 200: { description: 'Stored.', content: { 'application/json': {} } }, default: anyError },
    },
  })
  let isOver = false
  const add: Handler = async ({ body }) => {
    try {
      const { size, sha256 } = await storeUpload(body, folder, 'upload')
      return { status: 200, body: { size, sha256 } }
    } finally {
      isOver = true
    }
  }
  const { origin, call } = await startEngine(t, contract, { add })
  const headers = { 'content-type': 'application/octet-stream' }
  const request = http.request(`${origin}/add`, {
    method: 'POST',
    headers: { ...headers, 'content-length': 1_000_000 },
  })
  request.on('error', () => {})
  request.write(Buffer.alloc(300_000))
  await until(() => readdirSync(folder).length > 0)
  t.match(readdirSync(folder), [/^\.arriving-/])
  request.destroy()
  await until(() => isOver)
  t.strictSame(readdirSync(folder), [])
  const bytes = Buffer.alloc(1_000_000, 'x')
  const answer = await call('POST', '/add', { headers, body: bytes })
  t.match(answer, { status: 200, body: { size: 1_000_000, sha256: digestOf(bytes) } })
  t.ok(readFileSync(path.join(folder, 'upload')).equals(bytes))
  t.match(await call('POST', '/add', { headers, body: Buffer.alloc(2_000_001) }), { status: 413 })
  t.strictSame(readdirSync(folder), ['upload'], 'one that is too long has not replaced it')
})
