import t from 'tap'
import { clientTable } from '../../../scripts/generate/client.js'
import type { Operation } from '../../../src/contract/types.js'

const key = { name: 'idempotency-key', in: 'header', schema: { type: 'string' } }
const cases: [title: string, item: object, operation: object, isIdempotent: boolean][] = [
  ['declares the header', {}, { parameters: [key] }, true],
  ['declares it by reference', {}, { parameters: [{ $ref: '#/components/parameters/Key' }] }, true],
  ['has it from its path', { parameters: [key] }, {}, true],
  ['has a query parameter of that name', {}, { parameters: [{ ...key, in: 'query' }] }, false],
  ['declares nothing', {}, {}, false],
]

for (const [title, item, operation, isIdempotent] of cases) {
  t.test(`an operation that ${title} is ${isIdempotent ? '' : 'not '}sent an idempotency key`, async (t) => {
    const document = {
      paths: { '/x': { ...item, post: { ...operation, responses: {} } } },
      components: { parameters: { Key: key } },
    }
    const operations = new Map([
      ['x', { id: 'x', method: 'POST', path: '/x', parameters: [] as unknown } as Operation],
    ])
    t.equal(clientTable({ document, operations }).operations.x?.idempotent === true, isIdempotent)
  })
}
