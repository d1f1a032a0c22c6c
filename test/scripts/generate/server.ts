// What a start would refuse, generate refuses first, with its place; what the server can keep, it takes.

import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { findDifferences } from '../../../scripts/generate/differences.js'
import { defaultErrorStatuses } from '../../../src/contract/defaults.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import '../../fixtures/compile-once.js'

const contract = `openapi: 3.1.0
info: {title: Toys, version: 1.0.0, license: {name: MIT, identifier: MIT}}
servers: [{url: 'http://localhost:3000/v1'}]
security: [{apiKey: []}]
x-rate-limits:
  plans: {free: {perMinute: 60, perDay: 1000}}
  anonymous: {perMinute: 60}
  ban: {rejections: 200, withinSeconds: 60, banSeconds: 300}
paths:
  /toys:
    get:
      operationId: listToys
      summary: List toys
      responses:
        '200':
          description: Toys.
          headers:
            X-Request-Id: {required: true, x-set-by-server: true, schema: {type: string}}
            X-RateLimit-Limit: {required: true, x-set-by-server: true, schema: {type: integer}}
            Link: {schema: {type: string}}
          content: {application/json: {schema: {type: array, items: {type: string}}}}
        '401':
          description: No key.
          headers: {WWW-Authenticate: {required: true, x-set-by-server: true, schema: {type: string}}}
    post:
      operationId: addToy
      summary: Add a toy
      requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}
      responses:
        '204': {description: Added.}
        default: {description: Anything else.}
components:
  securitySchemes: {apiKey: {type: http, scheme: bearer}}
`

type Edit = readonly [path: readonly (string | number)[], value: unknown]

async function generate(t: Test, edits: readonly Edit[]): Promise<string> {
  const document = parseDocument(contract)
  for (const [at, value] of edits)
    if (value === undefined) document.deleteIn(at)
    else document.setIn(at, document.createNode(value))
  const root = temporaryDirectory(t, { 'openapi.yaml': String(document), src: { handlers: {} } })
  try {
    await findDifferences(root)
    return ''
  } catch (error) {
    const name = path.relative(process.cwd(), path.join(root, 'openapi.yaml'))
    return (error as Error).message.replaceAll(name, 'openapi.yaml')
  }
}

const get = ['paths', '/toys', 'get'] as const
const ok = [...get, 'responses', '200'] as const
const refused = [...get, 'responses', '401'] as const
const name = [
  'paths',
  '/toys',
  'post',
  'requestBody',
  'content',
  'application/json',
  'schema',
  'properties',
  'name',
]
const operation = { operationId: 'other', summary: 'Other', responses: { default: { description: 'Any.' } } }

// The contract that describes the server's errors, too.
const described: Edit[] = [
  [['components', 'schemas', 'Error'], { type: 'object' }],
  [
    ['components', 'schemas', 'ErrorCode'],
    { type: 'string', enum: Object.keys(defaultErrorStatuses), 'x-enumStatuses': defaultErrorStatuses },
  ],
  [[...refused, 'content'], { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }],
  [['paths', '/toys', 'post', 'responses', 'default', 'content'], { 'application/json': { schema: {} } }],
]

const kept: [title: string, ...edits: Edit[]][] = [
  ['the contract as it is'],
  ['the contract with the errors of the server', ...described],
  ['HEAD beside GET', [['paths', '/toys', 'head'], operation]],
  ['a pattern with an escape that needs none', [[...name, 'pattern'], '^[a-z]\\-\\_\\ \\:[\\-a]$']],
  ['an operation that is called like what the generated code uses', [[...get, 'operationId'], 'Handlers']],
  ['a path beyond ASCII, one with a blank, one that is encoded', [['paths', '/café'], { get: operation }]],
  ['a server of its own on another host', [[...get, 'servers'], [{ url: 'https://toys.example/v1' }]]],
  ['a title of any characters', [['info', 'title'], 'Pat’s "Best" \\ Toys']],
  ['an id of requests of another form', [[...ok, 'headers', 'X-Request-Id', 'schema', 'format'], 'uuid']],
  [
    'an operation that is deprecated and has a Link of its own',
    [[...get, 'deprecated'], true],
    [[...get, 'x-deprecated-at'], '2026-11-20'],
    [[...get, 'x-successor'], 'addToy'],
  ],
]

