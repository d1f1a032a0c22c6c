import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { toGithub } from '../../../scripts/diff/annotations.js'
import { diffContracts } from '../../../scripts/diff/contract.js'
import { lineOf, toText } from '../../../scripts/diff/report.js'
import { diffSince } from '../../../scripts/diff/since.js'
import { checkVersion } from '../../../scripts/diff/version.js'
import { projectRoot } from '../../../src/lib/paths.js'
import { readSource } from '../../../src/openapi/index.js'
import { copyProject } from '../../fixtures/copy.js'
import { temporaryDirectory } from '../../fixtures/process.js'

// A fixed copy of version 1.0.0 of the contract, so that these tests do not depend on its changes.
const contract = readFileSync(path.join(projectRoot, 'test/fixtures/contract-1.0.0.yaml'), 'utf8')

type Edit = readonly [from: string, to: string]

function edited(...edits: readonly Edit[]): string {
  return edits.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`not in the contract: ${from}`)
    return text.replaceAll(from, to)
  }, contract)
}

// Parsing a contract takes longer than comparing it, and each is compared in both directions.
const documents = new Map<string, ReturnType<typeof parse>>()
function documentOf(text: string) {
  if (!documents.has(text)) documents.set(text, parse(text))
  return documents.get(text)
}

const linesOf = (before: string, after: string) =>
  diffContracts(documentOf(before), documentOf(after)).map(lineOf)

