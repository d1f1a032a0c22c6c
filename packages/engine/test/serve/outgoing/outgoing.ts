// Requests that the service sends: webhooks and callbacks.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createOutgoing, type OutgoingRequest } from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import { listen } from 'contract-testing/port'
import t from 'tap'
import type { Signing } from '../../../src/serve/outgoing/signature.js'

const secret = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const signing = { id: 'sale_1', secrets: [secret(1)], at: new Date('2026-11-20T10:00:00.900Z') }

const responses = { 204: { description: 'Taken.' } }
const json = (schema: object) => ({ required: true, content: { 'application/json': { schema } } })
const sale = {
  type: 'object',
  required: ['petId', 'id', 'secret'],
  properties: {
    id: { type: 'string', readOnly: true },
    petId: { type: 'integer', format: 'int64' },
    price: { type: 'number', minimum: 0 },
    secret: { type: 'string', writeOnly: true },
  },
  additionalProperties: false,
}
const header = (name: string, schema: object, required = false) => ({ in: 'header', name, schema, required })

type Make = (request: { headers?: object; body?: unknown }, signing: Signing | 'unsigned') => OutgoingRequest
type Made = Readonly<Record<string, Make>>

async function outgoingOf(webhooks: object, paths: object = {}) {
  const contract = await contractOf({ paths, webhooks, components: { schemas: { Sale: sale } } })
  const { webhooks: made, callbacks } = createOutgoing(contract) as unknown as {
    readonly webhooks: Made
    readonly callbacks: Readonly<
      Record<string, Readonly<Record<string, Make & { urlOf(asked: object): unknown }>>>
    >
  }
  const told = contract.warnings.filter(({ at }) => at[0] === 'webhooks' || at.includes('callbacks'))
  return { webhooks: made, callbacks, warnings: told.map(({ text, at }) => `${at.join(' ')}: ${text}`) }
}

const petSold = {
  parameters: [header('X-Shop', { type: 'integer', minimum: 1 }, true)],
  post: {
    parameters: [header('X-Test', { type: 'boolean' }), header('Webhook-Id', { type: 'string' }, true)],
    requestBody: json({ $ref: '#/components/schemas/Sale' }),
    responses,
  },
}
const body = { id: 'a', petId: 9_007_199_254_740_993n, price: 1.5 }

// Verifies as a receiver does: https://www.standardwebhooks.com, "Verifying signatures".
function isSigned({ headers, body = '' }: OutgoingRequest, key: string): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const mac = createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64'))
    .update(content)
    .digest()
  return String(headers['webhook-signature'])
    .split(' ')
    .some((each) => {
      const [version, signature = ''] = each.split(',')
      const given = Buffer.from(signature, 'base64')
      return version === 'v1' && given.length === mac.length && timingSafeEqual(given, mac)
    })
}

t.test('a webhook is made of its values, and signed', async (t) => {
  const { webhooks, warnings } = await outgoingOf({ petSold })
  t.strictSame(warnings, [])
  const made = webhooks.petSold?.({ headers: { 'X-Shop': 4, 'x-test': true }, body }, signing)
  t.match(made, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-shop': '4',
      'x-test': 'true',
      'webhook-id': 'sale_1',
      'webhook-timestamp': String(Date.parse('2026-11-20T10:00:00Z') / 1000),
    },
    body: '{"id":"a","petId":9007199254740993,"price":1.5}',
  })
  t.ok(made && isSigned(made, secret(1)))
  t.notOk(made && isSigned({ ...made, body: `${made.body} ` }, secret(1)))
  t.notOk(made && isSigned(made, secret(2)))
})

t.test('without a signature it has none of its headers', async (t) => {
  const { webhooks } = await outgoingOf({ petSold })
  const made = webhooks.petSold?.({ headers: { 'X-Shop': 4 }, body }, 'unsigned')
  t.strictSame(Object.keys(made?.headers ?? {}), ['x-shop', 'content-type'])
})

