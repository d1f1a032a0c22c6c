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

interface Generated {
  readonly refused: string
  readonly warnings: readonly string[]
}

async function generate(
  t: Test,
  edits: readonly Edit[],
  written: readonly string[],
  added?: string,
): Promise<Generated> {
  const document = parseDocument(contract)
  for (const [at, value] of edits)
    if (value === undefined) document.deleteIn(at)
    else document.setIn(at, document.createNode(value))
  const planned = everyOperation.filter((name) => !written.includes(name) && name !== added)
  const handlers = Object.fromEntries([
    ...written.map((name) => [`${name}.ts`, `export const ${name} = …\n`]),
    ...planned.map((name) => [
      `${name}.ts`,
      `export const ${name}: Handler<'${name}'> = notImplemented('${name}')\n`,
    ]),
  ])
  const root = temporaryDirectory(t, { 'openapi.yaml': String(document), src: { handlers } })
  const name = path.relative(process.cwd(), path.join(root, 'openapi.yaml'))
  const shown = (text: string) => text.replaceAll(name, 'openapi.yaml')
  try {
    const { warnings } = await findDifferences(root)
    return { refused: '', warnings: warnings.map(shown) }
  } catch (error) {
    return { refused: shown((error as Error).message), warnings: [] }
  }
}

const everyOperation = ['listToys', 'addToy', 'other']

const get = ['paths', '/toys', 'get'] as const
const post = ['paths', '/toys', 'post'] as const
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
  [
    'a media type in other letters than elsewhere',
    [['paths', '/toys', 'put'], { ...operation, requestBody: { content: { 'Application/JSON': {} } } }],
  ],
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
  t.test(`${title} is generated`, async (t) =>
    t.equal((await generate(t, edits, everyOperation)).refused, ''),
  )
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
    'a $ref that is no URL, to what is there',
    [
      [['components', 'schemas', '100%'], { type: 'string' }],
      [name, { $ref: '#/components/schemas/100%' }],
    ],
    /^openapi\.yaml:\d+:\d+: \$ref #\/components\/schemas\/100% leads nowhere$/,
  ],
  [
    'a $ref that is no URL, to what is not',
    [[name, { $ref: '#/components/schemas/%Name' }]],
    'openapi.yaml: a $ref is no URL: a % in it is written %25',
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
    /^openapi\.yaml:\d+:5: listToys 200: header X-RateLimit-Limit must be at most 100, as the server sends it$/,
  ],
  [
    'a header that only other answers have',
    [
      ...described,
      [[...refused, 'headers', 'Retry-After'], { required: true, 'x-set-by-server': true, schema: {} }],
    ],
    /^openapi\.yaml:\d+:5: listToys 401: header Retry-After is missing, as the server sends it$/,
  ],
  [
    'what is left of quotas beyond what its header may say',
    [[[...ok, 'headers', 'X-RateLimit-Remaining'], { schema: { type: 'integer', maximum: 0 } }]],
    /^openapi\.yaml:\d+:5: listToys 200: header X-RateLimit-Remaining must be at most 0, as the server sends it$/,
  ],
  [
    'a wait beyond what its header may say',
    [
      ...described,
      [
        [...get, 'responses', '429'],
        { description: 'Wait.', headers: { 'Retry-After': { schema: { type: 'integer', maximum: 600 } } } },
      ],
    ],
    /^openapi\.yaml:\d+:5: listToys 429: header Retry-After must be at most 600, as the server sends it$/m,
  ],
  [
    'a header of any error that the server does not set',
    [
      ...described,
      [
        [...get, 'responses', 'default'],
        {
          description: 'An error.',
          headers: { 'X-Toys': { required: true, schema: {} } },
          content: { 'application/json': { schema: { type: 'object' } } },
        },
      ],
    ],
    /^openapi\.yaml:\d+:5: listToys \d+: header X-Toys is missing, as the server sends it$/m,
  ],
  [
    'an id of requests that the server does not make',
    [[[...ok, 'headers', 'X-Request-Id', 'schema', 'pattern'], '^\\d+$']],
    /^openapi\.yaml:\d+:5: listToys 200: header X-Request-Id must match pattern "\^\\d\+\$", as the server sends it$/,
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
    /^openapi\.yaml:\d+:5: listToys 200: header Link must match pattern "rel="next"\$", as the server sends it$/,
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
    /^openapi\.yaml:\d+:5: listToys 401: body at "" must have required property 'error', as the server sends it$/,
  ],
]

