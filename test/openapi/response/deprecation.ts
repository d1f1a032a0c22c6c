import { mock } from 'node:test'
import t from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../../generated/handlers.js'
import { contractFile } from '../../../src/lib/paths.js'
import type { Contract, Deprecation, Operation } from '../../../src/openapi/contract/contract.js'
import { readContract } from '../../../src/openapi/contract/read.js'
import { deprecationHeaders, warnOfSunsets } from '../../../src/openapi/response/deprecation.js'
import { stopClocks } from '../../fixtures/clocks.js'
import { deprecation, prefix } from '../../fixtures/facts.js'
import { contract, send, startService } from '../../fixtures/service.js'

const getPet = operation('getPet')
const dates = {
  deprecatedAt: new Date('2026-11-20T00:00:00Z'),
  sunset: undefined,
  afterSunset: 'serve',
  successor: undefined,
} as const

function operation(id: string): Operation {
  const found = contract.operations.get(id)
  if (found === undefined) throw new Error(`${id} is not in the contract`)
  return found
}

t.test('getPet is deprecated by the dates of the contract', async (t) => {
  const { Deprecation, Sunset = null, Link } = deprecationHeaders(getPet, contract) ?? {}
  t.strictSame({ deprecation: Deprecation, sunset: Sunset, link: Link }, deprecation)
})

t.test('an operation that is not deprecated has no such headers', async (t) => {
  for (const id of ['listPets', 'createPet']) t.equal(deprecationHeaders(operation(id), contract), undefined)
})

const cases: [title: string, deprecated: Deprecation, headers: Record<string, string>][] = [
  ['without sunset and successor', dates, { Deprecation: '@1795132800' }],
  ['before 1970', { ...dates, deprecatedAt: new Date('1969-12-31T00:00:00Z') }, { Deprecation: '@-86400' }],
  [
    'with a sunset',
    { ...dates, sunset: new Date('2030-01-02T00:00:00Z') },
    { Deprecation: '@1795132800', Sunset: 'Wed, 02 Jan 2030 00:00:00 GMT' },
  ],
  [
    'with both',
    { ...dates, sunset: new Date('2030-12-05T00:00:00Z'), successor: 'listPets' },
    {
      Deprecation: '@1795132800',
      Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      Link: `<${prefix}/pets>; rel="successor-version"`,
    },
  ],
  [
    'with a successor',
    { ...dates, successor: 'createPet' },
    { Deprecation: '@1795132800', Link: `<${prefix}/pets>; rel="successor-version"` },
  ],
]

for (const [title, deprecated, headers] of cases) {
  t.test(`a deprecation ${title} has only those headers`, async (t) => {
    t.strictSame(deprecationHeaders({ ...getPet, deprecation: deprecated }, contract), headers)
  })
}

t.test('the link begins with the prefix of the contract', async (t) => {
  const headers = deprecationHeaders(getPet, { ...contract, prefix: '/v2' })
  t.equal(headers?.Link, '</v2/pets>; rel="successor-version"')
})

async function ending(afterSunset: string, sunset: string): Promise<Contract> {
  const document = parseDocument(contract.text)
  const getPet = ['paths', '/pets/{petId}', 'get']
  const all = { 'x-deprecated-at': '2026-11-20', 'x-sunset': sunset, 'x-after-sunset': afterSunset }
  for (const [name, value] of Object.entries(all)) document.setIn([...getPet, name], value)
  return readContract(contractFile, async () => document.toString())
}

for (const [afterSunset, status] of [
  ['serve', 404],
  ['gone', 410],
] as const) {
  t.test(
    `after its sunset an operation with x-after-sunset: ${afterSunset} responds ${status}`,
    async (t) => {
      const clocks = stopClocks(t)
      const sunset = new Date(clocks.now() + 86_400_000).toISOString().slice(0, 10)
      const edited = await ending(afterSunset, sunset)
      const { base, call } = await startService(t, { contract: edited, handlers })
      clocks.advance(Date.parse(sunset) - clocks.now() - 1)
      t.match(await call('GET', '/pets/1'), { status: 404 })
      clocks.advance(1)
      const response = await call('GET', '/pets/1')
      t.equal(response.status, status)
      t.equal(response.headers.get('sunset'), new Date(sunset).toUTCString())
      t.equal((await call('HEAD', '/pets/1')).status, status)
      t.equal((await call('GET', '/pets/x')).status, status === 410 ? 410 : 400)
      t.equal((await send(`${base}/pets/1`)).status, 401)
      t.equal((await call('GET', '/pets')).status, 200)
      if (status !== 410) return
      const body = { code: 'operation_gone', message: `getPet ended on ${sunset}.`, status }
      t.strictSame(response.body, body)
      t.match(response.headers.get('link'), /rel="successor-version"/)
    },
  )
}

t.test('the log warns of a sunset at the start and every day, from 90 days before', async (t) => {
  const sunset = Date.parse('2030-12-05')
  const dayMs = 86_400_000
  t.teardown(() => mock.timers.reset())
  for (const [afterSunset, ended] of [
    ['serve', 'getPet is past its sunset, 2030-12-05: remove it from the contract, or move the date'],
    ['gone', 'getPet responds 410 since its sunset, 2030-12-05: remove it from the contract'],
  ] as const) {
    const lines: unknown[] = []
    const edited = await ending(afterSunset, '2030-12-05')
    mock.timers.enable({ apis: ['setInterval', 'Date'], now: sunset - 91.5 * dayMs })
    const warnings = warnOfSunsets(edited, { warn: (line: unknown) => void lines.push(line) })
    for (let day = 0; day < 93; day++) mock.timers.tick(dayMs)
    warnings.stop()
    mock.timers.tick(dayMs)
    mock.timers.reset()
    t.equal(lines.length, 92)
    t.equal(lines[0], 'getPet is to be removed on 2030-12-05, in 90 days')
    t.strictSame(lines.slice(-3), ['getPet is to be removed on 2030-12-05, in 1 day', ended, ended])
  }
})
