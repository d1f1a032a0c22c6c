// What a start would refuse, generate refuses first, with its place; what the server can keep, it takes.

import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { findDifferences } from '../../../scripts/generate/differences.js'
import { defaultErrorStatuses } from '../../../src/openapi/index.js'
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
    ...written.map((name) => [
      `${name}.ts`,
      `export async function ${name}(): Promise<Response<'${name}'>> {…\n`,
    ]),
    ...planned.map((name) => [`${name}.ts`, `export const ${name} = notImplemented('${name}')\n`]),
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
    'a pattern that is not valid in JavaScript',
    [[[...name, 'pattern'], '(?i)abc']],
    'openapi.yaml:28:5: addToy: the pattern (?i)abc is not a valid JavaScript regular expression',
  ],
  [
    'such a pattern in a response',
    [[[...ok, 'headers', 'Link', 'schema', 'pattern'], '\\Aabc\\Z']],
    /^openapi\.yaml:\d+:5: listToys: the pattern \\Aabc\\Z is not a valid JavaScript regular expression$/,
  ],
  [
    'a body of GET',
    [[[...get, 'requestBody'], { required: true, content: {} }]],
    /^openapi\.yaml:\d+:\d+: GET \/toys: a requestBody has no defined meaning for this method \(RFC 9110, section 9\.3\.1\): remove it$/m,
  ],
  [
    'a $ref that is no URL, to what is there',
    [
      [['components', 'schemas', '100%'], { type: 'string' }],
      [name, { $ref: '#/components/schemas/100%' }],
    ],
    /^openapi\.yaml:\d+:\d+: cannot resolve \$ref #\/components\/schemas\/100%$/,
  ],
  [
    'a $ref that is no URL, to what is not',
    [[name, { $ref: '#/components/schemas/%Name' }]],
    'openapi.yaml: a $ref is not a valid URL: write % as %25',
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
    /^openapi\.yaml:\d+:5: GET \/toys: the path of its servers is \/v2, but all operations are served under \/v1$/,
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
    /^openapi\.yaml:\d+:5: listToys: the header X-Request-Id must have the same schema in every response$/,
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
  t.test(`${title} is refused with its location`, async (t) => {
    const { refused } = await generate(t, edits, everyOperation)
    if (typeof message === 'string') t.equal(refused, message)
    else t.match(refused, message)
  })
}

// What keeps an operation from being implemented.
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
    'POST /toys: the request body application/x-www-form-urlencoded: the field owner has the style deepObject, which is not supported in a form',
  ],
  [
    'a body of GET',
    [[[...get, 'requestBody'], { required: true, content: { 'application/json': {} } }]],
    'listToys',
    'GET /toys: a requestBody has no defined meaning for this method (RFC 9110, section 9.3.1): remove it',
  ],
  [
    'a response that cannot be validated',
    [[[...ok, 'content'], { 'application/xml': { schema: { type: 'object', properties: {} } } }]],
    'listToys',
    'GET /toys: the response 200 application/xml cannot be validated against its schema: remove the schema or use {type: string, format: binary} for raw bytes',
  ],
  [
    'a media type of a response twice',
    [[[...ok, 'content'], { 'application/json': {}, 'application/json;stream=watch': {} }]],
    'listToys',
    'GET /toys: the response 200 application/json;stream=watch is declared twice: parameters do not distinguish media types',
  ],
  [
    'a body under a name that is not a media type',
    [[[...post, 'requestBody', 'content', 'examples'], {}]],
    'addToy',
    'POST /toys: the request body examples is not a media type',
  ],
  [
    'a name of two lines',
    [[[...ok, 'headers', 'X\nY'], { schema: { type: 'string' } }]],
    'listToys',
    'GET /toys: the response header X Y has a name that HTTP does not allow',
  ],
  [
    'a header of the connection',
    [[[...ok, 'headers', 'Transfer-Encoding'], { schema: { type: 'string' } }]],
    'listToys',
    'GET /toys: the response header Transfer-Encoding is set by the HTTP server: a handler cannot set it',
  ],
  [
    'a default outside its schema',
    [[name, { type: 'string', maxLength: 2, default: 'ball' }]],
    'addToy',
    'addToy: the default "ball" is invalid: body.name must have at most 2 characters',
  ],
  [
    'an enum with a value of another type',
    [[name, { type: 'string', enum: ['3', 4] }]],
    'addToy',
    'addToy: the enum value 4 is not of type string',
  ],
  [
    'such an enum in a response',
    [
      [
        [...ok, 'content', 'application/json', 'schema', 'items', 'enum'],
        ['a', null],
      ],
    ],
    'listToys',
    'listToys: the enum value null is not of type string',
  ],
  [
    'a minimum above the maximum',
    [[name, { type: 'string', minLength: 3, maxLength: 2 }]],
    'addToy',
    'addToy: minLength 3 is greater than maxLength 2',
  ],
  [
    'bounds that differ only beyond double precision',
    [[name, { type: 'integer', format: 'int64', minimum: 9007199254740993n, maximum: 9007199254740992n }]],
    'addToy',
    'addToy: minimum 9007199254740993 is greater than maximum 9007199254740992',
  ],
  [
    'a pattern that is not valid in JavaScript',
    [[[...name, 'pattern'], '(?i)abc']],
    'addToy',
    'addToy: the pattern (?i)abc is not a valid JavaScript regular expression',
  ],
]

