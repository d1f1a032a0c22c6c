import { mock } from 'node:test'
import { stopClocks } from 'contract-testing/clocks'
import { anyError, contractWith, done, startEngine } from 'contract-testing/engine'
import t from 'tap'
import type { Deprecation, Operation } from '../../../src/document/contract.js'
import { deprecationHeaders } from '../../../src/serve/response/deprecation.js'

const dated = { deprecated: true, 'x-deprecated-at': '2026-11-20' }
const contract = await contractWith({ old: { ...dated, responses: done }, listToys: { responses: done } })
const [old, listToys] = [...contract.operations.values()] as [Operation, Operation] // the two above
const deprecatedAt = new Date('2026-11-20T00:00:00Z')
const dates = { deprecatedAt, sunset: undefined, afterSunset: 'serve', successor: undefined } as const

const address = { operationsFor: (url: string) => url }

t.test('an operation that is not deprecated has no such headers', async (t) => {
  t.equal(deprecationHeaders(listToys, contract, address), undefined)
})

const Link = '<https://a.example/v1/listToys>; rel="successor-version"'
const cases: [title: string, deprecation: Deprecation | undefined, headers: Record<string, string>][] = [
  ['as the contract dates it', old.deprecation, { Deprecation: '@1795132800' }],
  ['before 1970', { ...dates, deprecatedAt: new Date('1969-12-31T00:00:00Z') }, { Deprecation: '@-86400' }],
  [
    'with a sunset',
    { ...dates, sunset: new Date('2030-01-02T00:00:00Z') },
    { Deprecation: '@1795132800', Sunset: 'Wed, 02 Jan 2030 00:00:00 GMT' },
  ],
  [
    'with both',
    { ...dates, sunset: new Date('2030-12-05T00:00:00Z'), successor: 'listToys' },
    { Deprecation: '@1795132800', Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT', Link },
  ],
  ['with a successor', { ...dates, successor: 'listToys' }, { Deprecation: '@1795132800', Link }],
]

for (const [title, deprecation, headers] of cases) {
  t.test(`a deprecation ${title} has only those headers`, async (t) => {
    const headersFor = deprecationHeaders({ ...old, deprecation }, contract, address)
    t.strictSame(headersFor?.('https://a.example/v1'), headers)
  })
}

function ending(afterSunset: string, sunset: string) {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } }
  const getToy = {
    ...dated,
    method: 'get',
    path: '/toys/{id}',
    'x-sunset': sunset,
    'x-after-sunset': afterSunset,
    'x-successor': 'listToys',
    parameters: [id],
    responses: { ...done, 410: anyError },
  }
  return contractWith({ getToy, listToys: { method: 'get', path: '/toys', responses: done } })
}

for (const [afterSunset, status] of [
  ['serve', 204],
  ['gone', 410],
] as const) {
  t.test(
    `after its sunset an operation with x-after-sunset: ${afterSunset} responds ${status}`,
    async (t) => {
      const clocks = stopClocks(t)
      const sunset = new Date(clocks.now() + 86_400_000).toISOString().slice(0, 10)
      const contract = await ending(afterSunset, sunset)
      const respond = async () => ({ status: 204 })
      const { call, origin } = await startEngine(t, contract, { getToy: respond, listToys: respond })
      clocks.advance(Date.parse(sunset) - clocks.now() - 1)
      t.match(await call('GET', '/toys/1'), { status: 204 })
      clocks.advance(1)
      const response = await call('GET', '/toys/1')
      t.equal(response.status, status)
      t.equal(response.headers.get('sunset'), new Date(sunset).toUTCString())
      t.equal(response.headers.get('link'), `<${origin}/toys>; rel="successor-version"`)
      t.equal((await call('HEAD', '/toys/1')).status, status)
      t.equal((await call('GET', '/toys/x')).status, status === 410 ? 410 : 400)
      t.equal((await call('GET', '/toys')).status, 204)
      const body = { code: 'operation_gone', message: `getToy ended on ${sunset}.`, status }
      if (status === 410) t.strictSame(response.body, body)
    },
  )
}

t.test('the log warns of a sunset at the start and every day, from 90 days before', async (t) => {
  const sunset = Date.parse('2030-12-05')
  const dayMs = 86_400_000
  t.teardown(() => mock.timers.reset())
  for (const [afterSunset, ended] of [
    ['serve', 'getToy is past its sunset, 2030-12-05: remove it from the contract, or move the date'],
    ['gone', 'getToy responds 410 since its sunset, 2030-12-05: remove it from the contract'],
  ] as const) {
    const contract = await ending(afterSunset, '2030-12-05')
    mock.timers.enable({ apis: ['setInterval', 'Date'], now: sunset - 91.5 * dayMs })
    const { app, log } = await startEngine(t, contract, {})
    for (let day = 0; day < 93; day++) mock.timers.tick(dayMs)
    await app.close()
    mock.timers.tick(dayMs)
    mock.timers.reset()
    const lines = log.map(({ msg }) => msg)
    t.equal(lines.length, 92)
    t.equal(lines[0], 'getToy is to be removed on 2030-12-05, in 90 days')
    t.strictSame(lines.slice(-3), ['getToy is to be removed on 2030-12-05, in 1 day', ended, ended])
  }
})