// Edits with all lines of the report.
const rows: readonly (readonly [title: string, edits: readonly Edit[], lines: readonly string[]])[] = [
  ['a comment', [['# The contract of', '# This is the contract of']], []],
  ['the version alone', [['version: 1.0.0', 'version: 1.1.0']], []],
  [
    'the order of an enum',
    [['[available, pending, sold]', '[sold, pending, available]']],
    ['patch     components  schemas.PetStatus: enum changed'],
  ],
  ['a removed operation', [[operation('getPet'), '']], ['breaking  GET /pets/{petId}  operation removed']],
  [
    'an added operation',
    [
      [
        '\n  /pets/{petId}:',
        '\n  /toys:\n    get:\n      operationId: listToys\n      responses: {}\n\n  /pets/{petId}:',
      ],
    ],
    ['minor     GET /toys  operation added'],
  ],
  [
    'an operation at another path',
    [['  /pets/{petId}:', '  /animals/{petId}:']],
    ['breaking  GET /pets/{petId}  operation removed', 'minor     GET /animals/{petId}  operation added'],
  ],
  [
    'a renamed path parameter',
    [
      ['/pets/{petId}:', '/pets/{id}:'],
      ['name: petId', 'name: id'],
    ],
    ['patch     GET /pets/{id}  path /pets/{petId} -> /pets/{id}'],
  ],
  [
    'a renamed operation',
    [['operationId: createPet', 'operationId: addPet']],
    ['minor     POST /pets  operationId createPet -> addPet'],
  ],
  [
    'a renamed query parameter',
    [['- name: cursor', '- name: page']],
    ['breaking  GET /pets  query.cursor: removed', 'minor     GET /pets  query.page: added'],
  ],
  [
    'an added required parameter',
    [
      [
        '        - name: cursor\n',
        '        - { name: q, in: query, required: true, schema: { type: string } }\n        - name: cursor\n',
      ],
    ],
    ['breaking  GET /pets  query.q: added, required'],
  ],
  [
    'a parameter that becomes required',
    [
      [
        '- name: cursor\n          in: query',
        '- name: cursor\n          required: true\n          in: query',
      ],
    ],
    ['breaking  GET /pets  query.cursor: optional -> required'],
  ],
  [
    'another style of a parameter',
    [
      [
        '- name: status\n          in: query',
        '- name: status\n          style: spaceDelimited\n          in: query',
      ],
    ],
    ['breaking  GET /pets  query.status: serialisation form -> spaceDelimited'],
  ],
  [
    'a lower maximum',
    [['            maximum: 100\n', '            maximum: 50\n']],
    ['breaking  GET /pets  query.limit: maximum 100 -> 50'],
  ],
  [
    'a higher maximum',
    [['            maximum: 100\n', '            maximum: 500\n']],
    ['minor     GET /pets  query.limit: maximum 100 -> 500'],
  ],
  [
    'a removed minimum',
    [['            minimum: 1\n            maximum: 100\n', '            maximum: 100\n']],
    ['minor     GET /pets  query.limit: minimum 1 removed'],
  ],
  [
    'another default',
    [['            default: 20\n', '            default: 10\n']],
    ['breaking  GET /pets  query.limit: default 20 -> 10'],
  ],
  [
    'another type',
    [
      [
        '            type: integer\n            minimum: 1\n            maximum: 100',
        '            type: number\n            minimum: 1\n            maximum: 100',
      ],
    ],
    ['minor     GET /pets  query.limit: type integer -> number'],
  ],
  [
    'a smaller format in requests and responses',
    [['format: int64\n    PetName', 'format: int32\n    PetName']],
    [
      'breaking  GET /pets/{petId}  path.petId: format int64 -> int32',
      'minor     GET /pets  200 body[].id: format int64 -> int32',
      'minor     GET /pets/{petId}  200 body.id: format int64 -> int32',
      'minor     POST /pets  201 body.id: format int64 -> int32',
    ],
  ],
  [
    'a format whose range is inside the old one',
    [['format: int64\n    PetName', 'format: uint32\n    PetName']],
    [
      'breaking  GET /pets/{petId}  path.petId: format int64 -> uint32',
      'minor     GET /pets  200 body[].id: format int64 -> uint32',
      'minor     GET /pets/{petId}  200 body.id: format int64 -> uint32',
      'minor     POST /pets  201 body.id: format int64 -> uint32',
    ],
  ],
  [
    'a removed enum value breaks requests',
    [['[available, pending, sold]', '[available, pending]']],
    [
      'breaking  GET /pets  query.status: enum value "sold" removed',
      'breaking  POST /pets  body.status: enum value "sold" removed',
      'minor     GET /pets  200 body[].status: enum value "sold" removed',
      'minor     GET /pets/{petId}  200 body.status: enum value "sold" removed',
      'minor     POST /pets  201 body.status: enum value "sold" removed',
    ],
  ],
  [
    'an added enum value breaks responses',
    [['[available, pending, sold]', '[available, pending, sold, lost]']],
    [
      'breaking  GET /pets  200 body[].status: enum value "lost" added',
      'breaking  GET /pets/{petId}  200 body.status: enum value "lost" added',
      'breaking  POST /pets  201 body.status: enum value "lost" added',
      'minor     GET /pets  query.status: enum value "lost" added',
      'minor     POST /pets  body.status: enum value "lost" added',
    ],
  ],
  [
    'an added enum value, if the contract said that values may be added',
    [['- not_implemented\n', '- not_implemented\n        - teapot\n']],
    [
      'minor     GET /pets  400 401 429 500 503 default body.code: enum value "teapot" added',
      'minor     GET /pets/{petId}  400 401 404 429 500 503 default body.code: enum value "teapot" added',
      'minor     POST /pets  400 401 413 415 429 500 503 default body.code: enum value "teapot" added',
    ],
  ],
  [
    'an enum value added together with that sentence',
    [
      ['[available, pending, sold]', '[available, pending, sold, lost]'],
      ['Availability status.', 'Availability status. Values may be added.'],
    ],
    [
      'breaking  GET /pets  200 body[].status: enum value "lost" added',
      'breaking  GET /pets/{petId}  200 body.status: enum value "lost" added',
      'breaking  POST /pets  201 body.status: enum value "lost" added',
      'minor     GET /pets  query.status: enum value "lost" added',
      'minor     POST /pets  body.status: enum value "lost" added',
      'patch     components  schemas.PetStatus: description changed',
    ],
  ],
  [
    'another status for an error code',
    [['pet_not_found: 404', 'pet_not_found: 410']],
    [
      'breaking  GET /pets  400 401 429 500 503 default body.code: status of pet_not_found 404 -> 410',
      'breaking  GET /pets/{petId}  400 401 404 429 500 503 default body.code: status of pet_not_found 404 -> 410',
      'breaking  POST /pets  400 401 413 415 429 500 503 default body.code: status of pet_not_found 404 -> 410',
    ],
  ],
  [
    'an added optional request field',
    [
      [
        '    NewPet:\n      description: An animal to add.\n      type: object\n      required: [name, categoryId]\n      additionalProperties: false\n      properties:\n',
        '    NewPet:\n      description: An animal to add.\n      type: object\n      required: [name, categoryId]\n      additionalProperties: false\n      properties:\n        weight: { type: integer }\n',
      ],
    ],
    ['minor     POST /pets  body.weight: added'],
  ],
  [
    'an added required request field',
    [
      [
        'required: [name, categoryId]\n      additionalProperties: false\n      properties:\n',
        'required: [name, categoryId, weight]\n      additionalProperties: false\n      properties:\n        weight: { type: integer }\n',
      ],
    ],
    ['breaking  POST /pets  body.weight: added, required'],
  ],
  [
    'a removed request field',
    [
      [
        "additionalProperties: false\n      properties:\n        name:\n          $ref: '#/components/schemas/PetName'\n",
        'additionalProperties: false\n      properties:\n',
      ],
    ],
    ['breaking  POST /pets  body.name: removed'],
  ],
  [
    'a request field that becomes required',
    [['required: [name, categoryId]\n', 'required: [name, categoryId, status]\n']],
    ['breaking  POST /pets  body.status: optional -> required'],
  ],
  [
    'unknown fields allowed',
    [['      additionalProperties: false\n', '']],
    ['minor     POST /pets  body: unknown fields are allowed'],
  ],
  [
    'a body that becomes optional',
    [['requestBody:\n        required: true', 'requestBody:\n        required: false']],
    ['minor     POST /pets  body: required -> optional'],
  ],
  [
    'another media type of a body',
    [
      [
        '        description: The animal to add.\n        content:\n          application/json:',
        '        description: The animal to add.\n        content:\n          application/cbor:',
      ],
    ],
    [
      'breaking  POST /pets  body: media type application/json removed',
      'minor     POST /pets  body: media type application/cbor added',
    ],
  ],
  [
    'a response field that becomes optional',
    [['required: [id, name, categoryId]', 'required: [id, name]']],
    [
      'breaking  GET /pets  200 body[].categoryId: required -> optional',
      'breaking  GET /pets/{petId}  200 body.categoryId: required -> optional',
      'breaking  POST /pets  201 body.categoryId: required -> optional',
    ],
  ],
  [
    'a removed field of errors',
    [
      ['required: [code, message, status]', 'required: [code, status]'],
      [
        '        message:\n          description: What is wrong, for a person. Its wording may change.\n          type: string\n',
        '',
      ],
    ],
    [
      'breaking  GET /pets  400 401 429 500 503 default body.message: removed',
      'breaking  GET /pets/{petId}  400 401 404 429 500 503 default body.message: removed',
      'breaking  POST /pets  400 401 413 415 429 500 503 default body.message: removed',
    ],
  ],
  [
    'a removed response',
    [["        '413':\n          $ref: '#/components/responses/BodyTooLarge'\n", '']],
    ['breaking  POST /pets  413: response removed'],
  ],
  [
    'an added error',
    [["        '413':\n", "        '409': { description: It is there. }\n        '413':\n"]],
    ['minor     POST /pets  409: response added'],
  ],
  [
    'an added success',
    [["        '413':\n", "        '202': { description: Later. }\n        '413':\n"]],
    ['breaking  POST /pets  202: response added'],
  ],
  [
    'a removed response header',
    [["            Location:\n              $ref: '#/components/headers/Location'\n", '']],
    ['breaking  POST /pets  201 header.Location: removed'],
  ],
  [
    'a response header that becomes optional',
    [['(RFC 9110, section 10.2.2).\n      required: true\n', '(RFC 9110, section 10.2.2).\n']],
    ['breaking  POST /pets  201 header.Location: required -> optional'],
  ],
  [
    'an operation that needs no key any more',
    [['operationId: listPets', 'operationId: listPets\n      security: []']],
    ['minor     GET /pets  security apiKey -> none'],
  ],
  [
    'an alternative security scheme',
    [
      ['\nsecurity:\n  - apiKey: []\n', '\nsecurity:\n  - apiKey: []\n  - session: []\n'],
      [
        '  securitySchemes:\n',
        '  securitySchemes:\n    session: { type: apiKey, in: cookie, name: session }\n',
      ],
    ],
    [
      'minor     GET /pets  security apiKey -> apiKey or session',
      'minor     GET /pets/{petId}  security apiKey -> apiKey or session',
      'minor     POST /pets  security apiKey -> apiKey or session',
      'patch     components  securitySchemes: session added',
    ],
  ],
  [
    'an additional security scheme',
    [
      [
        'operationId: createPet',
        'operationId: createPet\n      security: [{ apiKey: [], session: [write] }]',
      ],
    ],
    ['breaking  POST /pets  security apiKey -> apiKey and session and session:write'],
  ],
  [
    'another scheme of a key',
    [['      scheme: bearer', '      scheme: basic']],
    ['breaking  components  securitySchemes.apiKey: scheme changed'],
  ],
  [
    'a deprecation',
    [
      [
        'operationId: listPets',
        'operationId: listPets\n      deprecated: true\n      x-deprecated-at: 2027-01-01\n      x-sunset: 2031-01-01',
      ],
    ],
    [
      'minor     GET /pets  deprecated',
      'minor     GET /pets  deprecation 2027-01-01 added',
      'minor     GET /pets  sunset 2031-01-01 added',
    ],
  ],
  [
    'an earlier sunset',
    [['x-sunset: 2030-12-05', 'x-sunset: 2029-12-05']],
    ['breaking  GET /pets/{petId}  sunset 2030-12-05 -> 2029-12-05'],
  ],
  [
    'another end',
    [['x-sunset: 2030-12-05\n', 'x-sunset: 2030-12-05\n      x-after-sunset: gone\n']],
    ['minor     GET /pets/{petId}  after the sunset gone added'],
  ],
  [
    'a later sunset',
    [['x-sunset: 2030-12-05', 'x-sunset: 2031-12-05']],
    ['minor     GET /pets/{petId}  sunset 2030-12-05 -> 2031-12-05'],
  ],
  [
    'a removed sunset',
    [['      x-sunset: 2030-12-05\n', '']],
    ['minor     GET /pets/{petId}  sunset 2030-12-05 removed'],
  ],
  ['another server path', [['/v1\n', '/v2\n']], ['breaking  servers  path /v1 -> /v2']],
  [
    'another host',
    [['http://localhost:3000/v1', 'https://api.example.org/v1']],
    [
      'patch     servers  {base_url}.variables.base_url: default http://localhost:3000/v1 -> https://api.example.org/v1',
    ],
  ],
  [
    'a lower quota',
    [['      perMinute: 300\n', '      perMinute: 200\n']],
    ['breaking  x-rate-limits  plans.pro: perMinute 300 -> 200'],
  ],
  [
    'a higher quota',
    [['      perDay: 1000\n', '      perDay: 2000\n']],
    ['minor     x-rate-limits  plans.free: perDay 1000 -> 2000'],
  ],
  [
    'a removed and an added plan',
    [['    enterprise: custom', '    unlimited: custom']],
    [
      'breaking  x-rate-limits  plans.enterprise: plan removed',
      'minor     x-rate-limits  plans.unlimited: plan added',
    ],
  ],
  [
    'a custom plan that becomes fixed',
    [['    enterprise: custom', '    enterprise: { perMinute: 5000, perDay: 1000000 }']],
    ['breaking  x-rate-limits  plans.enterprise: quotas custom -> {"perMinute":5000,"perDay":1000000}'],
  ],
  [
    'bans that come sooner and end sooner',
    [
      ['    withinSeconds: 60', '    withinSeconds: 90'],
      ['    banSeconds: 300', '    banSeconds: 200'],
    ],
    [
      'breaking  x-rate-limits  ban: withinSeconds 60 -> 90',
      'minor     x-rate-limits  ban: banSeconds 300 -> 200',
    ],
  ],
  [
    'a lower size limit',
    [['bodyBytes: 65536', 'bodyBytes: 32768']],
    ['breaking  x-limits  bodyBytes 65536 -> 32768'],
  ],
  [
    'an operation that becomes idempotent',
    [
      ['operationId: createPet', 'operationId: createPet\n      x-idempotent: true'],
      ['x-limits:', 'x-idempotency:\n  keepHours: 24\n\nx-limits:'],
    ],
    ['minor     POST /pets  idempotent', 'minor     x-idempotency  keepHours 24 added'],
  ],
  [
    'a description shared by several operations is reported once',
    [['Whole seconds to wait', 'Seconds to wait']],
    ['patch     components  headers.RetryAfter: description changed'],
  ],
  [
    'a summary of an operation',
    [['summary: List animals', 'summary: List all animals']],
    ['patch     GET /pets  summary List animals -> List all animals'],
  ],
]