for (const [title, ...edits] of kept) {
  t.test(`${title} is generated`, async (t) => t.equal(await generate(t, edits), ''))
}

const broken: [title: string, edits: readonly Edit[], message: RegExp | string][] = [
  [
    'a pattern that JavaScript does not know',
    [[[...name, 'pattern'], '(?i)abc']],
    'openapi.yaml:28:5: addToy: the pattern (?i)abc is no regular expression of JavaScript',
  ],
  [
    'such a pattern in an answer',
    [[[...ok, 'headers', 'Link', 'schema', 'pattern'], '\\Aabc\\Z']],
    /^openapi\.yaml:\d+:5: listToys: the pattern \\Aabc\\Z is no regular expression of JavaScript$/,
  ],
  [
    'a body where none has a meaning',
    [[[...get, 'requestBody'], { required: true, content: {} }]],
    /^openapi\.yaml:\d+:\d+: GET \/toys: a requestBody has no meaning there \(RFC 9110, section 9\.3\.1\)$/m,
  ],
  [
    'a path of the service',
    [
      [['servers', 0, 'url'], 'http://localhost:3000'],
      [['paths', '/healthz'], { get: operation }],
    ],
    /^openapi\.yaml:\d+:5: other: GET \/healthz is a path of the service's own$/,
  ],
  [
    'a server under another path',
    [[[...get, 'servers'], [{ url: 'https://toys.example/v2' }]]],
    /^openapi\.yaml:\d+:5: GET \/toys: its own servers end in \/v2, but all operations are served under \/v1$/,
  ],
  [
    'a header that the server does not set',
    [[[...ok, 'headers', 'X-Toys'], { 'x-set-by-server': true, schema: { type: 'string' } }]],
    /^openapi\.yaml:\d+:5: listToys: header X-Toys is marked x-set-by-server, but the server does not set it$/,
  ],
  [
    'headers of quotas that are gone',
    [[['x-rate-limits'], undefined]],
    /^openapi\.yaml:\d+:5: listToys: header X-RateLimit-Limit is marked x-set-by-server, but the server does not set it$/m,
  ],
  [
    'quotas beyond what their header may say',
    [[[...ok, 'headers', 'X-RateLimit-Limit', 'schema', 'maximum'], 100]],
    /^openapi\.yaml:\d+:5: listToys 200: header X-RateLimit-Limit must be at most 100, as the server answers it$/,
  ],
  [
    'a header that only other answers have',
    [
      ...described,
      [[...refused, 'headers', 'Retry-After'], { required: true, 'x-set-by-server': true, schema: {} }],
    ],
    /^openapi\.yaml:\d+:5: listToys 401: header Retry-After is missing, as the server answers it$/,
  ],
  [
    'an id of requests that the server does not make',
    [[[...ok, 'headers', 'X-Request-Id', 'schema', 'pattern'], '^\\d+$']],
    /^openapi\.yaml:\d+:5: listToys 200: header X-Request-Id must match pattern "\^\\d\+\$", as the server answers it$/,
  ],
  [
    'ids of requests of several forms',
    [[[...refused, 'headers', 'X-Request-Id'], { schema: { type: 'string', format: 'uuid' } }]],
    /^openapi\.yaml:\d+:5: listToys: X-Request-Id has another schema elsewhere$/,
  ],
  [
    'a successor that its Link may not name',
    [
      [[...ok, 'headers', 'Link', 'schema', 'pattern'], 'rel="next"$'],
      [[...get, 'deprecated'], true],
      [[...get, 'x-deprecated-at'], '2026-11-20'],
      [[...get, 'x-successor'], 'addToy'],
    ],
    /^openapi\.yaml:\d+:5: listToys 200: header Link must match pattern "rel="next"\$", as the server answers it$/,
  ],
  [
    'errors of another form than the server has',
    [
      ...described,
      [
        [...refused, 'content'],
        { 'application/json': { schema: { type: 'object', required: ['error'], properties: {} } } },
      ],
    ],
    /^openapi\.yaml:\d+:5: listToys 401: body at "" must have required property 'error', as the server answers it$/,
  ],
]

for (const [title, edits, message] of broken) {
  t.test(`${title} is refused, and its place is named`, async (t) => {
    const found = await generate(t, edits)
    if (typeof message === 'string') t.equal(found, message)
    else t.match(found, message)
  })
}