for (const [title, edits, operation, problem] of unreadable) {
  t.test(
    `${title} is a warning while its operation is a stub, and refused once it is implemented`,
    async (t) => {
      const others = everyOperation.filter((each) => each !== operation)
      const planned = await generate(t, edits, others)
      t.equal(planned.refused, '')
      const [warning = ''] = planned.warnings.filter((each) => each.includes(problem))
      t.match(warning, /^warning: openapi\.yaml:\d+:\d+: .*: it can only respond with 501$/)
      const { refused } = await generate(t, edits, [operation])
      t.equal((await generate(t, edits, [], operation)).refused, refused, 'nor may an edit bring it')
      t.equal(refused, warning.replace(/^warning: (.*): it can only respond with 501$/, '$1'))
    },
  )
}

t.test('problems of several operations are reported at once', async (t) => {
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
      'listToys: the pattern [ is not a valid JavaScript regular expression',
      'listToys: the default 0 is invalid: query.page must be at least 1',
      'addToy: the default 1 is invalid: body.name must be a string',
    ],
  )
})

t.test('an error in a shared schema is reported once, at its own place', async (t) => {
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
    /^openapi\.yaml:\d+:\d+: #\/components\/schemas\/Name: minItems 2 is greater than maxItems 1$/,
  )
})

t.test('the first five warnings of a kind are shown, and the others counted', async (t) => {
  const parameter = { in: 'query', style: 'deepObject', schema: { type: 'array', items: {} } }
  const parameters = Array.from({ length: 7 }, (_, i) => ({ ...parameter, name: `field${i}` }))
  const { warnings } = await generate(t, [[[...get, 'parameters'], parameters]], [])
  const ours = warnings.filter((each) => /deepObject|more like these$/.test(each))
  t.equal(ours.length, 6)
  t.equal(ours[5], 'warning: and 2 more like these')
})

t.test('an operation with only unsupported security is refused once it is implemented', async (t) => {
  const edits: Edit[] = [[['components', 'securitySchemes', 'apiKey'], { type: 'http', scheme: 'basic' }]]
  const text = 'listToys requires apiKey (http basic), which the server cannot check'
  const planned = await generate(t, edits, [])
  t.ok(planned.warnings.includes(`warning: ${text}: it can only respond with 501`))
  const { refused } = await generate(t, edits, ['listToys'])
  t.match(refused, new RegExp(`^openapi\\.yaml:\\d+:\\d+: ${text.replace(/[()]/g, '\\$&')}$`))
  const added = await generate(t, edits, [], 'listToys')
  t.ok(added.warnings.includes(`warning: ${text}: it can only respond with 501`), 'it may be planned')
})

t.test('a security scheme may be a reference to another', async (t) => {
  const schemes = ['components', 'securitySchemes']
  const edits: Edit[] = [
    [[...schemes, 'shared'], { type: 'http', scheme: 'bearer' }],
    [[...schemes, 'apiKey'], { $ref: '#/components/securitySchemes/shared' }],
  ]
  const { warnings, refused } = await generate(t, edits, ['listToys'])
  t.notMatch(warnings.join(), /cannot check/)
  t.equal(refused, '')
})

t.test(
  'an alternative that the server cannot check is refused once the operation is implemented',
  async (t) => {
    const edits: Edit[] = [
      [['components', 'securitySchemes', 'query'], { type: 'apiKey', in: 'query', name: 'key' }],
      [
        [...get, 'security'],
        [{ apiKey: [] }, { query: [] }],
      ],
    ]
    const text = 'listToys accepts query (apiKey), which the server cannot check'
    t.ok((await generate(t, edits, [])).warnings.includes(`warning: ${text}: it can only respond with 501`))
    t.match((await generate(t, edits, ['listToys'])).refused, text)
  },
)

t.test('a bearer scheme that the server cannot tell from that of API keys is refused by name', async (t) => {
  const admin: Edit = [['components', 'securitySchemes', 'admin'], { type: 'http', scheme: 'Bearer' }]
  const refusedOf = async (security: object[], ...edits: Edit[]) =>
    (await generate(t, [admin, [[...get, 'security'], security], ...edits], everyOperation)).refused
  const text = (verb: string) =>
    `listToys ${verb} admin (http bearer, but API keys are for apiKey), which the server cannot check`
  t.match(await refusedOf([{ admin: [] }]), text('requires'))
  t.match(await refusedOf([{ apiKey: [], admin: [] }]), text('requires'), 'both')
  t.match(await refusedOf([{ apiKey: [] }, { admin: [] }]), text('accepts'), 'either')
  t.match(await refusedOf([{}, { admin: [] }]), text('accepts'), 'or neither')
  t.equal(await refusedOf([{ apiKey: [] }]), '', 'one that no operation uses is no matter')
  const all: Edit[] = [[['security'], [{ admin: [] }]]]
  t.equal(await refusedOf([{ admin: [] }], ...all), '', 'the only one in use may have any name')
  const unnamed: Edit[] = [
    [['security'], undefined],
    [[...post, 'security'], [{ apiKey: [] }]],
  ]
  t.match(
    await refusedOf([{ admin: [] }], ...unnamed),
    /listToys requires admin \(http bearer, but API keys are for none .*\n.*addToy requires apiKey/,
  )
})

t.test('a new operation cannot require an undeclared security scheme', async (t) => {
  const edits: Edit[] = [[[...get, 'security'], [{ nobody: [] }]]]
  const text = 'listToys requires nobody (not declared), which the server cannot check'
  t.ok((await generate(t, edits, [])).warnings.includes(`warning: ${text}: it can only respond with 501`))
  t.match((await generate(t, edits, [], 'listToys')).refused, text)
})
