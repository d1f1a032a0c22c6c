import t from 'tap'
import { apiKeys } from '../../src/auth/api-keys.js'
import { checkPlans, toClient } from '../../src/auth/client.js'
import { insertApiKey, revokeApiKey } from '../../src/database/api-keys.js'
import { contract, handlers } from '../fixtures/notes.js'
import { createDatabase, startService } from '../fixtures/service.js'

const quotas = { perMinute: null, perDay: null }
const terms = { name: 'test', ...quotas, scopes: [], expiresAt: null, createdBy: null }
const agreed = { perMinute: 5, perDay: 50 }
const limits = (plans: ReadonlyMap<string, typeof agreed | 'custom'>) => ({
  hasRateLimits: true,
  rateLimits: { ...contract.rateLimits, plans },
})

t.test('keys without quotas in the contract fail the startup', async (t) => {
  const sql = await createDatabase(t)
  const add = (plan: string, i: number, more: object = {}) =>
    insertApiKey(sql, { ...terms, ...more, plan, hash: String(i).padStart(64, '0') })
  await add('free', 1)
  await add('custom', 2, agreed)
  const plans = new Map<string, typeof agreed | 'custom'>([
    ['free', agreed],
    ['custom', 'custom'],
  ])
  await checkPlans(sql, limits(plans))
  const gold = await add('gold', 3)
  await add('gold', 4)
  await add('custom', 5)
  await add('tin', 6, { expiresAt: new Date(0) })
  await t.rejects(checkPlans(sql, limits(plans)), {
    name: 'OperatorError',
    message:
      /^The contract's x-rate-limits give no quotas to keys of the plan custom \(1 key\), gold \(2 keys\)\.\n/,
  })
  await checkPlans(sql, { ...limits(plans), hasRateLimits: false })
  await revokeApiKey(sql, gold, 'ada')
  await t.rejects(checkPlans(sql, limits(plans)), { message: /gold \(1 key\)/ })
})

t.test('without rate limits, a key of any plan is valid', async (t) => {
  const key = { ...terms, id: 7n, plan: 'gold' }
  const { hasRateLimits: _, ...rest } = limits(new Map())
  t.match(toClient(key, 'apiKey', { ...rest, hasRateLimits: false }).quotas, {
    perMinute: Number.POSITIVE_INFINITY,
  })
  t.throws(() => toClient(key, 'apiKey', { ...rest, hasRateLimits: true }), { code: 'unavailable' })
})

t.test('tests start the service with a key that its contract gives few requests, or none', async (t) => {
  for (const plans of [{ basic: { perMinute: 1, perDay: 1 } }, { agreed: 'custom' }] as const) {
    const own = { ...contract.rateLimits, plans: new Map(Object.entries<typeof agreed | 'custom'>(plans)) }
    const { call } = await startService(t, {
      contract: { ...contract, hasRateLimits: true, rateLimits: own },
      handlers,
      schemes: { key: apiKeys() },
    })
    for (const path of ['/nothing', '/nothing']) t.match(await call('GET', path), { status: 404 })
  }
})