// An operation's lines, with its path if it is the only one there.
function operation(id: string): string {
  const [, item] =
    new RegExp(`\\n( {2}/[^ ]+:\\n {4}\\w+:\\n {6}operationId: ${id}\\n[^]*?)\\n(?=components:|  /)`).exec(
      contract,
    ) ?? []
  if (item === undefined) throw new Error(`the contract has no ${id}`)
  return item
}

t.test('each edit of the contract is reported by its effect on clients', async (t) => {
  for (const [title, edits, lines] of rows) {
    t.strictSame(linesOf(contract, edited(...edits)), lines, title)
  }
})

t.test('each edit is also reported in the opposite direction', async (t) => {
  for (const [title, edits, lines] of rows) {
    t.equal(linesOf(edited(...edits), contract).length > 0, lines.length > 0, title)
  }
})

t.test('removing a request body or a security alternative is breaking', async (t) => {
  const given = edited(
    ['\nsecurity:\n  - apiKey: []\n', '\nsecurity:\n  - apiKey: []\n  - session: []\n'],
    ['operationId: getPet\n', 'operationId: getPet\n      requestBody: { content: { text/plain: {} } }\n'],
  )
  t.strictSame(linesOf(contract, given), [
    'minor     GET /pets  security apiKey -> apiKey or session',
    'minor     GET /pets/{petId}  security apiKey -> apiKey or session',
    'minor     GET /pets/{petId}  body: added',
    'minor     POST /pets  security apiKey -> apiKey or session',
  ])
  t.strictSame(linesOf(given, contract), [
    'breaking  GET /pets  security apiKey or session -> apiKey',
    'breaking  GET /pets/{petId}  security apiKey or session -> apiKey',
    'breaking  GET /pets/{petId}  body: removed',
    'breaking  POST /pets  security apiKey or session -> apiKey',
  ])
})

