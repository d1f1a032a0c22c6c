// Callers by name and password; a function of the team verifies them.

import t from 'tap'
import { basic, type VerifyPassword } from '../../src/auth/basic.js'
import { LoadShedder, overload } from '../../src/middleware/load-shedding.js'
import { contractOfPartner, createCheck, demand } from '../fixtures/checks.js'

const contract = await contractOfPartner()
const create = (verify: VerifyPassword) => createCheck(basic(verify))
const sent = { username: 'ann', password: 'a:b' }
const quotas = { perMinute: 60, perDay: 1000 }
const caller = { scheme: 'partner', subject: 'ann', plan: 'free', quotas, expiresAt: undefined, claims: {} }

t.test('who sends a valid name and password is a caller', async (t) => {
  const verified: string[][] = []
  const check = create((...all) => {
    verified.push(all)
    return {}
  })
  t.strictSame(await check.caller(sent, demand), { ...caller, scopes: new Set() })
  t.strictSame(await check.caller({ username: 'ann', password: '' }, demand), {
    ...caller,
    scopes: new Set(),
  })
  const each = [
    ['ann', 'a:b'],
    ['ann', ''],
  ]
  t.strictSame(verified, each, 'each request is verified')
})

t.test('the function says who it is, what it may do, and its plan', async (t) => {
  const claims = { tier: 'pro', team: 7 }
  const { caller } = create(async () => ({ subject: '7', scopes: ['toys:read'], claims }))
  const scopes = new Set(['toys:read'])
  t.match(await caller(sent, demand), { subject: '7', scopes, plan: 'pro', claims })
})

t.test('what it may do are words, also in one text', async (t) => {
  const { caller } = create(() => ({ scopes: 'toys:read toys:write' }))
  t.strictSame((await caller(sent, demand))?.scopes, new Set(['toys:read', 'toys:write']))
})

t.test('who sends another password is none', async (t) => {
  t.equal(await create(() => undefined).caller(sent, demand), undefined)
  t.equal(await create(async () => undefined).caller(sent, demand), undefined)
})

t.test('what the function throws is no 401', async (t) => {
  const error = new Error('the directory is unavailable')
  const check = create(() => {
    throw error
  })
  await t.rejects(async () => check.caller(sent, demand), error)
})

t.test('a function that hangs takes no slot of keys', async (t) => {
  const loadShedder = new LoadShedder(1)
  const verify = () => new Promise<undefined>(() => {})
  const check = createCheck(basic(verify), {}, contract, loadShedder)
  void check.caller(sent, demand)
  await t.rejects(async () => check.caller(sent, demand), overload)
  loadShedder.check('unknown keys')
  loadShedder.check('work')
})

t.test('without a plan for its callers the service does not start', async (t) => {
  const contract = await contractOfPartner({ schemes: {} })
  t.throws(
    () =>
      createCheck(
        basic(() => ({})),
        {},
        contract,
      ),
    { name: 'ContractError' },
  )
})
