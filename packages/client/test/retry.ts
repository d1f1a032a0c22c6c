import t from 'tap'
import { type Clock, startTimer, systemClock } from '../src/clock.js'
import { asksForRetry, isRepeatable, waitBefore } from '../src/retry.js'

const now = Date.parse('2026-11-20T12:00:00Z')
const limits = { attemptsMax: 20, waitMaxMs: 90_000 }
const clock = (random: number): Clock => ({ now: () => now, random: () => random, wait: async () => {} })

const asked: [retryAfter: string, ms: number | undefined][] = [
  ['0', 0],
  ['1', 1_000],
  ['90', 90_000],
  ['91', undefined],
  ['86400', undefined],
  ['Fri, 20 Nov 2026 12:00:07 GMT', 7_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
  ['Fri, 20 Nov 2026 12:30:00 GMT', undefined],
]
for (const [retryAfter, ms] of asked) {
  t.test(`"Retry-After: ${retryAfter}" is honoured up to waitMaxMs`, async (t) => {
    t.equal(waitBefore(1, retryAfter, limits, clock(0)), ms)
    const spread = waitBefore(1, retryAfter, limits, clock(1))
    t.equal(spread, ms === undefined ? undefined : ms + 250, 'plus jitter')
  })
}

t.test('without Retry-After the backoff is exponential, bounded and random', async (t) => {
  for (const header of [null, undefined, '', 'soon', '-1', '1.5']) {
    const longest = Array.from({ length: 8 }, (_, i) => waitBefore(i + 1, header, limits, clock(1)))
    t.strictSame(longest, [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000], `${header}`)
    t.equal(waitBefore(3, header, limits, clock(0.5)), 1_000)
    t.equal(waitBefore(3, header, limits, clock(0)), 0)
  }
})

t.test('without limits a call waits as long as it is asked to, as often as it takes', async (t) => {
  const most = { attemptsMax: Number.POSITIVE_INFINITY, waitMaxMs: Number.POSITIVE_INFINITY }
  t.equal(waitBefore(1, '9999999', most, clock(0)), 9_999_999_000)
  t.equal(waitBefore(5_000, null, most, clock(1)), 10_000)
})

t.test('there is no wait after the last attempt', async (t) => {
  t.equal(waitBefore(2, '1', { ...limits, attemptsMax: 3 }, clock(0)), 1_000)
  t.equal(waitBefore(3, '1', { ...limits, attemptsMax: 3 }, clock(0)), undefined)
})

t.test('only idempotent requests are repeated', async (t) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'SEARCH', 'PUT', 'DELETE'])
    t.ok(isRepeatable({ method, path: '/' }), method)
  for (const method of ['POST', 'PATCH']) {
    t.notOk(isRepeatable({ method, path: '/' }), method)
    t.ok(isRepeatable({ method, path: '/', idempotent: true }), `${method} with an idempotency key`)
  }
})

t.test('errors that may pass are retried, 409 with Retry-After, and no other status', async (t) => {
  const answer = (status: number, headers = {}) => new Response('', { status, headers })
  for (const status of [408, 429, 500, 502, 503, 504]) t.ok(asksForRetry(answer(status)), `${status}`)
  t.ok(asksForRetry(answer(409, { 'Retry-After': '1' })))
  for (const status of [400, 401, 404, 409, 422, 501]) t.notOk(asksForRetry(answer(status)), `${status}`)
})

t.test('a timer of any length ends when it is due', async (t) => {
  const longestMs = 2 ** 31 - 1
  const cases: [ms: number, delays: number[]][] = [
    [5, [5]],
    [longestMs, [longestMs]],
    [2 * longestMs + 7, [longestMs, longestMs, 7]],
  ]
  for (const [ms, delays] of cases) {
    const asked: number[] = []
    let isDue = false
    const { setTimeout } = globalThis
    globalThis.setTimeout = ((run: () => void, delay: number) => {
      asked.push(delay)
      queueMicrotask(run)
    }) as typeof setTimeout // runs each timer at once
    startTimer(ms, () => {
      isDue = true
    })
    while (!isDue) await null
    globalThis.setTimeout = setTimeout
    t.strictSame(asked, delays)
  }
})

t.test('the system clock waits for the given time, or until it is aborted', async (t) => {
  const before = systemClock.now()
  await systemClock.wait(5, undefined)
  t.ok(systemClock.now() - before >= 4)
  const reason = new Error('enough')
  await t.rejects(systemClock.wait(Number.POSITIVE_INFINITY, AbortSignal.abort(reason)), reason)
  const controller = new AbortController()
  const waiting = systemClock.wait(1e6, controller.signal)
  controller.abort(reason)
  await t.rejects(waiting, reason)
})
