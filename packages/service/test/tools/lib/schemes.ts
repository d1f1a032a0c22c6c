// Tools read the list of checks without running it.

import t from 'tap'
import { stringify } from 'yaml'
import { readServiceContract } from '../../../src/auth/plans.js'
import { listedIn, standIns } from '../../../tools/lib/schemes.js'

const bearer = { type: 'http', scheme: 'bearer' }
const limits = {
  plans: { free: { perMinute: 60, perDay: 1000 } },
  anonymous: { perMinute: 50 },
  ban: { rejections: 30, withinSeconds: 60, banSeconds: 300 },
}

function read(more: object) {
  const document = {
    ...{ openapi: '3.1.0', info: { title: 'Toys', version: '1' }, paths: {} },
    components: { securitySchemes: { key: bearer, partner: bearer, staff: bearer } },
    ...more,
  }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

const list = "{ key: apiKeys(), partner: jwt({ audience: 'toys' }), staff: basic(verify) }"
const listed = listedIn(`export const schemes = ${list} satisfies Schemes`)

t.test('checks of a team are told apart at startup, those of the service by what is written', async (t) => {
  const contract = await read({})
  const areAlike = (first: string, second: string) => {
    const all = listedIn(`export const schemes = { key: ${first}, partner: ${second} }`)
    const { key, partner } = standIns(contract, all)
    return key?.recognizes === partner?.recognizes
  }
  t.equal(areAlike('apiKeys()', 'apiKeys()'), true)
  t.equal(areAlike('jwt()', 'jwt()'), true)
  t.equal(areAlike('jwt()', "jwt({ issuer: 'https://a.example' })"), false)
  t.equal(areAlike('jwt()', 'apiKeys()'), false)
  t.equal(areAlike('tokens()', 'tokens()'), false, 'it gets the name of its scheme')
  t.equal(areAlike("tokens('access')", "tokens('refresh')"), false)
  t.equal(areAlike('basic(one)', 'basic(two)'), true, 'it recognizes none')
})

t.test('a check whose callers would have no plan is refused, as at startup', async (t) => {
  const checked = async (more: object) => Object.keys(standIns(await read(more), listed))
  const refusal = (scheme: string) => {
    const message = `x-rate-limits: callers of the scheme ${scheme} have no plan: add schemes: { ${scheme}: { plan: … } }`
    return { name: 'ContractError', message, problems: [{ text: message, at: ['x-rate-limits'] }] }
  }
  const free = { plan: 'free' }
  await t.rejects(checked({ 'x-rate-limits': limits }), refusal('partner'))
  const schemes = { partner: free }
  await t.rejects(checked({ 'x-rate-limits': { ...limits, schemes } }), refusal('staff'))
  const all = ['key', 'partner', 'staff']
  t.strictSame(
    await checked({ 'x-rate-limits': { ...limits, schemes: { partner: free, staff: free } } }),
    all,
  )
  t.strictSame(await checked({}), all, 'without limits none is needed')
})
