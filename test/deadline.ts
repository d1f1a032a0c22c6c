import t from 'tap'
import { holdInserts, holdKeys } from './fixtures/locks.js'
import { contract, startService } from './fixtures/service.js'

const pet = { name: 'Rex', categoryId: 1 }

t.test('an answer that takes longer than HANDLER_TIMEOUT_MS is a 503, and comes in time', async (t) => {
  const service = await startService(t, { env: { HANDLER_TIMEOUT_MS: '200' } })
  const held = await holdInserts(service.sql)
  const begin = performance.now()
  const answers = await Promise.all([1, 2, 3].map(() => service.call('POST', '/pets', { body: pet })))
  t.ok(performance.now() - begin >= 200)
  for (const answer of answers) {
    t.match(answer, { status: 503, body: { code: 'unavailable', status: 503 } })
    t.equal(answer.headers.get('retry-after'), '1')
    t.ok(answer.headers.has('x-ratelimit-remaining'))
    t.ok(answer.headers.has('x-request-id'))
  }
  t.match(await service.call('GET', '/pets'), { status: 200 }, 'others do not wait with it')
  await held.release()
  t.match(await service.call('POST', '/pets', { body: pet }), { status: 201 }, 'and it recovers')

  const failed = service.log.filter(({ msg }) => msg === 'request failed')
  t.match(failed, Array(3).fill({ level: 50, err: { message: 'no answer within 200 ms' } }))
  const lines = service.log.filter(({ msg, status }) => msg === 'request' && status === 503)
  t.equal(lines.length, 3, 'each is told once, though its handler ended later')
})

t.test('a caller whose key is still being looked up then is told as an address', async (t) => {
  const service = await startService(t, { env: { HANDLER_TIMEOUT_MS: '200' } })
  const held = await holdKeys(service.sql)
  const calls = [service.call('GET', '/pets'), service.call('POST', '/pets', { body: pet })]
  for (const answer of await Promise.all(calls)) {
    t.match(answer, { status: 503, body: { code: 'unavailable', status: 503 } })
    t.equal(answer.headers.get('retry-after'), '1')
    t.equal(answer.headers.get('x-ratelimit-limit'), String(contract.rateLimits.anonymous.perMinute))
    t.equal(answer.headers.get('x-ratelimit-remaining'), answer.headers.get('x-ratelimit-limit'), 'uncharged')
  }
  await held.release()
  t.match(await service.call('GET', '/pets'), { status: 200, text: '[]' })
})
