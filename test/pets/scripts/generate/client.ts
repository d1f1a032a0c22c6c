import t from 'tap'
import { clientTable } from '../../../../scripts/generate/client.js'
import type { ClientOperation } from '../../../../src/client/table.js'
import { toContract } from '../../../../src/openapi/tools.js'

const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }

// The operations of the client, by name, of a contract with a POST for each of these.
function operationsOf(...operations: object[]): Readonly<Record<string, ClientOperation>> {
  const paths = Object.fromEntries(operations.map((post, i) => [`/${i}`, { post }]))
  const document = { openapi: '3.1.0', info: { title: 'Post', version: '1.0.0' }, paths }
  return clientTable(toContract({ document, text: '' }).contract).operations
}

// Only the mark means that the server does it once: with the header alone, a retry could take effect twice.
for (const isIdempotent of [true, false]) {
  t.test(
    `the client ${isIdempotent ? 'repeats' : 'does not repeat'} a POST that is ${isIdempotent ? '' : 'not '}x-idempotent`,
    async (t) => {
      const post = { operationId: 'x', parameters: [key], responses: {}, 'x-idempotent': isIdempotent }
      t.equal(operationsOf(post).x?.idempotent === true, isIdempotent)
    },
  )
}

const number = (type: string) => ({ content: { [type]: { schema: { type: 'integer', format: 'int64' } } } })
const int64 = number('application/json')
const json = { 'application/json': 'int64' }
const answers: [title: string, responses: object, numbers: object | undefined][] = [
  ['a class and all others', { '2XX': int64, default: int64 }, { '2xx': json, default: json }],
  ['a status and all others', { '404': int64, default: int64 }, { '404': json, default: json }],
  ['all others', { '200': {}, '404': {}, default: int64 }, { '200': {}, '404': {}, default: json }],
  [
    'a status, and a class with a status that has none',
    { '200': int64, '4XX': int64, '404': {} },
    { '200': json, '404': {}, '4xx': json },
  ],
  ['all others but a status without a body', { '204': {}, default: int64 }, { '204': {}, default: json }],
  ['no response', { '204': {}, default: {} }, undefined],
  [
    'one of several media types',
    {
      '200': { content: { 'application/json': { schema: {} }, ...number('Application/A+JSON;v=1').content } },
    },
    { '200': { 'application/json': null, 'application/a+json': 'int64' } },
  ],
]
for (const [title, responses, numbers] of answers) {
  t.test(`int64 are found in the responses of ${title}`, async (t) => {
    t.strictSame(operationsOf({ operationId: 'x', responses }).x?.numbers, numbers)
  })
}

t.test('the declared errors are known, with their media types where those are not only JSON', async (t) => {
  const text = { content: { 'text/plain': { schema: { type: 'string' } } } }
  const problem = {
    content: { 'application/problem+json': { schema: { type: 'object', required: ['title'] } } },
  }
  const of = (responses: object) => {
    const { errors, contents } = operationsOf({ operationId: 'x', responses }).x ?? {}
    return { errors, contents }
  }
  t.strictSame(of({ 200: problem }), { errors: undefined, contents: undefined })
  t.strictSame(of({ 200: problem, 409: problem, 412: {} }), {
    errors: { 409: { 'application/problem+json': ['title'] }, 412: {} },
    contents: { 412: {} },
  })
  t.strictSame(of({ 204: {}, 409: problem, default: text }), {
    errors: { 409: { 'application/problem+json': ['title'] }, default: { 'text/plain': [] } },
    contents: { 204: {}, 409: { 'application/problem+json': 'json' }, default: { 'text/plain': 'text' } },
  })
})

const named: [title: string, ids: readonly string[], names: readonly string[]][] = [
  [
    'no name that the client has already',
    ['items', 'then', 'constructor', '__proto__'],
    ['__proto__Operation', 'constructorOperation', 'itemsOperation', 'thenOperation'],
  ],
  [
    'the name that its id is, or that its module has',
    ['find-pet', 'then!', 'delete', 'größe', 'find_2'],
    ['delete', 'findPet', 'find_2', 'größe', 'thenOperation'],
  ],
]
for (const [title, ids, names] of named) {
  t.test(`an operation has ${title}`, async (t) => {
    const operations = operationsOf(...ids.map((operationId) => ({ operationId, responses: {} })))
    t.strictSame(Object.keys(operations).sort(), names)
  })
}