const refused: [title: string, request: { headers?: object; body?: unknown }, problem: RegExp][] = [
  ['no body', { headers: { 'X-Shop': 4 } }, /^the webhook petSold: the body is missing$/],
  ['no header', { body }, /^the webhook petSold: header X-Shop is missing$/],
  [
    'a wrong header',
    { headers: { 'X-Shop': 0 }, body },
    /^the webhook petSold: header X-Shop must be at least 1$/,
  ],
  [
    'a field of another type',
    { headers: { 'X-Shop': 4 }, body: { ...body, price: '1' } },
    /^the webhook petSold: body at "\/price" must be a number$/,
  ],
  [
    'no field that is required, though readOnly',
    { headers: { 'X-Shop': 4 }, body: { petId: 1n } },
    /^the webhook petSold: body at "" must have required property 'id'$/,
  ],
  [
    'a field that is writeOnly',
    { headers: { 'X-Shop': 4 }, body: { ...body, secret: 's' } },
    /^the webhook petSold: body at "\/secret" is writeOnly and must not be returned$/,
  ],
  [
    'an undeclared field',
    { headers: { 'X-Shop': 4 }, body: { ...body, name: 'n' } },
    /^the webhook petSold: body at "" must NOT have additional properties$/,
  ],
]
const inHeader: [title: string, headers: object, problem: string][] = [
  ['CR LF', { 'X-Text': 'a\r\nX-Admin: 1' }, 'header X-Text has characters that HTTP does not allow'],
  ['LF at its end', { 'X-Text': 'a\n' }, 'header X-Text has characters that HTTP does not allow'],
  ['NUL', { 'x-text': 'a\0b' }, 'header x-text has characters that HTTP does not allow'],
  ['DEL', { 'X-Text': '\x7f' }, 'header X-Text has characters that HTTP does not allow'],
  ['what is no byte', { 'X-Text': '€' }, 'header X-Text has characters that HTTP does not allow'],
  ['CR LF in its name', { 'X\r\nX-Admin': '1' }, 'header "X\\r\\nX-Admin" is no name of a header'],
  ['no name', { '': '1' }, 'header "" is no name of a header'],
]
for (const [title, headers, problem] of inHeader) {
  t.test(`a header with ${title} is refused`, async (t) => {
    const { webhooks } = await outgoingOf({
      told: { post: { parameters: [header('X-Text', { type: 'string' })], responses } },
    })
    t.throws(() => webhooks.told?.({ headers }, 'unsigned'), { message: `the webhook told: ${problem}` })
    t.match(webhooks.told?.({ headers: { 'X-Text': 'a\t\xe9' } }, 'unsigned'), {
      headers: { 'x-text': 'a\t\xe9' },
    })
  })
}

for (const [title, request, message] of refused) {
  t.test(`a request with ${title} is refused with its place`, async (t) => {
    const { webhooks } = await outgoingOf({ petSold })
    t.throws(() => webhooks.petSold?.(request, signing), { message })
  })
}

t.test('a body that is not declared is refused, and one that may be absent is not sent', async (t) => {
  const optional = { content: { 'application/json': {} } }
  const { webhooks } = await outgoingOf({
    ping: { get: { responses } },
    told: { put: { requestBody: optional, responses } },
  })
  t.strictSame(webhooks.ping?.({}, 'unsigned'), { method: 'GET', headers: {} })
  t.throws(() => webhooks.ping?.({ body: 1 }, 'unsigned'), {
    message: 'the webhook ping: no body is declared',
  })
  t.strictSame(webhooks.told?.({}, 'unsigned'), { method: 'PUT', headers: {} })
  const signed = webhooks.told?.({}, signing)
  t.ok(signed && isSigned(signed, secret(1)), 'nothing is signed, too')
})

t.test('a request has the name of its webhook, or of several in one the operationId', async (t) => {
  const { webhooks, warnings } = await outgoingOf({
    'pet.was sold': { post: { operationId: 'other', responses } },
    changed: { $ref: '#/webhooks/pet.was%20sold' },
    both: { put: { operationId: 'both put', responses }, delete: { responses } },
    PetWasSold: { post: { responses } },
    petWasSold: { post: { responses } },
  })
  t.strictSame(Object.keys(webhooks), ['petWasSold', 'changed', 'bothPut', 'PetWasSold'])
  t.strictSame(warnings, [
    'webhooks both delete: the webhook both cannot be sent: it is one of several requests: give it an operationId',
    'webhooks petWasSold post: the webhook petWasSold cannot be sent: it has the same name as another: petWasSold',
  ])
})

