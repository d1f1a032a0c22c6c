// The memory of many concurrent uploads, in a separate process: a small version of
// scripts/bench/uploads/main.ts.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isNightly } from 'contract-testing/nightly'
import t from 'tap'
import { measureUploads, startUploadServer } from '../../../scripts/bench/uploads/measure.js'

// All of the bodies would take 400 MB. The variation between runs, which V8's garbage collection causes, is
// far less than this limit.
const uploads = { count: 40, bytes: 10_000_000 }
const moreMax = 150_000_000

const forms = [
  ['bodies', 'body'],
  ['forms with a file', 'file'],
  ['forms with three files', 'files'],
] as const
for (const [title, as] of isNightly ? forms : forms.slice(2)) {
  t.test(`40 ${title} of 10 MB at once use little memory`, async (t) => {
    const server = await startUploadServer()
    t.teardown(() => server.stop())
    const { statuses, moreBytes } = await measureUploads(server, { ...uploads, as })
    t.strictSame(statuses, Array(uploads.count).fill(200))
    t.ok(moreBytes < moreMax, `${moreBytes} bytes more`)
  })
}

t.test('lines of items, 60 MB at once, use little memory', { skip: !isNightly && 'at night' }, async (t) => {
  const server = await startUploadServer()
  t.teardown(() => server.stop())
  const { statuses, moreBytes } = await measureUploads(server, { count: 3, bytes: 20_000_000, as: 'lines' })
  t.strictSame(statuses, [200, 200, 200])
  t.ok(moreBytes < 50_000_000, `${moreBytes} bytes more`)
})

t.test('a slow upload by curl passes, for longer than REQUEST_TIMEOUT_MS', async (t) => {
  const timeoutMs = 2_500 // curl sends once a second: its rate is measured over more than two
  const server = await startUploadServer({ REQUEST_TIMEOUT_MS: String(timeoutMs) })
  t.teardown(() => server.stop())
  const program = [process.execPath, '-e', 'process.stdout.write(Buffer.alloc(40_000))']
    .map((each) => `'${each}'`)
    .join(' ')
  const curl = `curl -sS --limit-rate 10k -H 'Content-Type: application/octet-stream' --data-binary @- ${server.origin}/v1/open-photos`
  const begin = performance.now()
  const { stdout } = await promisify(execFile)('sh', ['-c', `${program} | ${curl}`])
  t.equal(stdout, '40000')
  t.ok(performance.now() - begin > timeoutMs, 'it was slow')
})
