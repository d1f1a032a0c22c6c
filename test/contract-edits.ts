// One edit, one command: what an edit of openapi.yaml does to `npm run generate`, to the compiler, and to the server
// over HTTP, without a touch of src/ unless the table says so. Edits that do not meet share a copy and a server.

import path from 'node:path'
import t, { type Test } from 'tap'
import { handlers } from '../generated/handlers.js'
import { findDifferences, writeDifferences } from '../scripts/generate/differences.js'
import { readContract } from '../src/contract/read.js'
import { copyProject, edit, node } from './fixtures/copy.js'
import { dataDirectory } from './fixtures/data-directory.js'
import { startProcess } from './fixtures/process.js'
import { type Answer, type CallOptions, send, startService } from './fixtures/service.js'

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

type Edit = readonly [file: string, from: string, to: string]

interface Row {
  readonly title: string
  readonly edits: readonly Edit[]
  /** What callers see. */
  readonly check: (t: Test, call: Call, base: string) => Promise<void>
}

const contract = 'openapi.yaml'
const rex = { name: 'Rex', categoryId: 3 }

const responses = `
      responses:
        '200':
          description: Done.
          content:
            application/json:
              schema: SCHEMA
        default:
          $ref: '#/components/responses/UnexpectedError'
`

// An operation that answers what it is sent.
function echo(name: string, schema: string): Edit[] {
  return [
    [
      contract,
      '\ncomponents:\n',
      `
  /${name}:
    post:
      operationId: ${name}
      summary: Echo ${name}
      requestBody:
        required: true
        content:
          application/json:
            schema: ${schema}${responses.replace('SCHEMA', schema)}
components:
`,
    ],
    [
      `src/handlers/${name}.ts`,
      '',
      `import type { Handler } from './handler.js'\n\nexport const ${name}: Handler<'${name}'> = async ({ body }) => ({ status: 200, body })\n`,
    ],
  ]
}

