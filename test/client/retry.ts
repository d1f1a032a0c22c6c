import t from 'tap'
import { asksForRetry, type Clock, isRepeatable, systemClock, waitBefore } from '../../src/client/retry.js'

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

t.test('there is no wait after the last attempt', async (t) => {
  t.equal(waitBefore(2, '1', { ...limits, attemptsMax: 3 }, clock(0)), 1_000)
  t.equal(waitBefore(3, '1', { ...limits, attemptsMax: 3 }, clock(0)), undefined)
})

t.test('only idempotent requests are repeated', async (t) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
    t.ok(isRepeatable({ method, path: '/' }), method)
  for (const method of ['POST', 'PATCH']) {
    t.notOk(isRepeatable({ method, path: '/' }), method)
    t.ok(isRepeatable({ method, path: '/', idempotent: true }), `${method} with an idempotency key`)
  }
})

t.test('429, 503, and 409 with Retry-After are retried, and no other status', async (t) => {
  const answer = (status: number, headers = {}) => new Response('', { status, headers })
  for (const status of [429, 503]) t.ok(asksForRetry(answer(status)), `${status}`)
  t.ok(asksForRetry(answer(409, { 'Retry-After': '1' })))
  for (const status of [400, 401, 404, 409, 500, 501, 502]) t.notOk(asksForRetry(answer(status)), `${status}`)
})

t.test('the system clock waits for the given time, or until it is aborted', async (t) => {
  const before = systemClock.now()
  await systemClock.wait(5, undefined)
  t.ok(systemClock.now() - before >= 4)
  const reason = new Error('enough')
  await t.rejects(systemClock.wait(1e6, AbortSignal.abort(reason)), reason)
  const controller = new AbortController()
  const waiting = systemClock.wait(1e6, controller.signal)
  controller.abort(reason)
  await t.rejects(waiting, reason)
})