const unsendable: [title: string, webhook: object, problem: string][] = [
  [
    'a form',
    { requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } } } },
    'has a body that is not JSON',
  ],
  [
    'XML',
    { requestBody: { content: { 'application/xml': { schema: { type: 'object' } } } } },
    'has a body that is not JSON',
  ],
  [
    'a query parameter',
    { parameters: [{ in: 'query', name: 'a', schema: {} }] },
    'has the query parameter a: only header parameters can be sent',
  ],
  [
    'a list in a header',
    { parameters: [header('A', { type: 'array', items: { type: 'string' } })] },
    'has the header A, which is an array, an object or JSON',
  ],
]
for (const [title, webhook, problem] of unsendable) {
  t.test(`a webhook with ${title} cannot be sent, which its place is told for`, async (t) => {
    const { webhooks, warnings } = await outgoingOf({ told: { post: { responses, ...webhook } } })
    t.strictSame(Object.keys(webhooks), [])
    t.ok(
      warnings.includes(`webhooks told post: the webhook told cannot be sent: it ${problem}`),
      warnings.join(),
    )
  })
}

t.test('JSON is sent of several media types', async (t) => {
  const content = { 'application/xml': { schema: { type: 'object' } }, 'application/cloudevents+json': {} }
  const { webhooks } = await outgoingOf({ told: { post: { requestBody: { content }, responses } } })
  const made = webhooks.told?.({ body: 1 }, 'unsigned')
  t.match(made, { headers: { 'content-type': 'application/cloudevents+json' }, body: '1' })
})

t.test('a schema that cannot be compiled is named before anything is sent', async (t) => {
  const schema = { type: 'string', pattern: '(?i)a' }
  await t.rejects(outgoingOf({ told: { post: { requestBody: json(schema), responses } } }), /\(\?i\)a/)
})

t.test('x-webhooks of OpenAPI 3.0 is told to have no effect', async (t) => {
  const contract = await contractOf({ paths: {}, 'x-webhooks': { told: { post: { responses } } } })
  t.equal(contract.webhooks.size, 0)
  t.match(contract.warnings, [{ text: /^x-webhooks has no effect/, at: ['x-webhooks'] }])
})

function callback(url: string, more: object = {}) {
  const request = { requestBody: json({ $ref: '#/components/schemas/Sale' }), responses }
  const callbacks = { told: { [url]: { post: request }, ...more } }
  return { '/a/{id}': { post: { operationId: 'ask', parameters: [pathId], responses, callbacks } } }
}
const pathId = { in: 'path', name: 'id', required: true, schema: { type: 'string' } }

