import type { ApiError } from 'contract-client/internal/error'
import { readError } from 'contract-client/internal/error-response'
import { readResponseBody } from 'contract-client/internal/response-body'
import type { CalledOperation } from 'contract-client/internal/table'
import t from 'tap'

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
  numbers: { 200: { 'application/json': 'int64' } },
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

const refusing: CalledOperation = {
  ...operation,
  errors: { 404: {}, 409: {}, 412: {}, 422: {}, '5xx': {} },
  contents: {
    409: { 'application/json': 'json' },
    412: {},
    422: { 'application/problem+json': 'json' },
    '5xx': { 'text/plain': 'text' },
  },
  numbers: { 409: { 'application/json': { properties: { holder: 'int64' } } } },
}
const standard = { code: 'pet_not_found', message: 'No.' }
const problem = { title: 'Invalid.', detail: 'It is too old.' }
const own = { holder: 9223372036854775807n }

const refusals: [title: string, status: number, type: string, body: string, error: Partial<ApiError>][] = [
  ['the standard body', 404, 'application/json', JSON.stringify(standard), { ...standard, body: standard }],
  [
    'a body of its own',
    409,
    'application/json',
    '{"holder":9223372036854775807}',
    { code: 'http_error', message: 'HTTP status 409.', body: own },
  ],
  [
    'a problem (RFC 9457)',
    422,
    'application/problem+json',
    JSON.stringify(problem),
    { code: 'http_error', message: 'HTTP status 422: It is too old.', body: problem },
  ],
  ['a text', 503, 'text/plain', 'Busy', { code: 'http_error', message: 'HTTP status 503.', body: 'Busy' }],
  ['no body, as declared', 412, '', '', { code: 'http_error', message: 'HTTP status 412.', body: undefined }],
  ['no body', 404, '', '', { code: 'unexpected_answer', message: 'HTTP status 404, without an error body.' }],
  ['the standard body of another type', 500, 'application/json', JSON.stringify(standard), standard],
  ['the standard body, undeclared', 400, 'application/json', JSON.stringify(standard), standard],
  ['a page of a proxy', 500, 'text/html', '<p>', { code: 'unexpected_answer', body: undefined }],
  [
    'JSON, undeclared',
    418,
    'application/json',
    '{"code":"x"}',
    { code: 'unexpected_answer', body: undefined },
  ],
]
for (const [title, status, type, body, expected] of refusals) {
  t.test(`an error response with ${title} is an error with its body`, async (t) => {
    const response = new Response(null, { status, headers: { 'Content-Type': type } })
    const error = readError(refusing, response, new TextEncoder().encode(body).buffer as ArrayBuffer)
    t.match(error, { ...expected, name: 'ApiError', operation: 'x', status })
  })
}
