// The plans of the contract: x-rate-limits.

import t from 'tap'
import { stringify } from 'yaml'
import { customPlan, fixedPlans, readServiceContract, type ServiceContract } from '../../src/auth/plans.js'
import { rateLimitAdditions } from '../../src/rate-limit/headers.js'
import { planSections } from '../../src/rate-limit/page-section.js'

const limits = {
  plans: { free: { perMinute: 60, perDay: 1000 }, enterprise: 'custom' },
  anonymous: { perMinute: 50 },
  ban: { rejections: 30, withinSeconds: 60, banSeconds: 300 },
}

function read(more: object): Promise<ServiceContract> {
  const document = { openapi: '3.1.0', info: { title: 'Toys', version: '1' }, ...more, paths: {} }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

t.test('plans are read completely', async (t) => {
  const contract = await read({ 'x-rate-limits': limits })
  const { plans, ...others } = contract.rateLimits
  t.equal(contract.hasRateLimits, true)
  t.strictSame({ plans: Object.fromEntries(plans), ...others }, limits)
  t.strictSame(fixedPlans(contract), [{ name: 'free', perMinute: 60, perDay: 1000 }])
  t.equal(customPlan(contract), 'enterprise')
})

t.test('without them nothing is limited, and nothing is said of limits', async (t) => {
  const contract = await read({})
  t.equal(contract.hasRateLimits, false)
  t.match(fixedPlans(contract), [{ name: 'unlimited', perDay: Number.POSITIVE_INFINITY }])
  t.strictSame([...rateLimitAdditions(contract), ...planSections(contract)], [])
})

t.test('the documentation has a table of them', async (t) => {
  const [section] = planSections(await read({ 'x-rate-limits': limits }))
  t.strictSame(section?.rows, [
    ['free', '60', '1,000'],
    ['enterprise', 'set per key', 'set per key'],
    ['no valid key, per address', '50', ''],
  ])
  t.match(section?.text, 'rejected requests in more than 30 seconds of 60 is banned for 300 seconds.')
})

const refused: [title: string, value: object, problem: string][] = [
  [
    'a plan that is text',
    { ...limits, plans: { free: 'plenty' } },
    'plan free: perMinute and perDay must be integers above 0',
  ],
  [
    'a plan of an unknown field',
    { ...limits, plans: { free: { perMinute: 1, perDay: 1, perWeek: 1 } } },
    'plan free: unknown field perWeek: the fields are perMinute, perDay',
  ],
  ['no plans', { ...limits, plans: null }, 'plans must name at least one plan'],
  [
    'no limit without a key',
    { ...limits, anonymous: null },
    'anonymous: perMinute must be an integer above 0',
  ],
  [
    'a ban that no key can reach',
    { ...limits, ban: { rejections: 60, withinSeconds: 60, banSeconds: 1 } },
    'ban: rejections must be below withinSeconds: one of a second counts',
  ],
  ['an unknown rule', { ...limits, burst: 5 }, 'unknown field burst: the fields are plans, anonymous, ban'],
]
for (const [title, value, problem] of refused) {
  t.test(`${title} is refused with its place`, async (t) => {
    const message = `openapi.yaml:5:1: x-rate-limits: ${problem}`
    await t.rejects(read({ 'x-rate-limits': value }), { name: 'ContractError', message })
  })
}
