// The result of a PATCH is validated as a response; if the client is at fault, the error tells it.

import { anyError, contractWith, startEngine } from 'contract-testing/engine'
import t from 'tap'

const texts = { type: 'object', additionalProperties: { type: 'string' } }
const shop = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer' },
    name: { type: 'string', minLength: 2 },
    kind: { type: 'string' },
    url: { type: 'string' },
    tags: { ...texts, minProperties: 1, maxProperties: 2 },
    place: {
      type: 'object',
      required: ['country'],
      properties: { country: {}, spots: { items: { type: 'integer' } } },
    },
    size: { anyOf: [{ type: 'integer' }, { type: 'object', required: ['width'] }] },
  },
  if: { properties: { kind: { const: 'web' } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's
  then: { required: ['url'] },
  dependentRequired: { tags: ['kind'] },
}
const patch = {
  content: {
    'application/merge-patch+json': { schema: { type: 'object' } },
    'application/json-patch+json': { schema: { type: 'array' } },
  },
}
const responses = {
  200: { description: 'It.', content: { 'application/json': { schema: shop } } },
  default: anyError,
}

t.test('a response that is not valid because of a patch', async (t) => {
  const contract = await contractWith({
    change: { method: 'patch', path: '/shop', requestBody: patch, responses },
    only200: { method: 'patch', path: '/only', requestBody: patch, responses: { 200: responses[200] } },
    add: {
      method: 'post',
      path: '/shop',
      requestBody: { content: { 'application/json': { schema: {} } } },
      responses,
    },
  })
  let body: object = {}
  const respond = async () => ({ status: 200, body })
  const { call, log } = await startEngine(t, contract, { change: respond, only200: respond, add: respond })
  const change = (sent: object, left: object, path = '/shop', type = 'merge-patch') => {
    body = { id: 1, name: 'Ulm', ...left }
    log.length = 0
    return call('PATCH', path, { headers: { 'content-type': `application/${type}+json` }, body: sent })
  }

  const told: [sent: object, left: object, message: string][] = [
    [{ name: 'U' }, { name: 'U' }, 'body.name must have at least 2 characters'],
    [{ place: { country: null } }, { place: {} }, 'body.place.country is required'],
    [{ place: null }, { place: {} }, 'body.place.country is required'],
    [{ place: { spots: [1] } }, { place: { spots: [1] } }, 'body.place.country is required'],
    [
      { place: { spots: ['a'] } },
      { place: { country: 1, spots: ['a'] } },
      'body.place.spots[0] must be an integer',
    ],
    [{ place: 'x' }, { place: 'x' }, 'body.place must be an object'],
    [{ tags: { a: null } }, { kind: 'x', tags: {} }, 'body.tags must have at least 1 field'],
    [
      { tags: { c: '3' } },
      { kind: 'x', tags: { a: '1', b: '2', c: '3' } },
      'body.tags must have at most 2 fields',
    ],
    [{ tags: { a: 1 } }, { kind: 'x', tags: { a: 1 } }, 'body.tags.a must be a string'],
    [
      { tags: { ['__proto__']: 1 } },
      { kind: 'x', tags: JSON.parse('{"__proto__":1}') },
      'body.tags.__proto__ must be a string',
    ],
    [{ none: 1 }, { none: 1 }, 'body.none is not a known field'],
    [{ kind: null }, { tags: { a: '1' } }, 'body.kind is required with tags'],
    [{ kind: 'web' }, { kind: 'web' }, 'body.url is required'],
    [{ size: { width: null } }, { size: {} }, 'body.size.width is required'],
  ]
  for (const [sent, left, message] of told)
    t.test(`is a 400 that names the field: ${message}`, async (t) => {
      for (const path of ['/shop', '/only']) {
        const answer = await change(sent, left, path)
        t.match(answer, { status: 400, body: { code: 'invalid_request' } }, path)
        t.ok(answer.body.message.includes(message), answer.body.message)
      }
    })

  t.test('is a 500 where the patch does not name what is wrong', async (t) => {
    const faults: [sent: object, left: object, type?: string][] = [
      [{}, { name: 'U' }],
      [{}, { kind: 'web' }],
      [{ kind: 'x' }, { name: 'U' }],
      [{ kind: 'x' }, { name: undefined }],
      [{ kind: 'x' }, { none: 1 }],
      [{ tags: { a: '1' } }, { kind: 'x', tags: { b: 1 } }],
      [[{ op: 'remove', path: '/name' }], { name: undefined }, 'json-patch'],
    ]
    for (const [sent, left, type] of faults) {
      t.match(await change(sent, left, '/shop', type), { status: 500 }, JSON.stringify(sent))
      t.match(log, [{ err: { type: 'ResponseError' } }])
    }
    body = { id: 1, name: 'U' }
    t.match(await call('POST', '/shop', { body: { name: 'U' } }), { status: 500 }, 'nor of another method')
  })

  t.test('and one that is valid is sent', async (t) => {
    t.match(await change({ kind: 'x' }, { kind: 'x' }), { status: 200, body: { kind: 'x' } })
  })
})