const closed = '{ additionalProperties: false }'
// Such fields are not part of requests, or not of responses.
const withId = '{ additionalProperties: false, required: [id], properties: { id: { readOnly: true } } }'
const withPin = '{ additionalProperties: false, required: [pin], properties: { pin: { writeOnly: true } } }'

// Changes of a schema in both a request and a response, with the line for each; `!` is breaking.
const schemas: readonly (readonly [before: string, after: string, sent: string, read: string])[] = [
  ['{ type: string }', '{ type: string, pattern: ^a }', '! pattern ^a added', 'pattern ^a added'],
  ['{ type: string, pattern: ^a }', '{ type: string }', 'pattern ^a removed', '! pattern ^a removed'],
  ['{ pattern: ^a }', '{ pattern: ^b }', '! pattern ^a -> ^b', '! pattern ^a -> ^b'],
  [
    '{ type: string }',
    '{ type: [string, "null"] }',
    'type string -> string|null',
    '! type string -> string|null',
  ],
  ['{ type: string }', '{ type: integer }', '! type string -> integer', '! type string -> integer'],
  ['{}', '{ type: integer }', '! type integer added', 'type integer added'],
  ['{ minItems: 1 }', '{ minItems: 2 }', '! minItems 1 -> 2', 'minItems 1 -> 2'],
  ['{}', '{ minLength: 0 }', '', ''],
  ['{ maxLength: 9 }', '{}', 'maxLength 9 removed', '! maxLength 9 removed'],
  [
    '{ uniqueItems: true }',
    '{ uniqueItems: false }',
    'uniqueItems true removed',
    '! uniqueItems true removed',
  ],
  ['{ const: a }', '{ enum: [a, b] }', 'enum value "b" added', '! enum value "b" added'],
  ['{ enum: [a] }', '{}', 'enum "a" removed', '! enum "a" removed'],
  ['{}', '{ enum: [1, 2] }', '! enum 1, 2 added', 'enum 1, 2 added'],
  [
    '{ description: More may be added., enum: [a] }',
    '{ enum: [a, b] }',
    'enum value "b" added',
    'enum value "b" added',
  ],
  ['{}', '{ default: 1 }', 'default 1 added', ''],
  ['{ default: 1 }', '{}', '! default 1 removed', ''],
  ['{}', '{ deprecated: true }', 'deprecated', 'deprecated'],
  ['{ properties: { a: {} } }', '{}', '.a: removed', '! .a: removed'],
  [closed, withId, '', '.id: added, required'],
  [withId, closed, '', '! .id: removed'],
  [closed, withPin, '! .pin: added, required', ''],
  [withPin, closed, '! .pin: removed', ''],
  ['{}', '{ required: [a] }', '! .a: optional -> required', '.a: optional -> required'],
  ['{}', '{ additionalProperties: false }', '! unknown fields are rejected', 'unknown fields are rejected'],
  ['{}', '{ additionalProperties: { type: string } }', '! .*: type string added', '.*: type string added'],
  ['{ items: { maximum: 2 } }', '{ items: { maximum: 1 } }', '! []: maximum 2 -> 1', '[]: maximum 2 -> 1'],
  [
    '{ oneOf: [{ type: string }] }',
    '{ oneOf: [{ type: string }, { type: array }] }',
    'oneOf added',
    '! oneOf added',
  ],
  ['{ anyOf: [{ $ref: "#/components/schemas/A" }, {}] }', '{ anyOf: [{}] }', '', ''],
  [
    '{ allOf: [{}] }',
    '{ allOf: [{}, { $ref: "#/components/schemas/A" }] }',
    '! maximum 9 added',
    'maximum 9 added',
  ],
  ['{}', '{ anyOf: [{}] }', '', ''],
  ['{ oneOf: [{ minimum: 1 }] }', '{ oneOf: [{ minimum: 2 }] }', '! minimum 1 -> 2', 'minimum 1 -> 2'],
  [
    '{ not: { type: string } }',
    '{ not: { type: array } }',
    '! keyword "not" changed',
    '! keyword "not" changed',
  ],
  ['{ not: { $ref: "#/components/schemas/A" } }', '{ not: { maximum: 9 } }', '', ''],
  ['{ $ref: "#/components/schemas/A" }', '{ maximum: 9 }', '', ''],
  [
    '{ $ref: "#/components/schemas/A" }',
    '{ $ref: "#/components/schemas/A", maximum: 8 }',
    '! maximum 9 -> 8',
    'maximum 9 -> 8',
  ],
]

