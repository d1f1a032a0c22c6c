import t from 'tap'
import { clientTable } from '../../../scripts/generate/client.js'
import { moduleName } from '../../../src/contract/names.js'
import type { Operation } from '../../../src/contract/types.js'

const post = {
  id: 'x',
  method: 'POST',
  path: '/x',
  parameters: [],
  responses: new Map(),
} as object as Operation
const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }

// Only the mark means that the server does it once: with the header alone, a retry could take effect twice.
for (const isIdempotent of [true, false]) {
  t.test(
    `the client ${isIdempotent ? 'repeats' : 'does not repeat'} a POST that is ${isIdempotent ? '' : 'not '}x-idempotent`,
    async (t) => {
      const document = { paths: { '/x': { post: { parameters: [key], responses: {} } } } }
      const operations = new Map([['x', { ...post, isIdempotent }]])
      t.equal(clientTable({ document, operations }).operations.x?.idempotent === true, isIdempotent)
    },
  )
}

t.test(
  'int64 are found in the answers of a class, and in the default where no other tells of success',
  async (t) => {
    const answer = { content: { 'application/json': { schema: { type: 'integer', format: 'int64' } } } }
    const operations = new Map([['x', post]])
    const of = (responses: object) => {
      const document = { paths: { '/x': { post: { responses } } } }
      return clientTable({ document, operations }).operations.x?.int64
    }
    t.strictSame(of({ '2XX': answer, default: answer }), { '2xx': 'int64' })
    t.strictSame(of({ '404': answer, default: answer }), { default: 'int64' })
    t.strictSame(of({ '204': {}, default: answer }), undefined)
  },
)

t.test('an operation has no name that the client has already', async (t) => {
  const ids = ['items', 'then', 'constructor', '__proto__']
  const operations = new Map(ids.map((id) => [id, { ...post, id }]))
  const { operations: named } = clientTable({ document: {}, operations })
  t.strictSame(Object.keys(named).sort(), ids.map((id) => `${id}Operation`).sort())
})

t.test('an operation has the name that its id is, or that its module has', async (t) => {
  const ids = ['find-pet', 'then!', 'delete', 'größe', 'find_2']
  const operations = new Map(ids.map((id) => [id, { ...post, id, name: moduleName(id) }]))
  const { operations: named } = clientTable({ document: {}, operations })
  t.strictSame(Object.keys(named).sort(), ['delete', 'findPet', 'find_2', 'größe', 'thenOperation'])
})
