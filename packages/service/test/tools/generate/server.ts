// generate refuses what startup would refuse, and names its place; it accepts what the server can live with.

import path from 'node:path'
import { rounds } from 'contract-testing/nightly'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { findDifferences } from '../../../tools/generate/differences.js'
import { temporaryDirectory } from '../../fixtures/directory.js'

const contract = `openapi: 3.1.0
info: {title: Toys, version: 1.0.0, license: {name: MIT, identifier: MIT}}
servers: [{url: 'http://localhost:3000/v1'}]
security: [{apiKey: []}]
x-rate-limits:
  plans: {free: {perMinute: 60, perDay: 1000}}
  anonymous: {perMinute: 60}
  ban: {rejections: 30, withinSeconds: 60, banSeconds: 300}
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
const statuses = {
  invalid_request: 400,
  invalid_json: 400,
  malformed_request: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  route_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  body_too_large: 413,
  request_too_complex: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  rate_limit_exceeded: 429,
  key_banned: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
}
// The contract with descriptions of the server's errors.
const described: Edit[] = [
  [['components', 'schemas', 'Error'], { type: 'object' }],
  [
    ['components', 'schemas', 'ErrorCode'],
    { type: 'string', enum: Object.keys(statuses), 'x-enumStatuses': statuses },
  ],
  [[...refused, 'content'], { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }],
  [['paths', '/toys', 'post', 'responses', 'default', 'content'], { 'application/json': { schema: {} } }],
]

// A chain of schemas: the types and validators made from each refer to the next.
const links = rounds(800)
const chain = Object.fromEntries(
  Array.from({ length: links + 1 }, (_, i) => {
    const next = i < links ? { $ref: `#/components/schemas/A${i + 1}` } : { type: 'string' }
    return [`A${i}`, { type: 'object', properties: { next, all: { allOf: [next] } } }]
  }),
)

const kept: [title: string, ...edits: Edit[]][] = [
  ['the contract as it is'],
  ['the contract with the errors of the server', ...described],
  [
    `a chain of ${links} references`,
    [name, { $ref: '#/components/schemas/A0' }],
    [['components', 'schemas'], chain],
  ],
  ['an operation that is called like what the generated code uses', [[...get, 'operationId'], 'Handlers']],
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
    'openapi.yaml:37:57: addToy: the pattern (?i)abc is not a valid JavaScript regular expression',
  ],
  [
    'a header that only other answers have',
    [
      ...described,
      [[...refused, 'headers', 'Retry-After'], { required: true, 'x-set-by-server': true, schema: {} }],
    ],
    /^openapi\.yaml:\d+:9: listToys 401: header Retry-After is missing, as the server sends it: let nothing require it there, or an addition set it$/,
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
    /^openapi\.yaml:\d+:9: listToys 429: header Retry-After must be at most 600, as the server sends it$/m,
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
    /^openapi\.yaml:\d+:9: listToys \d+: header X-Toys is missing, as the server sends it: let nothing require it there, or an addition set it/m,
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
    'openapi.yaml:22:9: listToys 401 (missing_api_key): an error of the server has another form, so errorBody ' +
      'must make it: body at "" must have required property \'error\'',
  ],
]

for (const [title, edits, message] of broken) {
  t.test(`${title} is refused with its location`, async (t) => {
    const { refused } = await generate(t, edits, everyOperation)
    if (typeof message === 'string') t.equal(refused, message)
    else t.match(refused, message)
  })
}

