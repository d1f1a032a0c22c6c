// Request bodies of every kind, sent by the client and received by a service.

import { clientTable } from 'contract-client/generate'
import { buildClient } from 'contract-client/internal/client'
import t from 'tap'
import { startWithOperations } from '../fixtures/operations.js'

const max = 9223372036854775807n
const int64 = { type: 'integer', format: 'int64' }
const address = { type: 'object', properties: { street: { type: 'string' }, no: int64 } }
const binary = { type: 'string', format: 'binary' }
const fields = {
  name: { type: 'string' },
  id: int64,
  tame: { type: 'boolean' },
  born: { type: ['integer', 'null'] },
  tags: { type: 'array', items: { type: 'string' } },
  address,
}
const object = (properties: object) => ({
  schema: { type: 'object', additionalProperties: false, properties },
})

const contents: Record<string, object> = {
  patch: { 'application/merge-patch+json': { schema: address } },
  text: { 'text/plain': { schema: { type: 'string' } } },
  number: { 'text/plain; charset=utf-8': { schema: int64 } },
  bytes: { 'application/octet-stream': {} },
  image: { 'image/*': {} },
  either: { 'text/csv': { schema: { type: 'string' } }, 'application/json': { schema: address } },
  form: {
    'application/x-www-form-urlencoded': {
      ...object({ ...fields, ids: { type: 'array', items: int64 }, quoted: { type: 'string' } }),
      encoding: {
        address: { contentType: 'application/json' },
        quoted: { contentType: 'application/json' },
        ids: { style: 'pipeDelimited', explode: false },
      },
    },
  },
  parts: {
    'multipart/form-data': {
      ...object({ ...fields, photo: binary, scans: { type: 'array', items: binary } }),
      encoding: { photo: { contentType: 'image/png, image/gif' }, scans: { contentType: 'image/*' } },
    },
  },
}

const pixels = new Uint8Array([0, 13, 10, 255])
const given = { name: 'Réx & = II', id: max, tame: true, born: null, tags: ['a', 'b,c'] }
const gif = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes], { type: 'image/gif' })

const cases: [operation: string, sent: unknown, type: RegExp, taken?: unknown][] = [
  ['patch', { street: 'x', no: max }, /^application\/merge-patch\+json$/],
  ['text', 'Grüß\n', /^text\/plain$/],
  ['number', max, /^text\/plain$/],
  ['bytes', pixels, /^application\/octet-stream$/],
  ['image', gif(pixels), /^image\/gif$/, pixels],
  ['either', { street: 'x' }, /^application\/json$/],
  [
    'form',
    { ...given, ids: [1n, max], address: { street: '&', no: 2n }, quoted: 'a"b', absent: undefined },
    /^application\/x-www-form-urlencoded$/,
    { ...given, ids: [1n, max], address: { street: '&', no: 2n }, quoted: 'a"b' },
  ],
  ['form', { ids: [], tags: [] }, /^application\/x-www-form-urlencoded$/, { ids: [] }],
  [
    'parts',
    {
      ...given,
      address: { street: 'x', no: max },
      photo: pixels,
      scans: [gif(pixels), gif(new Uint8Array())],
    },
    /^multipart\/form-data; boundary=/,
    { ...given, address: { street: 'x', no: max }, photo: pixels, scans: [pixels, new Uint8Array()] },
  ],
]

t.test('a body reaches the handler unchanged', async (t) => {
  const taken: unknown[] = []
  const handler = async ({ body }: { body: unknown }) => {
    taken.push(body)
    return { status: 204 }
  }
  const responses = {
    204: { description: 'Done.' },
    default: { $ref: '#/components/responses/UnexpectedError' },
  }
  const operations = Object.entries(contents).map(([name, content]) => {
    return [name, { operation: { requestBody: { content }, responses }, handler }] as const
  })
  const { base, key, contract } = await startWithOperations(t, Object.fromEntries(operations))
  const types: (string | null)[] = []
  const client = buildClient(clientTable(contract), {
    baseUrl: base,
    key,
    fetch: (request) => {
      types.push(request.headers.get('content-type'))
      return fetch(request)
    },
  })
  for (const [name, sent, type, expected = sent] of cases) {
    await client.operations[name]?.({ body: sent })
    t.match(types.pop(), type, name)
    t.strictSame(plain(taken.pop()), expected, name)
  }
  await client.operations.text?.()
  t.equal(types.pop(), null, 'no body has no media type')
  t.equal(taken.pop(), undefined)
  const refused = async () => client.operations.image?.({ body: pixels })
  await t.rejects(
    refused,
    { code: 'unsupported_media_type' },
    'a Uint8Array does not say which kind of image it is',
  )
})

// Evens out types that strictSame distinguishes: files arrive as buffers, and objects have no prototype.
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}
