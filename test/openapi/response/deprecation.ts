import t from 'tap'
import type { Deprecation, Operation } from '../../../src/openapi/contract/contract.js'
import { deprecationHeaders } from '../../../src/openapi/response/deprecation.js'
import { deprecation } from '../../fixtures/facts.js'
import { contract } from '../../fixtures/service.js'

const getPet = operation('getPet')
const dates = { deprecatedAt: new Date('2026-11-20T00:00:00Z'), sunset: undefined, successor: undefined }

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
      Link: '<../pets>; rel="successor-version"',
    },
  ],
  [
    'with a successor',
    { ...dates, successor: 'createPet' },
    { Deprecation: '@1795132800', Link: '<../pets>; rel="successor-version"' },
  ],
]

for (const [title, deprecated, headers] of cases) {
  t.test(`a deprecation ${title} has only those headers`, async (t) => {
    t.strictSame(deprecationHeaders({ ...getPet, deprecation: deprecated }, contract), headers)
  })
}