for (const [title, edits, message] of broken) {
  t.test(`${title} is refused, and its place is named`, async (t) => {
    const { refused } = await generate(t, edits, everyOperation)
    if (typeof message === 'string') t.equal(refused, message)
    else t.match(refused, message)
  })
}

// What would keep an operation from being written, in the words of generate.
const unreadable: [title: string, edits: readonly Edit[], operation: string, problem: string][] = [
  [
    'a list as deepObject',
    [
      [
        [...get, 'parameters'],
        [{ name: 'expand', in: 'query', style: 'deepObject', schema: { type: 'array', items: {} } }],
      ],
    ],
    'listToys',
    'GET /toys: the query parameter expand has the style deepObject, which is for objects',
  ],
  [
    'a form with deepObject',
    [
      [
        [...post, 'requestBody', 'content'],
        {
          'application/x-www-form-urlencoded': {
            schema: { type: 'object', properties: { owner: { type: 'object' } } },
            encoding: { owner: { style: 'deepObject' } },
          },
        },
      ],
    ],
    'addToy',
    'POST /toys: its body application/x-www-form-urlencoded: the field owner has the style deepObject, which is not supported in a form',
  ],
  [
    'a body where none has a meaning',
    [[[...get, 'requestBody'], { required: true, content: { 'application/json': {} } }]],
    'listToys',
    'GET /toys: a requestBody has no meaning there (RFC 9110, section 9.3.1)',
  ],
  [
    'an answer that nothing could hold to its schema',
    [[[...ok, 'content'], { 'application/xml': { schema: { type: 'object', properties: {} } } }]],
    'listToys',
    'GET /toys: its answer 200 application/xml is not given: the server cannot hold it to its schema: leave the schema out, or say {type: string, format: binary}, for bytes',
  ],
  [
    'one type of an answer twice',
    [[[...ok, 'content'], { 'application/json': {}, 'application/json;stream=watch': {} }]],
    'listToys',
    'GET /toys: its answer 200 application/json;stream=watch is declared twice: parameters tell no types apart',
  ],
  [
    'a body under what is no media type',
    [[[...post, 'requestBody', 'content', 'examples'], {}]],
    'addToy',
    'POST /toys: its body examples is no media type',
  ],
  [
    'a name of two lines',
    [[[...ok, 'headers', 'X\nY'], { schema: { type: 'string' } }]],
    'listToys',
    'GET /toys: its header X Y has a name that HTTP does not allow',
  ],
  [
    'a default outside its schema',
    [[name, { type: 'string', maxLength: 2, default: 'ball' }]],
    'addToy',
    'addToy: the default "ball" of body.name must have at most 2 characters',
  ],
  [
    'an enum with a value of another type',
    [[name, { type: 'string', enum: ['3', 4] }]],
    'addToy',
    'addToy: the value 4 of an enum is not of the type string',
  ],
  [
    'such an enum in an answer',
    [
      [
        [...ok, 'content', 'application/json', 'schema', 'items', 'enum'],
        ['a', null],
      ],
    ],
    'listToys',
    'listToys: the value null of an enum is not of the type string',
  ],
  [
    'bounds that no value is between',
    [[name, { type: 'string', minLength: 3, maxLength: 2 }]],
    'addToy',
    'addToy: its minLength 3 is above its maxLength 2',
  ],
  [
    'a bound that doubles would not tell from the other',
    [[name, { type: 'integer', format: 'int64', minimum: 9007199254740993n, maximum: 9007199254740992n }]],
    'addToy',
    'addToy: its minimum 9007199254740993 is above its maximum 9007199254740992',
  ],
  [
    'a pattern that JavaScript does not know',
    [[[...name, 'pattern'], '(?i)abc']],
    'addToy',
    'addToy: the pattern (?i)abc is no regular expression of JavaScript',
  ],
]

