import t from 'tap'
import type { Deprecation, Operation } from '../../../src/openapi/contract/contract.js'
import { deprecationHeaders } from '../../../src/openapi/response/deprecation.js'
import { contractWith, done } from '../../fixtures/engine.js'

const dated = { deprecated: true, 'x-deprecated-at': '2026-11-20' }
const contract = {
  ...(await contractWith({ old: { ...dated, responses: done }, listToys: { responses: done } })),
  prefix: '/v2',
}
const [old, listToys] = [...contract.operations.values()] as [Operation, Operation] // the two above
const deprecatedAt = new Date('2026-11-20T00:00:00Z')
const dates = { deprecatedAt, sunset: undefined, successor: undefined }

t.test('an operation that is not deprecated has no such headers', async (t) => {
  t.equal(deprecationHeaders(listToys, contract), undefined)
})

const Link = '</v2/listToys>; rel="successor-version"'
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
    t.strictSame(deprecationHeaders({ ...old, deprecation }, contract), headers)
  })
}