// Problems that keep an operation from being implemented.
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
    'a response that cannot be validated',
    [[[...ok, 'content'], { 'application/xml': { schema: { type: 'object', properties: {} } } }]],
    'listToys',
    'GET /toys: the response 200 application/xml cannot be validated against its schema: remove the schema or use {type: string, format: binary} for raw bytes',
  ],
  [
    'a default outside its schema',
    [[name, { type: 'string', maxLength: 2, default: 'ball' }]],
    'addToy',
    'addToy: the default "ball" is invalid: body.name must have at most 2 characters',
  ],
  [
    'an enum of a response with a value of another type',
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

t.test('a pattern that backtracks exponentially is refused once an operation uses it', async (t) => {
  const edits: Edit[] = [[[...name, 'pattern'], '^([a-z]+)+$']]
  const text =
    'addToy: the pattern ^([a-z]+)+$ backtracks: each further character multiplies its time, ' +
    "as in 'a' + 'a'.repeat(31) + '\\x00'. Let only one of its repetitions match it"
  const { refused } = await generate(t, edits, everyOperation)
  t.equal(refused.replace(/^openapi\.yaml:\d+:\d+: /, ''), text)
  t.match(refused, /^openapi\.yaml:40:59: /)
  const { warnings } = await generate(t, edits, ['listToys'])
  t.ok(warnings.includes(`warning: ${refused}: it can only respond with 501`), 'and is a warning before')
})

t.test('a pattern that backtracks for a long text is a warning', async (t) => {
  const { refused, warnings } = await generate(t, [[[...name, 'pattern'], '\\d+$']], everyOperation)
  t.equal(refused, '')
  const text =
    /^warning: openapi\.yaml:37:79: the pattern \\d\+\$ backtracks: .* Add a maxLength of at most 3162, or /
  t.match(
    warnings.filter((each) => each.includes('backtracks')),
    [text],
  )
})

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
      'listToys: the default 0 is invalid: query.page must be at least 1',
      'listToys: the pattern [ is not a valid JavaScript regular expression',
      'addToy: the default 1 is invalid: body.name must be a string',
    ],
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

t.test("an operation may have a path of the service's own, with a warning", async (t) => {
  const operation = { operationId: 'other', summary: 'Health', responses: { 204: { description: 'Well.' } } }
  const edits: Edit[] = [
    [['servers', 0, 'url'], 'http://localhost:3000'],
    [['paths', '/healthz'], { get: operation }],
  ]
  const { refused, warnings } = await generate(t, edits, everyOperation)
  t.equal(refused, '')
  t.match(warnings.join('\n'), /^warning: openapi\.yaml:\d+:5: other replaces the service's own \/healthz$/m)
})

t.test('an operation with only unsupported security is refused once it is implemented', async (t) => {
  const edits: Edit[] = [[['components', 'securitySchemes', 'apiKey'], { type: 'http', scheme: 'basic' }]]
  const text = 'listToys requires apiKey (http basic), which has no check'
  const planned = await generate(t, edits, [])
  const { refused } = await generate(t, edits, ['listToys'])
  t.match(refused, new RegExp(`^openapi\\.yaml:\\d+:\\d+: ${text.replace(/[()]/g, '\\$&')}$`))
  t.ok(planned.warnings.includes(`warning: ${refused}: it can only respond with 501`), 'with its place')
  const added = await generate(t, edits, [], 'listToys')
  t.ok(added.warnings.includes(`warning: ${refused}: it can only respond with 501`), 'it may be planned')
})

t.test('a security scheme may be a reference to another', async (t) => {
  const schemes = ['components', 'securitySchemes']
  const edits: Edit[] = [
    [[...schemes, 'shared'], { type: 'http', scheme: 'bearer' }],
    [[...schemes, 'apiKey'], { $ref: '#/components/securitySchemes/shared' }],
  ]
  const { warnings, refused } = await generate(t, edits, ['listToys'])
  t.notMatch(warnings.join(), /has no check/)
  t.equal(refused, '')
})

const idle: [title: string, place: Edit[0], value: unknown, warning: RegExp][] = [
  [
    'of another type of security scheme',
    ['components', 'securitySchemes', 'apiKey', 'in'],
    'header',
    /: the security scheme apiKey: in has no effect beside type: http$/,
  ],
  [
    'of another flow',
    ['components', 'securitySchemes', 'tokens'],
    {
      type: 'oauth2',
      flows: {
        clientCredentials: {
          tokenUrl: 'https://a.example',
          authorizationUrl: 'https://a.example',
          scopes: {},
        },
      },
    },
    /: flows\.clientCredentials\.authorizationUrl has no effect in that flow$/,
  ],
  [
    "of parameters that a header's name and place say",
    [...ok, 'headers', 'Link', 'name'],
    'Link',
    / warning Property `name` is not expected here\. \(struct\)$/,
  ],
]

for (const [title, place, value, warning] of idle)
  t.test(`a field ${title} is a warning: it has no effect`, async (t) => {
    const { refused, warnings } = await generate(t, [[place, value]], everyOperation)
    t.equal(refused, '')
    const [line = '', ...others] = warnings.filter((each) => warning.test(each))
    t.match(line, /openapi\.yaml:\d+:\d+/)
    t.strictSame(others, [])
  })

t.test('a misspelt field of a security scheme is refused', async (t) => {
  for (const [field, message] of [
    ['schem', '`schem` is not expected here'],
    ['IN', '`IN` is not expected here'],
  ] as const) {
    const edit: Edit = [['components', 'securitySchemes', 'apiKey', field], 'bearer']
    t.match((await generate(t, [edit], everyOperation)).refused, message)
  }
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
    const text = 'listToys accepts query (apiKey in query), which has no check'
    const { refused } = await generate(t, edits, ['listToys'])
    t.match(refused, text)
    t.ok(
      (await generate(t, edits, [])).warnings.includes(`warning: ${refused}: it can only respond with 501`),
    )
  },
)

t.test('a bearer scheme that the server cannot tell from that of API keys is refused by name', async (t) => {
  const admin: Edit = [['components', 'securitySchemes', 'admin'], { type: 'http', scheme: 'Bearer' }]
  const refusedOf = async (security: object[], ...edits: Edit[]) =>
    (await generate(t, [admin, [[...get, 'security'], security], ...edits], everyOperation)).refused
  const text = (verb: string) => `listToys ${verb} admin (http bearer), which has no check`
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
    /listToys requires admin \(http bearer\), which has no check\n.*addToy requires apiKey/,
  )
})