const sharing: Row[] = [
  {
    title: 'a new enum value',
    edits: [[contract, 'enum: [available, pending, sold]', 'enum: [available, pending, sold, lost]']],
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, status: 'lost' } }), { status: 201 })
      t.match(await call('GET', '/pets?status=lost'), { body: [{ name: 'Rex', status: 'lost' }] })
    },
  },
  {
    title: 'a smaller maximum',
    edits: [[contract, 'maximum: 100\n            default: 20', 'maximum: 7\n            default: 3']],
    async check(t, call) {
      t.match(await call('GET', '/pets?limit=8'), {
        status: 400,
        body: { message: 'query.limit must be an integer from 1 to 7' },
      })
    },
  },
  {
    title: 'a smaller default',
    edits: [
      [contract, 'default: 3', 'default: 2'],
      [contract, 'example: 20', 'example: 5'],
    ],
    async check(t, call) {
      for (const name of ['A', 'B', 'C']) await call('POST', '/pets', { body: { ...rex, name } })
      const { body, headers } = await call('GET', '/pets')
      t.equal(body.length, 2)
      t.match(headers.get('link'), 'limit=2')
    },
  },
  {
    title: 'a smaller body',
    edits: [[contract, 'bodyBytes: 65536', 'bodyBytes: 200']],
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, name: 'x'.repeat(200) } }), {
        status: 413,
        body: { message: 'The body is longer than 200 bytes.' },
      })
    },
  },
  {
    title: 'a larger plan',
    edits: [[contract, 'perMinute: 60\n      perDay: 1000', 'perMinute: 345\n      perDay: 1000']],
    async check(t, call) {
      t.equal((await call('GET', '/pets')).headers.get('x-ratelimit-limit'), '345')
    },
  },
  {
    title: 'other dates of a deprecation',
    edits: [
      [contract, 'x-deprecated-at: 2026-11-20', 'x-deprecated-at: 2026-11-21'],
      [contract, 'x-sunset: 2030-12-05', 'x-sunset: 2031-01-02'],
    ],
    async check(t, call) {
      const { headers } = await call('GET', '/pets/1')
      t.equal(headers.get('deprecation'), `@${Date.UTC(2026, 10, 21) / 1000}`)
      t.equal(headers.get('sunset'), 'Thu, 02 Jan 2031 00:00:00 GMT')
    },
  },
  {
    title: 'another prefix',
    edits: [
      [contract, 'default: http://localhost:3000/v1', 'default: http://localhost:3000/shop/v2'],
      [
        contract,
        'default: http://staging.localhost:3000/v1',
        'default: http://staging.localhost:3000/shop/v2',
      ],
    ],
    async check(t, call, base) {
      t.equal(new URL(base).pathname, '/shop/v2')
      t.equal((await send(new URL('/v1/pets', base).href)).status, 404)
      t.match((await call('POST', '/pets', { body: rex })).headers.get('location'), /^\/shop\/v2\/pets\/\d+$/)
    },
  },
  {
    title: 'another title',
    edits: [[contract, 'title: Animal Store Service', 'title: Zoo']],
    async check(t, _, base) {
      t.equal((await send(`${base}/pets/1`)).headers.get('www-authenticate'), 'Bearer realm="Zoo"')
    },
  },
  {
    title: 'an operation made public',
    edits: [[contract, '      operationId: listPets\n', '      operationId: listPets\n      security: []\n']],
    async check(t, _, base) {
      t.match(await send(`${base}/pets`), { status: 200 })
      t.match(await send(`${base}/pets`, 'POST', {}, rex), { status: 401 })
    },
  },
  {
    title: 'a shorter name',
    edits: [[contract, 'maxLength: 255', 'maxLength: 9']],
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, name: 'Rumpelstilz' } }), {
        status: 400,
        body: { message: 'body.name must have at most 9 characters' },
      })
    },
  },
  {
    title: 'a new operation',
    edits: [
      [
        contract,
        '\ncomponents:\n',
        `\n  /toys/{toyId}:\n    delete:\n      operationId: delete toy\n      summary: Remove a toy\n      parameters:\n        - {name: toyId, in: path, required: true, schema: {type: integer}}${responses.replace('SCHEMA', '{}')}\ncomponents:\n`,
      ],
    ],
    async check(t, call, base) {
      t.match(await call('DELETE', '/toys/1'), {
        status: 501,
        body: { code: 'not_implemented', status: 501 },
      })
      t.match(await send(`${base}/toys/1`, 'DELETE'), { status: 401 })
    },
  },
  {
    title: 'keywords that only describe',
    edits: [
      [
        contract,
        '      x-pattern-description: free',
        "      xml: {name: pet-name}\n      format: of-a-pet\n      x-anything: {$ref: '#/info'}\n      x-pattern-description: free",
      ],
    ],
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: rex }), { status: 201, body: rex })
    },
  },
  {
    title: 'fields that go one way',
    edits: echo(
      'wallet',
      '{type: object, required: [id, pin], properties: {id: {type: integer, readOnly: true}, pin: {type: string, writeOnly: true}}}',
    ),
    async check(t, call) {
      t.match(await call('POST', '/wallet', { body: { id: 1, pin: '0' } }), {
        status: 400,
        body: { message: 'body.id is set by the service and must not be sent' },
      })
      t.match(await call('POST', '/wallet', { body: {} }), {
        status: 400,
        body: { message: 'body.pin is required' },
      })
      t.match(
        await call('POST', '/wallet', { body: { pin: '0' } }),
        { status: 500 },
        'the answer lacks an id',
      )
    },
  },
  {
    title: 'a schema in another file, which refers to itself',
    edits: [
      [
        'parts/toy.yaml',
        '',
        'Toy:\n  type: object\n  required: [id]\n  properties:\n    id: {type: integer, format: int64}\n    parts: {type: array, items: {$ref: "#/Toy"}}\n',
      ],
      ...echo('toy', "{$ref: './parts/toy.yaml#/Toy'}"),
    ],
    async check(t, call, base) {
      const toy = { id: 9223372036854775807n, parts: [{ id: 1, parts: [] }] }
      const text = '{"id":9223372036854775807,"parts":[{"id":1,"parts":[]}]}'
      t.match(await call('POST', '/toy', { body: text }), { status: 200, text, body: toy })
      t.match(await call('POST', '/toy', { body: '{"id":1,"parts":[{"id":"1"}]}' }), {
        status: 400,
        body: { message: 'body.parts[0].id must be an integer' },
      })
      t.match((await send(new URL('/openapi.yaml', base).href)).text, /^ +Toy:|parts:$/m)
    },
  },
  {
    title: 'a body that is text, or a number, or nothing',
    edits: echo(
      'scrap',
      '{anyOf: [{type: string}, {type: number}, {type: integer, format: int64}, {type: "null"}]}',
    ),
    async check(t, call) {
      for (const text of ['"a \\"quoted\\" word"', '1.5', '9223372036854775807', 'null']) {
        t.match(await call('POST', '/scrap', { body: text }), { status: 200, text }, text)
      }
    },
  },
  {
    title: 'a discriminator',
    edits: [
      [
        contract,
        '\n  schemas:\n',
        `
  schemas:
    Cat: {type: object, required: [kind, lives], properties: {kind: {type: string}, lives: {type: integer, format: int64}}}
    Dog: {type: object, required: [kind, barks], properties: {kind: {type: string}, barks: {type: boolean}}}
`,
      ],
      ...echo(
        'animal',
        "{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {meow: '#/components/schemas/Cat'}}}",
      ),
    ],
    async check(t, call) {
      const cat = { kind: 'meow', lives: 9223372036854775807n }
      t.match(await call('POST', '/animal', { body: '{"kind":"meow","lives":9223372036854775807}' }), {
        status: 200,
        body: cat,
      })
      const messages: [body: object, message: string][] = [
        [{ kind: 'meow', lives: '9' }, 'body.lives must be an integer'],
        [{ kind: 'Dog', lives: 9 }, 'body.barks is required'],
        [{ kind: 'Cat', lives: 9 }, 'body.kind must be one of: meow, Dog'],
        [{ lives: 9 }, 'body.kind is required'],
      ]
      for (const [body, message] of messages) {
        t.match(await call('POST', '/animal', { body }), { status: 400, body: { message } })
      }
    },
  },
  {
    title: 'keywords beside a reference',
    edits: echo(
      'nick',
      "{type: object, properties: {name: {$ref: '#/components/schemas/PetName', minLength: 3}}}",
    ),
    async check(t, call) {
      t.match(await call('POST', '/nick', { body: { name: 'Bo' } }), {
        status: 400,
        body: { message: 'body.name must have at least 3 characters' },
      })
      t.match(await call('POST', '/nick', { body: { name: 'Rex' } }), { status: 200, body: { name: 'Rex' } })
    },
  },
]

