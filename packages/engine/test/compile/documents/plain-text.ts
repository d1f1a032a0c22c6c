// `/llms.txt`: the page in plain text.

import { contractWith, done, startEngine } from 'contract-testing/engine'
import t from 'tap'

const header = { description: 'Its size.', schema: { type: 'integer' } }
const shared = { description: 'A toy.', headers: { 'X-Size': header } }
const secure = {
  info: { title: 'Toys', version: '2.1.0', summary: 'All\n the toys.', description: 'Play *well*.\n' },
  components: {
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'A key.' },
      old: { type: 'http', scheme: 'basic', deprecated: true },
    },
    schemas: { Toy: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } },
  },
}

async function textOf(t: Parameters<typeof startEngine>[0], operations: object, more: object = {}) {
  const contract = await contractWith(operations as Record<string, object>, more)
  const { origin } = await startEngine(t, contract, {})
  return fetch(`${origin}/llms.txt`)
}

t.test('the text has what the page has, in Markdown as plain text', async (t) => {
  const putToy = {
    ...{ method: 'put', path: '/toys/{id}', summary: 'Put a toy', description: 'Puts a toy.\n\nTwice.' },
    security: [{ key: [] }],
    parameters: [{ in: 'path', name: 'id', required: true, schema: { type: 'integer' }, description: 'Id.' }],
    requestBody: {
      required: true,
      description: 'The toy.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Toy' } } },
    },
    responses: { 200: shared, 404: { ...shared, headers: { 'X-Size': header, 'X-Why': header } } },
  }
  const response = await textOf(t, { putToy }, secure)
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  const text = await response.text()
  const expected = `# Toys

> All the toys.

Version 2.1.0. The paths below follow the base address: `
  t.equal(text.slice(0, expected.length), expected)
  t.match(text.slice(expected.length), new URL(response.url).origin)
  for (const part of [
    'Play *well*.\n',
    '## Security schemes\n\n- `key` (http bearer): Send the token in the header `Authorization: Bearer …`. A key.\n- `old` (http basic): Deprecated. Send a user name',
    '### PUT /toys/{id}\n\n`putToy`: Put a toy. Security: `key`.\n\nPuts a toy.\n\nTwice.\n',
    '#### Parameters\n\n- `id` (path, required): integer. Id.\n',
    '#### Body\n\nRequired: `application/json`, Toy. The toy.\n',
    '#### Responses\n\n- 200: A toy.\n- 404: A toy. Headers: `X-Why`.\n',
    '## Response headers\n\nEvery response may have `X-Size`.\n\n- `X-Size`: integer. Its size.\n- `X-Why`:',
    '### Toy\n\nobject.\n- `name` (required): string.\n',
    '## Limits\n',
    '## Error codes\n',
    '| `invalid_request` 400 |',
  ])
    t.ok(text.includes(part), part)
})

t.test('webhooks and callbacks are requests that the service sends', async (t) => {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Toy' } } }
  const told = {
    parameters: [{ in: 'header', name: 'X-Shop', required: true, schema: { type: 'integer' } }],
    post: {
      summary: 'Tells of a toy',
      description: 'Once.',
      requestBody: { required: true, content },
      responses: {
        200: { description: 'Booked.', content },
        'x-note': 1,
        default: { description: 'Failed.' },
      },
    },
  }
  const form = { put: { requestBody: { content: { 'multipart/form-data': { schema: {} } } } } }
  const callbacks = {
    done: { '{$request.body#/url}': told, 'x-note': 1 },
    gone: { $ref: '#/components/callbacks/Gone' },
  }
  const ask = { method: 'post', path: '/ask', responses: done, callbacks }
  const { Toy } = secure.components.schemas
  const all = { schemas: { Toy, Error: {} }, callbacks: { Gone: { '{$response.body#/url}': form } } }
  const more = { components: all, webhooks: { made: told, sent: form } }
  const text = await (await textOf(t, { ask }, more)).text()
  const sent = (level: string) =>
    [
      'Once.',
      `${level} Parameters\n\n- \`X-Shop\` (header, required): integer.`,
      `${level} Body\n\nRequired: \`application/json\`, Toy.`,
      `${level} Responses\n\n- 200: Booked. Body: \`application/json\`, Toy.\n- default: Failed.`,
    ].join('\n\n')
  for (const part of [
    `#### Callback done\n\nThe service sends POST to \`{$request.body#/url}\`: Tells of a toy.\n\n${sent('#####')}\n\n`,
    '#### Callback gone\n\nThe service sends PUT to `{$response.body#/url}`.\n\n##### Body\n\nOptional:',
    `## Webhooks\n\n### Webhook made\n\nThe service sends POST: Tells of a toy.\n\n${sent('####')}\n\n`,
    '### Webhook sent\n\nThe service sends PUT.\n\n#### Body\n\nOptional: `multipart/form-data`, ',
  ])
    t.ok(text.includes(part), part)
})

t.test('a header of several texts says of which responses each is', async (t) => {
  const sent = (description: string, required = false) => ({
    description,
    required,
    schema: { type: 'string' },
  })
  const response = (Link: object) => ({ description: 'A.', headers: { 'X-Id': sent('Its id.', true), Link } })
  const [next, other] = [response(sent('The next page.')), response(sent('What replaces it.'))]
  const get = (responses: object) => ({ method: 'get', responses })
  const text = await (
    await textOf(t, {
      a: get({ 200: next, 304: next, 404: other }),
      b: get({ 200: other, 404: other, 410: other }),
    })
  ).text()
  const lines = text.slice(text.indexOf('## Response headers'), text.indexOf('## Schemas'))
  t.equal(
    lines.trim(),
    `## Response headers

Every response has \`X-Id\`. Every response may have \`Link\`.

- \`X-Id\`: string. Its id.
- \`Link\` (of \`a\` 200, 304): string. The next page.
- \`Link\` (of the others): string. What replaces it.`,
  )
})

t.test('what a contract leaves out is left out', async (t) => {
  const text = await (await textOf(t, { ping: { method: 'get', responses: done } })).text()
  t.match(text, '### GET /ping\n\n`ping`. Security: none.\n\n#### Responses\n')
  t.notMatch(text, /undefined|Parameters|#### Body|Security schemes|Webhooks|Callback|^> /m)
})

t.test('an operation at its path takes precedence', async (t) => {
  const own = { method: 'get', path: '/llms.txt', responses: done }
  const { origin } = await startEngine(t, await contractWith({ own }), { own: async () => ({ status: 204 }) })
  t.equal((await fetch(`${origin}/llms.txt`)).status, 204)
})
