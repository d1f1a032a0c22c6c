// Tests the load generator against small HTTP servers.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freePort, listen } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { generateLoad, type Job } from '../../../scripts/bench/generator.js'

async function portOf(t: Test, listener: RequestListener): Promise<number> {
  return Number(new URL(await listen(t, listener)).port)
}

function jobOf(port: number, others: Partial<Job> = {}): Job {
  const nextRequest = () => 'GET / HTTP/1.1\r\nHost: test\r\n\r\n'
  const interruption = new AbortController().signal
  // On a busy machine few responses may arrive in this time: a test that needs several repeats the job.
  return { port, connections: 4, durationMs: 300, nextRequest, interruption, ...others }
}

t.test('2xx, 503 and other responses are counted separately', async (t) => {
  const statuses = [200, 201, 503, 404]
  let next = 0
  const port = await portOf(t, (_request, response) => {
    response.writeHead(statuses[next++ % statuses.length] ?? 500).end('{}')
  })
  await until(async () => {
    next = 0
    const { served, refused, others, total } = await generateLoad(jobOf(port, { connections: 1 }))
    t.equal(total, next, 'the job waits for every response')
    if (total < 2 * statuses.length) return false
    t.ok(served.count > 0 && refused.count > 0)
    t.same(Object.keys(others), ['404'])
    t.ok(total >= served.count + refused.count + (others['404'] ?? 0))
    return true
  })
})

t.test('a response split over several reads is complete at its last byte', async (t) => {
  const text = JSON.stringify('x'.repeat(100_000))
  const port = await portOf(t, (request, response) => {
    if (request.url === '/length') response.setHeader('Content-Length', text.length)
    response.write(text.slice(0, 70_000))
    setImmediate(() => response.end(text.slice(70_000)))
  })
  for (const path of ['/length', '/chunks']) {
    const nextRequest = () => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`
    const { served, others } = await generateLoad(jobOf(port, { nextRequest }))
    t.ok(served.count > 0, path)
    t.same(others, {}, path)
  }
})

t.test('a connection closed by the server is reopened', async (t) => {
  const port = await portOf(t, (_request, response) => {
    response.setHeader('Connection', 'close').end('{}')
  })
  await until(async () => {
    const { served, others } = await generateLoad(jobOf(port, { connections: 1, rate: 100 }))
    t.same(others, {})
    return served.count > 1
  })
})

t.test('a lost connection is counted as such', async (t) => {
  const port = await portOf(t, (request) => void request.socket.destroy())
  const { served, others } = await generateLoad(jobOf(port))
  t.equal(served.count, 0)
  t.same(Object.keys(others), [`connection lost on port ${port}`])
})

t.test('an open-loop load sends at its rate, and counts responses that arrive after its end', async (t) => {
  const latencyMs = 50
  const rate = 100
  let requests = 0
  const port = await portOf(t, (_request, response) => {
    requests++
    setTimeout(() => response.end('{}'), latencyMs)
  })
  const { served, durationMs } = await generateLoad(jobOf(port, { connections: 20, rate }))
  t.ok(requests > 0 && requests <= (durationMs / 1000) * rate, `${requests} in ${durationMs} ms`)
  t.equal(served.count, requests)
  t.ok(served.min >= (latencyMs - 1) * 1000, 'latencies are in microseconds')
})

t.test('a refused connection is an error', async (t) => {
  const port = await freePort()
  await t.rejects(generateLoad(jobOf(port)), { message: `connection lost on port ${port}` })
})

t.test('an interruption aborts a job and closes its connections', async (t) => {
  for (const rate of [undefined, 100]) {
    const interruption = new AbortController()
    const reason = new Error('interrupted')
    const server = createServer(() => interruption.abort(reason))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { signal } = interruption
    const job = jobOf(port, {
      durationMs: 600_000,
      interruption: signal,
      ...(rate !== undefined && { rate }),
    })
    await t.rejects(generateLoad(job), reason)
    await new Promise((resolve) => server.close(resolve))
  }
})