// Of OpenAPI 3.0, and edits that take something away.
const others: Row[] = [
  {
    title: 'a contract in OpenAPI 3.0, with its own nullable and exclusive bounds',
    edits: [
      [contract, 'openapi: 3.1.0', 'openapi: 3.0.3'],
      [contract, '  summary: The catalogue of animals kept by a pet store.\n', ''],
      [contract, '    identifier: MIT\n', ''],
      ...echo(
        'weighing',
        '{type: object, properties: {grams: {type: integer, nullable: true, minimum: 0, exclusiveMinimum: true}}}',
      ),
    ],
    async check(t, call) {
      t.match(await call('POST', '/weighing', { body: { grams: null } }), {
        status: 200,
        text: '{"grams":null}',
      })
      t.match(await call('POST', '/weighing', { body: { grams: 0 } }), {
        status: 400,
        body: { message: 'body.grams must be above 0' },
      })
    },
  },
  {
    title: 'an operation of another name',
    edits: [[contract, 'operationId: getPet', 'operationId: readPet']],
    async check(t, call) {
      t.match(await call('GET', '/pets/1'), { status: 501, body: { code: 'not_implemented' } })
    },
  },
  {
    title: 'a new required parameter',
    edits: [
      [
        contract,
        '      parameters:\n        - name: limit\n',
        '      parameters:\n        - {name: shop, in: query, required: true, schema: {type: string}}\n        - name: limit\n',
      ],
    ],
    async check(t, call) {
      t.match(await call('GET', '/pets'), { status: 400, body: { message: 'query.shop is required' } })
      t.match(await call('GET', '/pets?shop=a'), { status: 200 })
    },
  },
  {
    title: 'a parameter less',
    edits: [
      [
        contract,
        `        - name: status
          in: query
          description: Returns only animals with that status.
          schema:
            $ref: '#/components/schemas/PetStatus'
          example: available
`,
        '',
      ],
    ],
    async check(t, call) {
      t.match(await call('GET', '/pets?shop=a&status=sold'), {
        status: 400,
        body: { message: 'query.status is not a known parameter' },
      })
    },
  },
  {
    title: 'another status for an error',
    edits: [[contract, 'body_too_large: 413', 'body_too_large: 422']],
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: ' '.repeat(70_000) }), {
        status: 422,
        body: { status: 422 },
      })
    },
  },
]

