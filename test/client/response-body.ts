import t from 'tap'
import { readResponseBody } from '../../src/client/response-body.js'
import type { CalledOperation } from '../../src/client/table.js'

const operation: CalledOperation = {
  id: 'x',
  schemas: {},
  method: 'GET',
  path: '/x',
  contents: {
    200: { 'application/json': 'json', 'text/csv': 'text', 'image/*': 'bytes' },
    204: {},
    '2xx': { 'text/plain': 'text' },
  },
  int64: { 200: 'int64' },
}

function read(status: number, type: string | undefined, body: string): unknown {
  const response = new Response(null, { status, ...(type && { headers: { 'Content-Type': type } }) })
  return readResponseBody(operation, response, new TextEncoder().encode(body).buffer as ArrayBuffer)
}

t.test('a body is decoded as its declared media type', async (t) => {
  t.equal(read(200, 'application/json; charset=utf-8', '1'), 1n)
  t.equal(read(200, 'text/csv;charset=utf-8', '1'), '1')
  t.strictSame(read(200, 'Image/PNG', 'png'), new TextEncoder().encode('png'))
  t.equal(read(201, 'text/plain', ''), '', 'a status matches its class, and an empty text is a string')
  t.equal(read(204, undefined, ''), undefined)
})

t.test('a body of an undeclared media type is rejected', async (t) => {
  const unexpected = (message: string) => ({ name: 'ApiError', code: 'unexpected_answer', message })
  t.throws(() => read(200, 'text/html', '<p>'), unexpected('The media type text/html is not declared.'))
  t.throws(() => read(201, undefined, 'x'), unexpected('The response has no media type.'))
  t.throws(() => read(200, 'application/json', '<p>'), unexpected('The response is not JSON.'))
})