t.test('a new operation cannot require an undeclared security scheme', async (t) => {
  const edits: Edit[] = [[[...get, 'security'], [{ nobody: [] }]]]
  const text = 'listToys requires nobody (not declared), which the server cannot check'
  const { refused } = await generate(t, edits, [], 'listToys')
  t.match(refused, text)
  t.ok((await generate(t, edits, [])).warnings.includes(`warning: ${refused}: it can only respond with 501`))
})

t.test('names of files and operations may have any characters', async (t) => {
  const text = contract
    .replace('{type: array, items: {type: string}}', "{$ref: './d%20e/f%23g.yaml#/Toy%20s'}")
    .replace('listToys', 'créerJouets')
    .replace('addToy', '创建玩具')
  const handlers = Object.fromEntries(
    ['créerJouets', '创建玩具'].map((name) => [
      `${name}.ts`,
      `export const ${name} = notImplemented('${name}')\n`,
    ]),
  )
  const referred = { 'f#g.yaml': 'Toy s: {type: array, items: {$ref: ../name.yaml}}\n' }
  const root = temporaryDirectory(t, {
    'a #b%': { 'openapi.yaml': text, 'd e': referred, 'name.yaml': 'type: string\n', src: { handlers } },
  })
  const { warnings, contract: read, differences } = await findDifferences(path.join(root, 'a #b%'))
  t.strictSame(
    [...read.operations.values()].map((each) => each.name),
    ['créerJouets', '创建玩具'],
  )
  t.strictSame(
    warnings.filter((each) => !/\(operation-|declares no body/.test(each)),
    [],
  )
  t.notOk(
    differences.some((each) => each.file.includes('handlers/')),
    'their stubs are found',
  )
})