for (const [title, edits, operation, problem] of unreadable) {
  t.test(
    `${title} is a warning while its operation is planned, and refused once it is written`,
    async (t) => {
      const others = everyOperation.filter((each) => each !== operation)
      const planned = await generate(t, edits, others)
      t.equal(planned.refused, '')
      const [warning = ''] = planned.warnings.filter((each) => each.includes(problem))
      t.match(warning, /^warning: openapi\.yaml:\d+:\d+: .*: it can only answer 501$/)
      const { refused } = await generate(t, edits, [operation])
      t.equal((await generate(t, edits, [], operation)).refused, refused, 'nor may an edit bring it')
      t.equal(refused, warning.replace(/^warning: (.*): it can only answer 501$/, '$1'))
    },
  )
}

t.test('what is wrong with several operations is told at once', async (t) => {
  const edits: Edit[] = [
    [name, { type: 'string', default: 1 }],
    [
      [...get, 'parameters'],
      [
        { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 0 } },
        { name: 'X-Shop', in: 'header', schema: { type: 'string', pattern: '[' } },
      ],
    ],
  ]
  const { refused } = await generate(t, edits, everyOperation)
  t.strictSame(
    refused.split('\n').map((line) => line.replace(/^openapi\.yaml:\d+:\d+: /, '')),
    [
      'listToys: the pattern [ is no regular expression of JavaScript',
      'listToys: the default 0 of query.page must be at least 1',
      'addToy: the default 1 of body.name must be a string',
    ],
  )
})

t.test('a fault of a schema that several refer to is told once, where it stands', async (t) => {
  const edits: Edit[] = [
    [
      ['components', 'schemas', 'Name'],
      { type: 'object', properties: { first: { minItems: 2, maxItems: 1 } } },
    ],
    [name, { $ref: '#/components/schemas/Name' }],
    [[...ok, 'content', 'application/json', 'schema', 'items'], { $ref: '#/components/schemas/Name' }],
  ]
  const { refused } = await generate(t, edits, everyOperation)
  t.match(
    refused,
    /^openapi\.yaml:\d+:\d+: #\/components\/schemas\/Name: its minItems 2 is above its maxItems 1$/,
  )
})

t.test('of warnings that are alike the first five are shown, and the others counted', async (t) => {
  const parameter = { in: 'query', style: 'deepObject', schema: { type: 'array', items: {} } }
  const parameters = Array.from({ length: 7 }, (_, i) => ({ ...parameter, name: `field${i}` }))
  const { warnings } = await generate(t, [[[...get, 'parameters'], parameters]], [])
  const ours = warnings.filter((each) => /deepObject|more like these$/.test(each))
  t.equal(ours.length, 6)
  t.equal(ours[5], 'warning: and 2 more like these')
})

t.test('an operation that no one can be let into is refused once it is written', async (t) => {
  const edits: Edit[] = [[['components', 'securitySchemes', 'apiKey'], { type: 'http', scheme: 'basic' }]]
  const text = 'listToys asks for apiKey (http basic), which the server cannot check'
  const planned = await generate(t, edits, [])
  t.ok(planned.warnings.includes(`warning: ${text}: it can only answer 501`))
  const { refused } = await generate(t, edits, ['listToys'])
  t.match(refused, new RegExp(`^openapi\\.yaml:\\d+:\\d+: ${text.replace(/[()]/g, '\\$&')}$`))
  const added = await generate(t, edits, [], 'listToys')
  t.ok(added.warnings.includes(`warning: ${text}: it can only answer 501`), 'it may be planned')
})

t.test('a way in that is not checked is told of where there is another', async (t) => {
  const edits: Edit[] = [
    [['components', 'securitySchemes', 'query'], { type: 'apiKey', in: 'query', name: 'key' }],
    [
      [...get, 'security'],
      [{ apiKey: [] }, { query: [] }],
    ],
  ]
  const text = 'GET /toys takes query, too, which the server cannot check: it lets nobody in by that'
  t.ok((await generate(t, edits, [])).warnings.includes(`warning: ${text}`))
})

t.test('an operation that an edit adds cannot ask for a scheme that nobody declared', async (t) => {
  const edits: Edit[] = [[[...get, 'security'], [{ nobody: [] }]]]
  const text = 'listToys asks for nobody (not declared), which the server cannot check'
  t.ok((await generate(t, edits, [])).warnings.includes(`warning: ${text}: it can only answer 501`))
  t.match((await generate(t, edits, [], 'listToys')).refused, text)
})