async function startEdited(t: Test, rows: readonly Row[]): Promise<{ call: Call; base: string }> {
  const copy = copyProject(t)
  for (const change of rows.flatMap(({ edits }) => edits)) edit(copy, ...change)
  const { differences } = await findDifferences(copy)
  await writeDifferences(copy, differences)
  const { base, welcome } = await startProcess(t, { DATA_DIR: dataDirectory(t) }, { root: copy })
  const key = /Demo key, shown this once: (\S+)/.exec(welcome)?.[1]
  const call: Call = (method, path, { headers = {}, body } = {}) =>
    send(`${base}${path}`, method, { authorization: `Bearer ${key}`, ...headers }, body)
  return { call, base }
}

for (const [title, rows] of [
  ['of the contract as it is', sharing],
  ['that take something away', others],
] as const) {
  t.test(`edits ${title} are seen over HTTP`, async (t) => {
    const { call, base } = await startEdited(t, rows)
    for (const row of rows) await t.test(row.title, (t) => row.check(t, call, base))
  })
}

t.test('a removed operation leaves its path', async (t) => {
  const copy = copyProject(t)
  edit(copy, contract, '    post:\n', '    x-post:\n')
  edit(copy, contract, '      operationId: createPet', '      x-removed: yes\n      operationId: createPet')
  const { base } = await startService(t, {
    contract: await readContract(path.join(copy, contract)),
    handlers,
  })
  const { status, headers } = await send(`${base}/pets`, 'POST', {}, rex)
  t.match([status, headers.get('allow')], [405, 'GET, HEAD'])
})

const broken: readonly (readonly [title: string, problem: RegExp, ...edits: readonly Edit[]])[] = [
  [
    'an operation without a name',
    /POST \/pets has no operationId/,
    [contract, '      operationId: createPet\n', ''],
  ],
  [
    'two operations of one name',
    /two operations are called listPets/,
    [contract, 'operationId: createPet', 'operationId: listPets'],
  ],
  [
    'a reference to nowhere',
    /\$ref #\/components\/schemas\/Cat leads nowhere/,
    [contract, "$ref: '#/components/schemas/PetStatus'", "$ref: '#/components/schemas/Cat'"],
  ],
  [
    'a parameter that nobody could read',
    /GET \/pets: the query parameter shop cannot have the style deepObject with explode: false/,
    [
      contract,
      '        - name: limit\n',
      '        - {name: shop, in: query, style: deepObject, explode: false, schema: {type: object}}\n        - name: limit\n',
    ],
  ],
  [
    'an unknown security scheme',
    /listPets asks for the unknown security scheme oauth/,
    [
      contract,
      '      operationId: listPets\n',
      '      operationId: listPets\n      security:\n        - oauth: []\n',
    ],
  ],
  [
    'a sunset before its deprecation',
    /GET \/pets\/\{petId\} has its x-sunset before its x-deprecated-at/,
    [contract, 'x-sunset: 2030-12-05', 'x-sunset: 2020-12-05'],
  ],
  ['a plan without numbers', /plan free needs perMinute and perDay/, [contract, '      perDay: 1000\n', '']],
  ['no YAML', /openapi\.yaml:\d+:\d+: /, [contract, 'title: Animal', 'title: "Animal']],
]

for (const [title, problem, ...edits] of broken) {
  t.test(`${title} stops generate and start, each with one clear line`, async (t) => {
    const copy = copyProject(t)
    for (const change of edits) edit(copy, ...change)
    const place = /(^|\/)openapi\.yaml(:\d+:\d+)?[: ]/
    await t.rejects(findDifferences(copy), { name: 'ContractError', message: place })
    const start = readContract(path.join(copy, contract))
    await t.rejects(start, { name: 'ContractError', message: problem })
    await t.rejects(start, { message: /^.*$/ }, 'in one line')
  })
}

t.test('what stops them is all that the two commands say', async (t) => {
  const copy = copyProject(t)
  edit(copy, contract, 'title: Animal', 'title: "Animal')
  const run = (...args: string[]) => node(copy, ['--import', 'tsx', ...args], { PORT: '0', DATA_DIR: copy })
  t.match(await run('scripts/generate/main.ts'), {
    code: 1,
    stdout: '',
    stderr: /^openapi\.yaml:\d+:\d+: .*\n$/,
  })
  const stderr = /^The service cannot start\.\nopenapi\.yaml:\d+:\d+: .*\n$/
  t.match(await run('src/main.ts'), { code: 1, stdout: '', stderr })
})
