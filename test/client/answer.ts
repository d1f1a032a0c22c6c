import t from 'tap'
import { readAnswer } from '../../src/client/answer.js'
import type { ClientOperation, ClientTable } from '../../src/client/table.js'

const operation: ClientOperation = {
  method: 'GET',
  path: '/x',
  contents: {
    200: { 'application/json': 'json', 'text/csv': 'text', 'image/*': 'bytes' },
    204: {},
    '2xx': { 'text/plain': 'text' },
  },
  int64: { 200: 'int64' },
}
const table: ClientTable = { operations: { x: operation }, schemas: {} }

function read(status: number, type: string | undefined, body: string): unknown {
  const response = new Response(null, { status, ...(type && { headers: { 'Content-Type': type } }) })
  return readAnswer(table, operation, response, new TextEncoder().encode(body).buffer as ArrayBuffer)
}

t.test('a body is read as what its type is declared to be', async (t) => {
  t.equal(read(200, 'application/json; charset=utf-8', '1'), 1n)
  t.equal(read(200, 'text/csv;charset=utf-8', '1'), '1')
  t.strictSame(read(200, 'Image/PNG', 'png'), new TextEncoder().encode('png'))
  t.equal(read(201, 'text/plain', ''), '', 'by the class of its status, and an empty text is one')
  t.equal(read(204, undefined, ''), undefined)
})

t.test('a body of a type that is not declared is refused', async (t) => {
  const unexpected = (type: string) => ({
    name: 'ApiError',
    code: 'unexpected_answer',
    message: `The answer is of type ${type}.`,
  })
  t.throws(() => read(200, 'text/html', '<p>'), unexpected('text/html'))
  t.throws(() => read(201, undefined, 'x'), unexpected('none'))
  t.throws(() => read(200, 'application/json', '<p>'), {
    code: 'unexpected_answer',
    message: 'The answer is not JSON.',
  })
})
