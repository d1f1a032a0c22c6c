// How the service judges the responses of webhooks' and callbacks' receivers.

import { createOutgoing } from 'contract-engine'
import { generateOperations, generateTypes } from 'contract-engine/generate'
import { contractOf } from 'contract-testing/engine'
import { listen } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t from 'tap'

const receipt = {
  type: 'object',
  required: ['number'],
  properties: {
    number: { type: 'integer', format: 'int64' },
    id: { type: 'string', readOnly: true },
    secret: { type: 'string', writeOnly: true },
    again: { type: 'boolean', default: false },
  },
  additionalProperties: false,
}
const responses = {
  200: {
    description: 'Taken.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Receipt' } } },
  },
  201: {
    description: 'Counted.',
    content: { 'application/json': { schema: { type: 'integer', format: 'int64' } } },
  },
  202: { $ref: '#/components/responses/Later' },
  204: { description: 'Taken.' },
  '4XX': {
    description: 'Refused.',
    content: { 'application/problem+json': {}, 'text/plain': { schema: { type: 'string' } }, 'image/*': {} },
  },
  503: { description: 'Busy.', content: { 'text/plain': {}, 'text/html': {} } },
  default: { description: 'Failed.' },
}
const components = {
  schemas: { Receipt: receipt },
  responses: { Later: { description: 'Later.', content: { 'text/plain; charset=utf-8': {} } } },
}

async function contractWith(responsesOfSold: object, more: object = {}) {
  const told = { post: { responses: responsesOfSold } }
  const callbacks = { told: { '{$request.query.to}': told } }
  const ask = { operationId: 'ask', responses: { 204: { description: 'Done.' } }, callbacks }
  return contractOf({
    openapi: '3.1.0',
    paths: { '/a': { post: ask } },
    webhooks: { sold: told },
    components,
    ...more,
  })
}

async function readersOf(declared: object = responses) {
  type Sent = { request: unknown; response: unknown }
  const contract = await contractWith(declared)
  const { webhooks, callbacks } = createOutgoing<{ sold: Sent }, { ask: { told: Sent } }>(contract)
  return { sold: webhooks.sold.readResponse, told: callbacks.ask.told.readResponse }
}

const json = (body: string, status = 200, type = 'application/json') =>
  new Response(body, { status, headers: { 'Content-Type': type } })

const read: [title: string, response: () => Response, expected: object][] = [
  [
    'JSON, with an int64, a default and what is readOnly',
    () => json('{"number":9007199254740993,"id":"a"}'),
    { status: 200, body: { number: 9_007_199_254_740_993n, id: 'a', again: false } },
  ],
  ['a small int64, which is a bigint too', () => json('5', 201), { status: 201, body: 5n }],
  ['a text', () => json('ü', 202, 'text/plain'), { status: 202, body: 'ü' }],
  ['no body', () => new Response(null, { status: 204 }), { status: 204 }],
  [
    'a status of a class, by its media type',
    () => json('{"title":"No"}', 422, 'application/problem+json; charset=UTF-8'),
    { status: 422, body: { title: 'No' } },
  ],
  [
    'what looks like a charset in quotes',
    () => json('5', 201, 'application/json; a="; charset=latin1"'),
    { status: 201, body: 5n },
  ],
  ['another of its media types', () => json('no', 400, 'text/plain'), { status: 400, body: 'no' }],
  ['bytes', () => json('gif', 400, 'image/gif'), { status: 400, body: new Uint8Array(Buffer.from('gif')) }],
  [
    'any other status, and no body that is not declared',
    () => json('<p>', 502, 'text/html'),
    { status: 502 },
  ],
]
for (const [title, response, expected] of read) {
  t.test(`a receiver may respond with ${title}`, async (t) => {
    const { sold, told } = await readersOf()
    t.strictSame(await sold(response()), expected)
    t.strictSame(await told(response()), expected)
  })
}

