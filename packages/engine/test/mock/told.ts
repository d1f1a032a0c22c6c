// If a client prefers an error, its body states the status that it is sent with.

import t from 'tap'
import { statusTold, withFacts } from '../../src/mock/told.js'
import { mocked } from '../fixtures/mocked.js'

const codes = { invalid: 400, lost: 404, method_not_allowed: 405, taken: 409, stale: 409, down: 503 }
const own = ['invalid_request', 'invalid_json', 'malformed_request', 'route_not_found', 'body_too_large']
const others = [
  'request_too_complex',
  'uri_too_long',
  'unsupported_media_type',
  'internal_error',
  'not_implemented',
]
const ownStatuses = [400, 400, 400, 404, 413, 413, 414, 415, 500, 501]
const statuses = {
  ...codes,
  ...Object.fromEntries([...own, ...others].map((code, i) => [code, ownStatuses[i]])),
}
const ErrorCode = { type: 'string', enum: Object.keys(statuses), 'x-enumStatuses': statuses }
const Body = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: {
    code: { $ref: '#/components/schemas/ErrorCode' },
    message: { type: 'string' },
    status: { type: 'integer' },
  },
}
const wrongMethod = { code: 'method_not_allowed', message: 'GET is not allowed.', status: 405 }
const error = (schema: object, more: object = {}) => ({
  description: 'An error.',
  content: { 'application/json': { schema, ...more } },
})
const ok = { 200: { description: 'It.' } }
const text = { type: 'string' }
const problem = {
  description: 'An error.',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        required: ['type', 'title', 'status'],
        properties: {
          type: { ...text, format: 'uri' },
          title: text,
          status: { type: 'integer' },
          detail: text,
        },
      },
    },
  },
}

const document = {
  paths: {
    '/default': {
      get: { operationId: 'a', responses: { ...ok, default: error(Body, { example: wrongMethod }) } },
    },
    '/range': { get: { operationId: 'b', responses: { ...ok, '4XX': error(Body), '5XX': error(Body) } } },
    '/named': {
      get: {
        operationId: 'c',
        responses: {
          ...ok,
          '4XX': error(Body, {
            examples: {
              lost: { value: { code: 'lost', message: 'Lost.', status: 404 } },
              method: { value: wrongMethod },
            },
          }),
          default: error(Body, {
            examples: { down: { value: { code: 'down', message: 'Down.', status: 503 } } },
          }),
        },
      },
    },
    '/problem': { get: { operationId: 'd', responses: { ...ok, default: problem } } },
    '/number': {
      get: {
        operationId: 'e',
        responses: {
          ...ok,
          default: error({
            properties: { error: { required: ['code'], properties: { code: { type: 'integer' } } } },
          }),
        },
      },
    },
    '/exact': {
      get: {
        operationId: 'f',
        responses: { ...ok, 404: error(Body, { example: wrongMethod }), default: error(Body) },
      },
    },
  },
  components: { schemas: { Error: Body, ErrorCode } },
}

const cases: readonly (readonly [
  url: string,
  prefer: string,
  status: number,
  body: object,
  applied?: string,
])[] = [
  ['/default', 'code=409', 409, { code: 'taken', message: 'Conflict', status: 409 }],
  ['/default', 'code=405', 405, wrongMethod],
  ['/default', 'code=503', 503, { code: 'down', status: 503 }],
  ['/default', 'code=418', 418, { status: 418 }],
  ['/range', 'code=404', 404, { code: 'lost', status: 404 }],
  ['/range', 'code=503', 503, { code: 'down', status: 503 }],
  ['/named', 'code=404', 404, { message: 'Lost.', status: 404 }],
  ['/named', 'code=405', 405, wrongMethod],
  ['/named', 'code=409', 409, { code: 'taken', status: 409 }],
  ['/named', 'example=lost', 404, { message: 'Lost.' }, 'example=lost'],
  ['/named', 'example=down', 503, { message: 'Down.' }, 'example=down'],
  ['/named', 'code=409, example=lost', 409, { code: 'taken', status: 409 }, 'code=409'],
  ['/named', 'code=404, example=lost', 404, { message: 'Lost.' }, 'code=404, example=lost'],
  ['/problem', 'code=409', 409, { type: /^https:/, title: 'Conflict', status: 409, detail: 'Conflict' }],
  ['/number', 'code=409', 409, { error: { code: 409 } }],
  ['/exact', 'code=404', 404, wrongMethod], // as its author wrote it
]

t.test('an error is of the status that is preferred', async (t) => {
  const app = await mocked(t, document)
  for (const [url, prefer, status, body, applied = prefer] of cases) {
    const response = await app.inject({ url, headers: { prefer } })
    t.equal(response.statusCode, status, `${url} ${prefer}`)
    t.match(response.json(), body)
    t.equal(response.headers['preference-applied'], applied)
  }
})

t.test('a status is told by a field, or else by a code', async (t) => {
  const known = new Map(Object.entries(codes))
  const told: readonly (readonly [body: unknown, status: number | undefined])[] = [
    [{ status: 404 }, 404],
    [{ status: '404' }, 404],
    [{ error: { code: 'lost' } }, 404],
    [{ code: 404 }, 404],
    [{ code: 'lost', status: 410 }, 410],
    [{ code: 'other', status: 7 }, undefined],
    ['lost', undefined],
    [null, undefined],
  ]
  for (const [body, status] of told) t.equal(statusTold(body, known), status, JSON.stringify(body))
})

t.test('facts are written as the fields have them', async (t) => {
  const facts = { status: 409, code: 'taken', message: 'Conflict' }
  t.strictSame(
    withFacts(
      { status: '500', httpStatus: 500, code: 'x', error: { message: 'y', at: [1] }, detail: null },
      facts,
    ),
    { status: '409', httpStatus: 409, code: 'taken', error: { message: 'Conflict', at: [1] }, detail: null },
  )
})
