import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import t, { type Test } from 'tap'
import { callAtOnce } from '../../../scripts/bench/arrivals.js'
import { startSubject } from '../../../scripts/bench/subjects.js'
import { canMeasureProcesses, mainThreadSeconds } from '../../../scripts/faults/processes.js'

const program = `
require('node:http').createServer((request, response) => {
  if (request.url === '/work') {
    for (let i = 0; i < 1_000; i++) new Promise(() => {})
    globalThis.kept = Array.from({ length: 10_000 }, (_, i) => ({ i, text: String(i) }))
    for (let i = 0; i < 10_000_000; i++); // which allocates nothing
  }
  response.end('done')
}).listen(process.env.PORT, '127.0.0.1')
`

async function start(t: Test, counts: boolean) {
  const folder = temporaryDirectory(t, { 'subject.cjs': program })
  const command = [process.execPath, path.join(folder, 'subject.cjs')] as const
  const subject = { name: 'subject', title: 'Subject', command }
  const { signal } = new AbortController()
  const running = await startSubject(subject, {}, path.join(folder, 'log'), signal, counts)
  t.teardown(() => running.stop())
  return running
}

t.test('of a subject of Node, the bench counts what it allocates meanwhile', async (t) => {
  const { port, count } = await start(t, true)
  const countedIn = async (what: 'bytes' | 'promises', times: number) => {
    const counted = await count?.(what, async () => {
      for (let i = 0; i < times; i++) await (await fetch(`http://127.0.0.1:${port}/work`)).text()
    })
    return (counted ?? Number.NaN) / times
  }
  const promises = await countedIn('promises', 3)
  t.ok(promises >= 1_000 && promises < 1_100, `${promises} promises`)
  for (const times of [2, 20]) {
    const bytes = await countedIn('bytes', times)
    t.ok(bytes > 400_000 && bytes < 2_000_000, `${bytes} bytes, of ${times} requests`)
  }
  t.equal(await count?.('promises', async () => {}), 0, 'nothing is counted beyond')
})

t.test('a subject that nobody asks to count has no counter', async (t) => {
  const { count, isNode } = await start(t, false)
  t.equal(count, undefined)
  t.equal(isNode, true)
})

t.test('the CPU of the main thread is measured', { skip: !canMeasureProcesses }, async (t) => {
  const { port, pid } = await start(t, false)
  const before = mainThreadSeconds(pid)
  await (await fetch(`http://127.0.0.1:${port}/work`)).text()
  t.ok(mainThreadSeconds(pid) > before)
})

t.test('callers who connect at once are each told how long they waited', async (t) => {
  const { port } = await start(t, false)
  const calls = await callAtOnce(port, Array(30).fill('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
  t.strictSame(
    calls.map(({ status }) => status),
    Array(30).fill(200),
  )
  t.ok(calls.every(({ ms }) => ms > 0))
})