const { default: _, ...withoutDefault } = responses
const refused: [title: string, response: () => Response, problem: string | RegExp][] = [
  ['a status that is not declared', () => json('{}', 500), 'the status is not declared'],
  ['another media type', () => json('{}', 200, 'text/html'), 'Content-Type text/html is not declared'],
  [
    'another charset',
    () => json('{"number":1}', 200, 'application/json; charset=latin1'),
    'Content-Type application/json; charset=latin1 is not declared',
  ],
  [
    'two charsets',
    () => json('{"number":1}', 200, 'application/json; charset=utf-8; charset=latin1'),
    'Content-Type application/json; charset=utf-8; charset=latin1 is not declared',
  ],
  [
    'no media type among several',
    () => new Response(Buffer.from('no'), { status: 503 }),
    'Content-Type is missing',
  ],
  ['no body', () => json(''), 'the body is missing'],
  ['broken JSON', () => json('{"number":'), /the response 200: The body is not valid JSON: /],
  [
    'a number that would be rounded',
    () => json('{"number":0.12345678901234567890}'),
    /a double cannot represent exactly/,
  ],
  ['a field of another type', () => json('{"number":"1"}'), 'body at "/number" must be an integer'],
  ['a required field missing', () => json('{}'), `body at "" must have required property 'number'`],
  ['an undeclared field', () => json('{"number":1,"x":1}'), 'body at "" must NOT have additional properties'],
  [
    'what is writeOnly',
    () => json('{"number":1,"secret":"s"}'),
    'body at "/secret" is writeOnly and must not be returned',
  ],
  [
    'text that is not UTF-8',
    () => new Response(Buffer.from([0xff]), { status: 202 }),
    'the body must be UTF-8 without NUL',
  ],
]
for (const [title, response, problem] of refused) {
  t.test(`a response with ${title} is refused with its place`, async (t) => {
    const { sold, told } = await readersOf(withoutDefault)
    const { status } = response()
    const at = (place: string) =>
      typeof problem === 'string' ? `${place}: the response ${status}: ${problem}` : problem
    await t.rejects(sold(response()), { message: at('the webhook sold') })
    await t.rejects(told(response()), { message: at('the callback told of ask') })
  })
}

t.test('a body beyond the limit of the contract is cut off, also one that is not read', async (t) => {
  const contract = await contractWith(responses, {
    'x-limits': { bodyBytes: 1000, urlBytes: 1000, headerBytes: 1000 },
  })
  const { webhooks } = createOutgoing<{ sold: { request: unknown; response: unknown } }>(contract)
  let open = 0
  const origin = await listen(t, (request, response) => {
    open++
    response.once('close', () => open--)
    response.writeHead(request.url === '/declared' ? 202 : 502, { 'Content-Type': 'text/plain' })
    const write = () => {
      while (!response.destroyed && response.write('a'.repeat(100)));
    }
    response.on('drain', write)
    write()
  })
  await t.rejects(webhooks.sold.readResponse(await fetch(`${origin}/declared`)), {
    message: 'the webhook sold: the response 202: The body is longer than 1000 bytes.',
  })
  t.strictSame(await webhooks.sold.readResponse(await fetch(`${origin}/other`)), { status: 502 })
  await until(() => open === 0)
})

t.test('a schema of a response that cannot be compiled is named before anything is sent', async (t) => {
  const content = { 'application/json': { schema: { type: 'string', pattern: '(?i)a' } } }
  await t.rejects(readersOf({ 200: { description: 'Taken.', content } }), /\(\?i\)a/)
})

t.test('without declared responses, none is read', async (t) => {
  const { sold } = await readersOf({})
  await t.rejects(sold(json('{}')), {
    message: 'the webhook sold: the response 200: the status is not declared',
  })
})

t.test('they have types', async (t) => {
  const contract = await contractWith({ ...responses, 102: { description: 'Wait.' }, 'x-note': 'none' })
  const types = generateTypes(contract)
  const text = generateOperations(contract, types)
  const union = `response:
      | { status: 200; body: Readable<Receipt> }
      | { status: 201; body: Readable<webhooks['sold']['post']['responses'][201]['content']['application/json']> }
      | { status: 202; body: string }
      | { status: 204; body?: undefined }
      | { status: 503; body: string }
      | { status: StatusOf<4>; body: Readable<webhooks['sold']['post']['responses']['4XX']['content']['application/problem+json']> | string | Uint8Array }
      | { status: Exclude<StatusOf<2 | 3 | 4 | 5>, 200 | 201 | 202 | 204 | 503 | StatusOf<4>>; body?: undefined }
  }`
  t.match(text, `export type Webhooks = {\n  sold: {\n    request: Record<never, never>\n    ${union}`)
  t.match(text, 'export type StatusOf<Class extends number>')
  t.match(generateOperations(await contractWith({})), /response: never\n/)
})