const api = (schema: string, more = '') => `
openapi: 3.1.0
info: { version: 1.0.0 }
paths:
  /things:
    post:
      requestBody: { content: { application/json: { schema: &it ${schema} } } }
      responses: { '200': { content: { application/json: { schema: ${schema} } } } }
components:
  schemas:
    A: { maximum: 9 }
${more}`

t.test('a request schema must not narrow, a response schema must not widen', async (t) => {
  const expected = (where: string, line: string) => {
    if (line === '') return []
    const [, mark, what = ''] = /^(! )?(.*)$/.exec(line) ?? []
    const place = /^[.[(]/.test(what) ? `${where}${what}` : `${where}: ${what}`
    return [`${mark ? 'breaking' : 'minor   '}  POST /things  ${place}`]
  }
  for (const [before, after, sent, read] of schemas) {
    const lines = linesOf(api(before), api(after)).filter((line) => !line.startsWith('patch'))
    t.strictSame(
      lines.sort(),
      [...expected('body', sent), ...expected('200 body', read)].sort(),
      `${before} -> ${after}`,
    )
  }
})

t.test('integers beyond 2^53 are reported exactly', async (t) => {
  const parsed = (id: object) => ({
    openapi: '3.1.0',
    paths: {
      '/pets': {
        get: {
          parameters: [{ name: 'id', in: 'query', schema: { type: 'integer', format: 'int64', ...id } }],
          responses: {},
        },
      },
    },
  })
  const [one, three] = [2n ** 53n + 1n, 2n ** 53n + 3n]
  const lines = (before: object, after: object) => diffContracts(parsed(before), parsed(after)).map(lineOf)
  t.strictSame(lines({ enum: [1, one], default: one }, { enum: [1] }), [
    'breaking  GET /pets  query.id: default 9007199254740993 removed',
    'breaking  GET /pets  query.id: enum value 9007199254740993 removed',
  ])
  t.strictSame(lines({ maximum: three }, { maximum: one }), [
    'breaking  GET /pets  query.id: maximum 9007199254740995 -> 9007199254740993',
  ])
})

t.test('recursive schemas are compared completely', async (t) => {
  const tree = (maximum: number) =>
    api(
      '{ $ref: "#/components/schemas/Tree" }',
      `    Tree:
      properties:
        size: { type: integer, maximum: ${maximum} }
        branches: { type: array, items: { $ref: "#/components/schemas/Tree" } }
        trunk: { $ref: "#/components/schemas/Tree", description: The trunk. }
`,
    )
  t.strictSame(linesOf(tree(9), tree(9)), [])
  t.strictSame(
    linesOf(tree(9), tree(8)).filter((line) => /body\.size/.test(line)),
    [
      'breaking  POST /things  body.size: maximum 9 -> 8',
      'minor     POST /things  200 body.size: maximum 9 -> 8',
    ],
  )
  t.strictSame(
    linesOf(api('{}'), tree(9)).filter((line) => line.startsWith('breaking')),
    [],
  )
})

t.test('a missing or circular $ref is named', async (t) => {
  t.throws(() => linesOf(api('{}'), api('{ $ref: "#/components/schemas/B" }')), {
    message: '$ref #/components/schemas/B does not exist',
  })
  t.throws(() => linesOf(api('{}'), api('{ $ref: other.yaml }')), {
    message: '$ref other.yaml does not exist',
  })
  const circle = api('{ $ref: "#/components/schemas/B" }', '    B: { $ref: "#/components/schemas/B" }\n')
  t.throws(() => linesOf(circle, circle), { message: '$ref #/components/schemas/B is circular' })
})

t.test('an annotation has the line in the new document, and is escaped', async (t) => {
  const annotate = async (before: string, after: string, file = 'openapi.yaml') => {
    const documents = [documentOf(before), documentOf(after)] as const
    const changes = diffContracts(...documents)
    const { locate } = await readSource('openapi.yaml', async () => after)
    return toGithub({ file, locate }, changes, checkVersion(...documents, changes))
      .trimEnd()
      .split('\n')
      .filter((line) => !line.includes('title=Version'))
  }
  const lineOfText = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length

  // Each edit is annotated at its line; a removal at the line of its parent.
  const places: readonly (readonly [edit: Edit, at: string])[] = [
    [['            maximum: 100\n', '            maximum: 50\n'], '            maximum: 50'],
    [
      ["        '413':\n          $ref: '#/components/responses/BodyTooLarge'\n", ''],
      "      responses:\n        '201'",
    ],
    [['- name: cursor\n          in: query', '- name: page\n          in: query'], '- name: page'],
    [['      scheme: bearer', '      scheme: basic'], '      scheme: basic'],
    [['enum: [available, pending, sold]', 'enum: [available, pending]'], '      enum: [available, pending]'],
    [['operationId: listPets\n', 'operationId: listPets\n      security: []\n'], '      security: []'],
    [['required: [id, name, categoryId]', 'required: [id, name]'], '      required: [id, name]'],
    [['    enterprise: custom', ''], '  plans:'],
    [[operation('getPet'), ''], 'paths:'],
    [['summary: List animals', 'summary: List all animals'], '      summary: List all'],
  ]
  for (const [edit, at] of places) {
    const after = edited(edit)
    const lines = (await annotate(contract, after)).map((line) => /,line=(\d+),/.exec(line)?.[1])
    t.ok(lines.includes(String(lineOfText(after, at))), `${at}: ${lines}`)
  }

  const broken = api('{ pattern: "50%\\r\\n" }')
  const [sent] = await annotate(api('{}'), broken, 'a,b:c%.yaml')
  t.equal(
    sent,
    '::error file=a%2Cb%3Ac%25.yaml,line=7,col=67,title=Breaking change::POST /things  body: pattern 50%25%0D%0A added',
  )
  const [raised, more] = [api('{ maximum: 9 }'), api('{ maximum: 8 }').replace('1.0.0', '2.0.0')]
  t.match(await annotate(raised, more), [
    /^::warning .*,title=Breaking change::/,
    /^::notice .*,title=Addition::/,
  ])
})

t.test('the version is enough if it was raised as far as the changes require', async (t) => {
  const table = [
    ['major', '1.2.3', '2.0.0', true],
    ['major', '1.2.3', '1.3.0', false],
    ['major', '9.0.0', '10.0.0', true],
    ['major', '2.0.0', '1.0.0', false],
    ['minor', '1.2.3', '1.3.0', true],
    ['minor', '1.2.3', '2.0.0', true],
    ['minor', '1.2.3', '1.2.4', false],
    ['patch', '1.2.3', '1.2.4', true],
    ['patch', '1.2.3', '1.2.3', false],
    ['major', '2026-01', '2027-01', false],
  ] as const
  for (const [bump, before, after, isEnough] of table) {
    const changes = [{ bump, place: '', where: '', what: '', at: [] }]
    t.match(
      checkVersion({ info: { version: before } }, { info: { version: after } }, changes),
      { bump, before, after, isEnough },
      `${bump}: ${before} -> ${after}`,
    )
  }
  t.match(checkVersion({}, {}, []), { bump: 'none', isEnough: true })
})

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function run(cwd: string, program: string, ...args: string[]): Promise<Outcome> {
  // Without the user's git configuration and the NODE_OPTIONS of the test runner.
  const env = { PATH: process.env.PATH ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  try {
    return { code: 0, ...(await promisify(execFile)(program, args, { cwd, env })) }
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome // execFile rejects with the output and the exit code
    return { code, stdout, stderr }
  }
}

// Writes a contract to a folder in a temporary directory.
function contractIn(t: Test, ...folders: string[]): string {
  const folder = path.join(temporaryDirectory(t), ...folders)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'openapi.yaml'), contract)
  return path.join(folder, 'openapi.yaml')
}

async function commit(file: string, root = path.dirname(file)): Promise<void> {
  await git(root, 'init', '--quiet')
  await git(root, 'add', path.relative(root, file))
  await git(root, 'commit', '--quiet', '--message', 'Begin')
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await run(cwd, 'git', '-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args)
  if (code !== 0) throw new Error(stderr)
}

const lower: Edit = ['            maximum: 100\n', '            maximum: 50\n']
const higher: Edit = ['            maximum: 100\n', '            maximum: 200\n']

t.test('changes since a commit are reported; a breaking change requires a new major version', async (t) => {
  const file = contractIn(t)
  await commit(file)
  const table: readonly (readonly [edits: readonly Edit[], isEnough: boolean, text: string])[] = [
    [[], true, 'No changes since HEAD: no new version is required.\n'],
    [
      [['version: 1.0.0', 'version: 1.1.0']],
      true,
      'No changes since HEAD except the version, 1.0.0 -> 1.1.0: no new version is required.\n',
    ],
    [
      [higher],
      false,
      `minor     GET /pets  query.limit: maximum 100 -> 200

0 breaking, 1 minor, 0 patch: requires a minor version; 1.0.0 (unchanged) is not enough.
`,
    ],
    [
      [lower, ['summary: List animals', 'summary: List all animals'], ['version: 1.0.0', 'version: 1.1.0']],
      false,
      `breaking  GET /pets  query.limit: maximum 100 -> 50
patch     GET /pets  summary List animals -> List all animals

1 breaking, 0 minor, 1 patch: requires a major version; 1.0.0 -> 1.1.0 is not enough.
`,
    ],
    [
      [lower, ['version: 1.0.0', 'version: 2.0.0']],
      true,
      `breaking  GET /pets  query.limit: maximum 100 -> 50

1 breaking, 0 minor, 0 patch: requires a major version; 1.0.0 -> 2.0.0 is enough.
`,
    ],
    [
      [lower, ['/v1\n', '/v2\n']],
      true,
      `breaking  GET /pets  query.limit: maximum 100 -> 50
breaking  servers  path /v1 -> /v2

2 breaking, 0 minor, 0 patch: requires a major version; the new server path is enough.
`,
    ],
  ]
  for (const [edits, isEnough, text] of table) {
    writeFileSync(file, edited(...edits))
    const { changes, version } = await diffSince('HEAD', file)
    t.equal(
      toText('HEAD', changes, version, (_, plain) => plain),
      text,
    )
    t.equal(version.isEnough, isEnough)
  }
})

t.test('a contract in a folder of the repository can be compared with any commit', async (t) => {
  const file = contractIn(t, 'repository', 'project')
  await commit(file, path.join(file, '../..'))
  await git(path.dirname(file), 'tag', 'v1.0.0')
  writeFileSync(file, edited(lower))
  await git(path.dirname(file), 'commit', '--quiet', '--all', '--message', 'Lower')
  t.strictSame((await diffSince('HEAD', file)).changes, [])
  for (const ref of ['HEAD~1', 'v1.0.0']) {
    t.match((await diffSince(ref, file)).changes, [{ what: 'maximum 100 -> 50' }], ref)
  }
})

t.test('errors are reported in one line', async (t) => {
  const file = contractIn(t)
  const rejects = (ref: string, message: string | RegExp) =>
    t.rejects(diffSince(ref, file), { name: 'DiffError', message })
  await rejects('HEAD', /^fatal: not a git repository.*$/)
  await commit(file)
  for (const ref of ['nowhere', 'HEAD:openapi.yaml', '--all']) await rejects(ref, `unknown commit ${ref}`)
  writeFileSync(file, 'paths: [')
  await rejects('HEAD', /^[^\n]*openapi\.yaml:\d+:\d+: .+$/)
  writeFileSync(file, '[]')
  await rejects('HEAD', 'the contract is not a mapping')
  writeFileSync(file, '')
  await rejects('HEAD', /openapi\.yaml: the file must contain a mapping$/)
  await git(path.dirname(file), 'rm', '--quiet', '--cached', 'openapi.yaml')
  await git(path.dirname(file), 'commit', '--quiet', '--message', 'Remove')
  await rejects('HEAD', 'no openapi.yaml at HEAD')
})

t.test(
  'the command exits 1 for a breaking change and 2 for wrong usage, and prints JSON and annotations',
  async (t) => {
    const copy = copyProject(t)
    const file = path.join(copy, 'openapi.yaml')
    const diff = (...args: string[]) =>
      run(copy, process.execPath, '--import', 'tsx', 'scripts/diff/main.ts', ...args)
    writeFileSync(file, contract)
    await commit(file)
    writeFileSync(file, edited(lower, ['version: 1.0.0', 'version: 1.0.1']))
    t.match(await diff('HEAD'), { code: 1, stdout: /maximum 100 -> 50/, stderr: '' })
    const { code, stdout, stderr } = await diff('--json', 'HEAD')
    t.equal(code, 1)
    t.equal(stderr, '')
    t.strictSame(JSON.parse(stdout), {
      ref: 'HEAD',
      version: { before: '1.0.0', after: '1.0.1', isEnough: false, isNewPath: false },
      bump: 'major',
      changes: [
        {
          breaking: true,
          bump: 'major',
          place: 'GET /pets',
          where: 'query.limit',
          what: 'maximum 100 -> 50',
        },
      ],
    })

    const annotations = await diff('--format', 'github', 'HEAD')
    t.match(annotations, { code: 1, stderr: '' })
    const line = (text: string) => readFileSync(file, 'utf8').split('\n').indexOf(text) + 1
    t.equal(
      annotations.stdout,
      `::error file=openapi.yaml,line=${line('            maximum: 50')},col=13,title=Breaking change::GET /pets  query.limit: maximum 100 -> 50
::warning file=openapi.yaml,line=${line('  version: 1.0.1')},col=3,title=Version::1 breaking, 0 minor, 0 patch: requires a major version; 1.0.0 -> 1.0.1 is not enough.
`,
    )
    t.match(await diff('--format', 'text', 'HEAD'), { code: 1, stdout: /maximum 100 -> 50/ })

    writeFileSync(file, contract)
    t.match(await diff('HEAD'), { code: 0, stdout: /^No changes/ })
    t.strictSame(await diff('--format=github', 'HEAD'), { code: 0, stdout: '', stderr: '' })
    const usages: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [[], /^contract:diff: exactly one git ref is required, such as HEAD; see --help\n$/],
      [['HEAD', 'HEAD'], /^contract:diff: exactly one git ref is required, such as HEAD; see --help\n$/],
      [
        ['--format', 'gitlab', 'HEAD'],
        /^contract:diff: unknown format gitlab; the formats are text and github\n$/,
      ],
      [
        ['--format', 'github', '--json', 'HEAD'],
        /^contract:diff: --json and --format are mutually exclusive\n$/,
      ],
      [['--jsn', 'HEAD'], /^contract:diff: Unknown option '--jsn'.*; see --help\n$/],
    ]
    for (const [args, message] of usages)
      t.match(await diff(...args), { code: 2, stdout: '', stderr: message })
  },
)
