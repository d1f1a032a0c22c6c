// The plans of the contract: `x-rate-limits`.

import { Security } from 'contract-engine'
import { compileContract } from 'contract-engine/compile'
import t from 'tap'
import { stringify } from 'yaml'
import type { Client } from '../../src/auth/client.js'
import {
  customPlan,
  fixedPlans,
  loadServiceContract,
  planOfCaller,
  rateCost,
  rateCostMax,
  readServiceContract,
  type ServiceContract,
} from '../../src/auth/plans.js'
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
  const { plans, schemes, ...others } = contract.rateLimits
  t.equal(schemes.size, 0)
  t.equal(contract.hasRateLimits, true)
  t.strictSame({ plans: Object.fromEntries(plans), ...others }, limits)
  t.strictSame(fixedPlans(contract), [{ name: 'free', perMinute: 60, perDay: 1000 }])
  t.equal(customPlan(contract), 'enterprise')
})

t.test('without them nothing is limited, and nothing is said of limits', async (t) => {
  const contract = await read({})
  t.equal(contract.hasRateLimits, false)
  const security = new Security<Client>(contract, {})
  t.match(fixedPlans(contract), [{ name: 'unlimited', perDay: Number.POSITIVE_INFINITY }])
  t.strictSame([...rateLimitAdditions(contract, security), ...planSections(contract)], [])
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
  [
    'an unknown rule',
    { ...limits, burst: 5 },
    'unknown field burst: the fields are plans, schemes, anonymous, ban',
  ],
]
for (const [title, value, problem] of refused) {
  t.test(`${title} is refused with its place`, async (t) => {
    const message = `openapi.yaml:5:1: x-rate-limits: ${problem}`
    await t.rejects(read({ 'x-rate-limits': value }), { name: 'ContractError', message })
  })
}

t.test('a plan that was made without x-rate-limits is refused, and not served without limits', async (t) => {
  const text = stringify({
    ...{ openapi: '3.1.0', info: { title: 'Toys', version: '1' }, paths: {} },
    'x-rate-limits': limits,
  })
  const readText = async () => text
  const plan = await compileContract('openapi.yaml', { readText })
  await t.rejects(loadServiceContract(plan, 'openapi.yaml', { readText }), {
    name: 'ContractError',
    message: /^x-rate-limits: the plan was made without them/,
  })
})

const report = {
  operationId: 'report',
  summary: 'Report.',
  responses: { 204: { description: 'Done.' }, '4XX': { description: 'Refused.' } },
}
const limited = { 'x-rate-limits': limits }
function readReport(fields: object, more: object = limited) {
  const paths = { '/report': { post: { ...report, ...fields } } }
  const document = { openapi: '3.1.0', info: { title: 'Toys', version: '1' }, ...more, paths }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

t.test('an operation has its cost, or counts as one request', async (t) => {
  const costly = await readReport({ 'x-rate-cost': 50 })
  t.equal(rateCost(costly.operations.get('report')), 50)
  t.equal(rateCostMax(costly), 50)
  t.match(planSections(costly)[1]?.rows, [['POST /report', '50']])
  const plain = await readReport({})
  t.equal(rateCost(plain.operations.get('report')), 1)
  t.equal(rateCost(undefined), 1)
  t.equal(rateCostMax(plain), 1)
  t.equal(planSections(plain).length, 1)
})

const secured = { security: [{ key: [] }] }
const withKey = {
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  'x-rate-limits': limits,
}
const refusedCosts: [title: string, cost: unknown, fields: object, more: object, problem: string][] = [
  ...([0, -1, 1.5, '10', null, true] as const).map(
    (cost) =>
      [`${cost}`, cost, secured, withKey, 'must be an integer above 0'] as [
        string,
        unknown,
        object,
        object,
        string,
      ],
  ),
  [
    'above the minute of a plan',
    61,
    secured,
    withKey,
    '61 exceeds the 60 requests per minute of the plan free',
  ],
  [
    'above the day of a plan',
    51,
    secured,
    {
      ...withKey,
      'x-rate-limits': { ...limits, plans: { tiny: { perMinute: 60, perDay: 50 } } },
    },
    '51 exceeds the 50 requests per day of the plan tiny',
  ],
  [
    'above the minute of an address, of a public operation',
    51,
    { security: [{ key: [] }, {}] },
    withKey,
    '51 exceeds the 50 requests per minute of callers without a valid key',
  ],
]
for (const [title, cost, fields, more, problem] of refusedCosts) {
  t.test(`a cost ${title} is refused with its place`, async (t) => {
    const contract = readReport({ ...fields, 'x-rate-cost': cost }, more)
    const message = new RegExp(`^openapi.yaml:\\d+:\\d+: POST /report: x-rate-cost ${problem}$`)
    await t.rejects(contract, { name: 'ContractError', message })
  })
}

t.test('that of an additional operation is refused with its place, too', async (t) => {
  const operation = { ...report, 'x-rate-cost': 0 }
  const paths = { '/report': { additionalOperations: { COPY: operation } } }
  const document = { openapi: '3.2.0', info: { title: 'Toys', version: '1' }, ...limited, paths }
  const text = stringify(document)
  const line = text.split('\n').findIndex((each) => each.includes('COPY:')) + 1
  const message = new RegExp(`^openapi.yaml:${line}:\\d+: COPY /report: x-rate-cost must be`)
  await t.rejects(
    readServiceContract('openapi.yaml', async () => text),
    { name: 'ContractError', message },
  )
})

t.test('a cost that only callers with a key have may exceed what an address has', async (t) => {
  t.equal(rateCostMax(await readReport({ ...secured, 'x-rate-cost': 60 }, withKey)), 60)
})

t.test('a cost without quotas is warned of', async (t) => {
  const { warnings } = await readReport({ 'x-rate-cost': 10 }, {})
  const text = 'POST /report: x-rate-cost has no effect without x-rate-limits'
  t.match(
    warnings.filter((each) => each.text === text),
    [{ at: ['paths', '/report', 'post'] }],
  )
})

t.test('a cost in the wrong place, or misspelt, is refused', async (t) => {
  const read = (document: object) =>
    readServiceContract('openapi.yaml', async () =>
      stringify({
        openapi: '3.1.0',
        info: { title: 'Toys', version: '1' },
        'x-rate-limits': limits,
        ...document,
      }),
    )
  const atTop = read({ 'x-rate-cost': 10, paths: {} })
  await t.rejects(atTop, {
    message: /^openapi.yaml:\d+:1: x-rate-cost belongs in an operation, not at the top/,
  })
  const { operations } = await read({ paths: { '/report': { 'x-rate-cost': 10, post: report } } })
  t.match(operations.get('report')?.unsupported, [
    'POST /report: x-rate-cost belongs in the operation, not in the path item',
  ])
  const misspelt = await readReport({ 'x-rate-costs': 10 })
  t.match(misspelt.operations.get('report')?.unsupported, [
    /x-rate-costs is unknown: did you mean x-rate-cost\?/,
  ])
})

const partner = { type: 'http', scheme: 'bearer' }
const components = { securitySchemes: { partner, staff: { $ref: '#/components/securitySchemes/partner' } } }
const schemes = { partner: { plan: 'free', claim: 'tier' }, staff: { plan: 'pro' } }
const withSchemes = {
  components,
  'x-rate-limits': {
    ...limits,
    plans: { ...limits.plans, pro: { perMinute: 600, perDay: 10_000 } },
    schemes,
  },
}

t.test('callers without a key have the plan of their scheme, or the one that they claim', async (t) => {
  const contract = await read(withSchemes)
  const planOf = (scheme: string, claims: object) => planOfCaller(contract, scheme, { ...claims }).plan
  t.strictSame(Object.fromEntries(contract.rateLimits.schemes), schemes)
  t.strictSame(planOfCaller(contract, 'staff', {}), {
    plan: 'pro',
    quotas: { perMinute: 600, perDay: 10_000 },
  })
  t.equal(planOf('partner', {}), 'free')
  t.equal(planOf('partner', { tier: 'pro' }), 'pro')
  t.equal(planOf('partner', { tier: 'unknown' }), 'free', 'the contract has no such plan')
  t.equal(planOf('partner', { tier: 'enterprise' }), 'free', 'its quotas are set per key')
  t.equal(planOf('staff', { tier: 'free' }), 'pro', 'its entry names no claim')
  const quotas = { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }
  t.strictSame(planOfCaller(await read({}), 'partner', {}), { plan: 'unlimited', quotas })
})

const wrong: [title: string, entry: object, problem: string][] = [
  [
    'of an unknown scheme',
    { guest: { plan: 'free' } },
    'guest: components.securitySchemes has no such scheme',
  ],
  ['of an unknown plan', { partner: { plan: 'gold' } }, 'partner: plan must be one of free, enterprise'],
  ['without a plan', { partner: { claim: 'tier' } }, 'partner: plan must be one of free, enterprise'],
  ['that is text', { partner: 'free' }, 'partner: plan must be one of free, enterprise'],
  [
    'of a plan whose quotas are set per key',
    { partner: { plan: 'enterprise' } },
    'partner: the plan enterprise has no quotas: they are set per key',
  ],
  [
    'of a claim without a name',
    { partner: { plan: 'free', claim: '' } },
    'partner: claim must be the name of a claim',
  ],
  [
    'of an unknown field',
    { partner: { plan: 'free', header: 'X-Tier' } },
    'partner: unknown field header: the fields are plan, claim',
  ],
]
for (const [title, entry, problem] of wrong) {
  t.test(`an entry ${title} is refused with its place`, async (t) => {
    const message = `openapi.yaml:25:5: x-rate-limits: scheme ${problem}`
    const contract = read({ components, 'x-rate-limits': { ...limits, schemes: entry } })
    await t.rejects(contract, { name: 'ContractError', message })
  })
}
