import t from 'tap'
import { beginHeaders } from '../../src/lib/header-store.js'
import { MemoryCounter } from '../../src/rate-limit/memory.js'
import { createRateLimiter } from '../../src/rate-limit/rate-limiter.js'
import { clientOfKey } from '../fixtures/clients.js'
import { contract } from '../fixtures/notes.js'

const ban = { rejections: 30, withinSeconds: 60, banSeconds: 300 }

t.test('a request is counted at once, so that none comes in between', async (t) => {
  const counter = new MemoryCounter(ban)
  const client = clientOfKey('1', 2)
  const admitted = [1, 2, 3].map(() => counter.count(client).isAdmitted)
  t.strictSame(admitted, [true, true, false])
})

t.test('who is admitted waits for nothing, and who is not waits for the count of rejections', async (t) => {
  const counter = new MemoryCounter(ban)
  const client = clientOfKey('1', 1)
  const address = async () => t.fail('a client has windows of its own')
  const counters = {
    count: (...call: Parameters<MemoryCounter['count']>) => counter.count(...call),
    reject: () => counter.reject(client),
    lastOf: () => undefined,
    lastOfAddress: () => undefined,
    state: () => 'memory',
    address,
  }
  const limiter = createRateLimiter(counters as never, contract) // no address is counted
  const request = { client, log: { warn() {} } } as never // no other properties are read
  const set: Record<string, string> = {}
  const reply = {} as never // only its headers are used
  beginHeaders(reply, set)
  t.equal(limiter.count(request, reply, 1), undefined)
  t.equal(set['x-ratelimit-remaining'], '0')
  await t.rejects(Promise.resolve(limiter.count(request, reply, 1)), { code: 'rate_limit_exceeded' })
})