const asked = {
  params: { id: 'a/b?c' },
  query: { to: 'https://example.org/q' },
  headers: { 'x-to': 'http://example.org/h' },
  body: {
    urls: ['https://example.org/b', 'file:///etc/passwd', 7, 'mailto:a@b.c'],
    'a/b': 'https://example.org/~',
    odd: ['https://example.org/\r\nb', 'ht\ntps://example.org', ' https://example.org/', 'a\r\nb', '\ud800'],
    dots: ['..', '.', '...', '%2e'],
    up: 'https://example.org/a/../b',
  },
}
const urls: [key: string, url: string | undefined][] = [
  ['{$request.body#/urls/0}', 'https://example.org/b'],
  ['$request.body#/urls/0', 'https://example.org/b'],
  ['{$request.body#/a~1b}', 'https://example.org/~'],
  ['{$request.query.to}/data', 'https://example.org/q/data'],
  ['{$request.header.X-To}', 'http://example.org/h'],
  ['https://example.org/{$request.path.id}?n={$request.body#/urls/2}', 'https://example.org/a%2Fb%3Fc?n=7'],
  ['https://{$request.path.id}.example.org/', undefined],
  ['https://example.org/fixed', 'https://example.org/fixed'],
  ['{$request.body#/urls/1}', undefined],
  ['{$request.body#/urls/3}', undefined],
  ['{$request.body#/urls/2}', undefined],
  ['{$request.body#/none}', undefined],
  ['{$request.body#/odd/0}', undefined],
  ['{$request.body#/odd/1}', undefined],
  ['{$request.body#/odd/2}', undefined],
  ['https://example.org/?a={$request.body#/odd/3}', 'https://example.org/?a=a%0D%0Ab'],
  ['https://example.org/?a={$request.body#/odd/4}', undefined],
  ['https://example.org/a/{$request.body#/dots/0}/b', undefined],
  ['https://example.org/a/{$request.body#/dots/1}', undefined],
  ['{$request.query.to}/{$request.body#/dots/0}?a', undefined],
  ['https://example.org/.{$request.body#/dots/1}/b', undefined],
  ['https://example.org/a/{$request.body#/dots/2}/b', 'https://example.org/a/.../b'],
  ['https://example.org/a/{$request.body#/dots/3}/b', 'https://example.org/a/%252e/b'],
  ['https://example.org/v{$request.body#/dots/1}?n={$request.body#/dots/0}', 'https://example.org/v.?n=..'],
  ['{$request.body#/up}/{$request.path.id}', 'https://example.org/b/a%2Fb%3Fc'],
  ['{$request.body#/urls/length}', undefined],
  ['{$request.body}', undefined],
  ['{$request.query.constructor}', undefined],
]
for (const [key, url] of urls) {
  t.test(`the URL of a callback ${key} is ${url ?? 'none'}`, async (t) => {
    const { callbacks } = await outgoingOf({}, callback(key))
    const found = callbacks.ask?.told?.urlOf(asked)
    t.equal(found === undefined ? found : String(found), url)
  })
}

for (const key of [
  '{$response.body#/url}',
  '{$url}',
  '{$request.cookie.a}',
  '{request}',
  '{$request.body#/a',
  '$method',
]) {
  t.test(`a callback at ${key} cannot be sent, which its place is told for`, async (t) => {
    const { callbacks, warnings } = await outgoingOf({}, callback(key))
    t.strictSame(Object.keys(callbacks), [])
    const text = `the callback told of ask cannot be sent: it has a URL that is not made of its request alone: ${key}`
    t.match(warnings, [`paths /a/{id} post callbacks told ${key} post: ${text}`])
  })
}

t.test('a callback is made as a webhook is, and several of one by their operationIds', async (t) => {
  const other = { '{$request.query.to}': { put: { operationId: 'toldAgain', responses } }, 'x-note': 'none' }
  const { callbacks, warnings } = await outgoingOf({}, callback('{$request.body#/url}', other))
  t.strictSame(Object.keys(callbacks.ask ?? {}), ['toldAgain'])
  t.match(warnings, [/is one of several requests: give it an operationId$/])
  t.match(callbacks.ask?.toldAgain?.({}, 'unsigned'), { method: 'PUT' })
})

t.test('a receiver gets what was signed, byte for byte', async (t) => {
  const received: OutgoingRequest[] = []
  const origin = await listen(t, async (request, response) => {
    const chunks: Buffer[] = await request.toArray()
    const headers = request.headers as Record<string, string>
    received.push({ method: String(request.method), headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(204).end()
  })
  const { webhooks } = await outgoingOf({ petSold })
  const rotated = { id: 'sale_2', secrets: [secret(1), secret(2)] }
  const request = webhooks.petSold?.({ headers: { 'X-Shop': 1 }, body: { ...body, id: 'ü "€" 🐕' } }, rotated)
  const { status } = await fetch(origin, request)
  t.equal(status, 204)
  const [got] = received
  t.match(got, { method: 'POST', headers: { 'x-shop': '1', 'content-type': 'application/json' } })
  for (const each of rotated.secrets) t.ok(got && isSigned(got, each))
  t.notOk(got && isSigned(got, secret(3)))
  t.ok(Math.abs(Number(got?.headers['webhook-timestamp']) - Date.now() / 1000) < 60)
})
