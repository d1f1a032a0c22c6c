// The effect of an edit of openapi.yaml on `npm run generate`, on the compiler, and on the server over HTTP.
// src/ does not change, unless a row has files for it. Edits that do not affect each other share a copy and a
// server.

import { cpSync } from 'node:fs'
import path from 'node:path'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { type ServiceProcess, startProcess } from 'contract-service/fixtures/process'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { findDifferences, writeDifferences } from 'contract-service/tools/generate/differences'
import { readSchemes } from 'contract-service/tools/lib/schemes'
import { buildServer } from 'contract-service/tools/lib/server'
import { startEngine } from 'contract-testing/engine'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { handlers } from '../generated/handlers.js'
import {
  type Change,
  copyBuild,
  copyProject,
  edit,
  editContract,
  handlerText,
  node,
  parameterOf,
  runTool,
} from './fixtures/copy.js'
import { fixedPlan } from './fixtures/facts.js'
import { type Answer, type CallOptions, contract, send } from './fixtures/service.js'

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

interface Row {
  readonly title: string
  readonly change: Change
  /** Other files of the edit. */
  readonly files?: Readonly<Record<string, string>>
  /** Checks the effect that callers see. */
  readonly check: (t: Test, call: Call, base: string, logged: ServiceProcess['logged']) => Promise<void>
}

const file = 'openapi.yaml'
const rex = { name: 'Rex', categoryId: 3 }
const listPets = ['paths', '/pets', 'get']
const createPet = ['paths', '/pets', 'post']
const getPet = ['paths', '/pets/{petId}', 'get']
const schemas = ['components', 'schemas']

const responses = (schema: object) => ({
  200: { description: 'Done.', content: { 'application/json': { schema } } },
  default: { $ref: '#/components/responses/UnexpectedError' },
})

// An operation that responds with the body that it received.
function echo(name: string, text: string): Pick<Row, 'change' | 'files'> {
  const schema = parse(text)
  const post = {
    operationId: name,
    summary: `Echo ${name}`,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: responses(schema),
  }
  return {
    change: (document) => document.setIn(['paths', `/${name}`], document.createNode({ post })),
    files: {
      [`src/handlers/${name}.ts`]: handlerText(name, 'async ({ body }) => ({ status: 200, body })'),
    },
  }
}

const animal = echo(
  'animal',
  "{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {meow: '#/components/schemas/Cat'}}}",
)
const toy = echo('toy', "{$ref: './parts/toy.yaml#/Toy'}")

const sharing: Row[] = [
  {
    title: 'a new enum value',
    change: (document) => document.addIn([...schemas, 'PetStatus', 'enum'], 'brand-new'),
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, status: 'brand-new' } }), { status: 201 })
      t.match(await call('GET', '/pets?status=brand-new'), { body: [{ name: 'Rex', status: 'brand-new' }] })
    },
  },
  {
    title: 'a smaller maximum',
    change: (document) => {
      const limit = parameterOf(document, listPets, 'limit')
      document.setIn([...limit, 'schema', 'maximum'], 7)
      document.setIn([...limit, 'schema', 'default'], 2)
      document.setIn([...limit, 'example'], 5)
    },
    async check(t, call) {
      t.match(await call('GET', '/pets?limit=8'), {
        status: 400,
        body: { message: 'query.limit must be an integer from 1 to 7' },
      })
    },
  },
  {
    title: 'and a smaller default',
    change: () => {},
    async check(t, call) {
      for (const name of ['A', 'B', 'C']) await call('POST', '/pets', { body: { ...rex, name } })
      const { body, headers } = await call('GET', '/pets')
      t.equal(body.length, 2)
      t.match(headers.get('link'), 'limit=2')
    },
  },
  {
    title: 'a smaller body',
    change: (document) => document.setIn(['x-limits', 'bodyBytes'], 200),
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, name: 'x'.repeat(200) } }), {
        status: 413,
        body: { message: 'The body is longer than 200 bytes.' },
      })
    },
  },
  {
    title: 'a larger plan',
    change: (document) =>
      document.setIn(
        ['x-rate-limits', 'plans', fixedPlan.name],
        document.createNode({ perMinute: 345, perDay: 1000 }),
      ),
    async check(t, call) {
      t.equal((await call('GET', '/pets')).headers.get('x-ratelimit-limit'), '345')
    },
  },
  {
    title: 'other dates of a deprecation',
    change: (document) => {
      document.setIn([...getPet, 'x-deprecated-at'], '2026-11-21')
      document.setIn([...getPet, 'x-sunset'], '2031-01-02')
    },
    async check(t, call) {
      const { headers } = await call('GET', '/pets/1')
      t.equal(headers.get('deprecation'), `@${Date.UTC(2026, 10, 21) / 1000}`)
      t.equal(headers.get('sunset'), 'Thu, 02 Jan 2031 00:00:00 GMT')
    },
  },
  {
    title: 'another prefix',
    change: (document) =>
      document.set('servers', document.createNode([{ url: 'http://localhost:3000/shop/v9' }])),
    async check(t, call, base) {
      t.equal(new URL(base).pathname, '/shop/v9')
      t.equal((await send(new URL(`${contract.prefix}/pets`, base).href)).status, 404)
      t.match((await call('POST', '/pets', { body: rex })).headers.get('location'), `${base}/pets/`)
    },
  },
  {
    title: 'another title',
    change: (document) => document.setIn(['info', 'title'], 'Zoo'),
    async check(t, _, base) {
      t.equal((await send(`${base}/pets/1`)).headers.get('www-authenticate'), 'Bearer realm="Zoo"')
    },
  },
  {
    title: 'an operation made public',
    change: (document) => document.setIn([...listPets, 'security'], document.createNode([])),
    async check(t, _, base) {
      t.match(await send(`${base}/pets`), { status: 200 })
      t.match(await send(`${base}/pets`, 'POST', {}, rex), { status: 401 })
    },
  },
  {
    title: 'a shorter name',
    change: (document) => document.setIn([...schemas, 'PetName', 'maxLength'], 9),
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: { ...rex, name: 'Rumpelstilz' } }), {
        status: 400,
        body: { message: 'body.name must have at most 9 characters' },
      })
    },
  },
  {
    title: 'a new operation',
    change: (document) => {
      const toyId = { name: 'toyId', in: 'path', required: true, schema: { type: 'integer' } }
      const remove = {
        operationId: 'delete toy',
        summary: 'Remove a toy',
        parameters: [toyId],
        responses: responses({}),
      }
      document.setIn(['paths', '/toys/{toyId}'], document.createNode({ delete: remove }))
    },
    async check(t, call, base) {
      t.match(await call('DELETE', '/toys/1'), {
        status: 501,
        body: { code: 'not_implemented', status: 501 },
      })
      t.match(await send(`${base}/toys/1`, 'DELETE'), { status: 401 })
    },
  },
  {
    title: 'a scope that an operation demands, which the demo key has',
    change(document) {
      const security = [{ apiKey: ['animals:admin'] }]
      const get = { operationId: 'countPets', summary: 'Count', security, responses: responses({}) }
      document.setIn(['paths', '/count'], document.createNode({ get }))
      document.addIn([...schemas, 'ErrorCode', 'enum'], 'insufficient_scope')
      document.setIn([...schemas, 'ErrorCode', 'x-enumStatuses', 'insufficient_scope'], 403)
    },
    files: {
      'src/handlers/countPets.ts': handlerText('countPets', 'async () => ({ status: 200, body: 3 })'),
    },
    async check(t, call) {
      t.match(await call('GET', '/count'), { status: 200, body: 3 })
    },
  },
  {
    title: 'annotations',
    change: (document) => {
      const described = { xml: { name: 'pet-name' }, format: 'of-a-pet', 'x-anything': { $ref: '#/info' } }
      for (const [keyword, value] of Object.entries(described))
        document.setIn([...schemas, 'PetName', keyword], document.createNode(value))
    },
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: rex }), { status: 201, body: rex })
    },
  },
  {
    title: 'readOnly and writeOnly properties',
    ...echo(
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
    change: toy.change,
    files: {
      ...toy.files,
      'parts/toy.yaml':
        'Toy:\n  type: object\n  required: [id]\n  properties:\n    id: {type: integer, format: int64}\n    parts: {type: array, items: {$ref: "#/Toy"}}\n',
    },
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
    ...echo(
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
    ...animal,
    change: (document) => {
      const fields = (names: object) => ({ type: 'object', required: Object.keys(names), properties: names })
      const lives = { type: 'integer', format: 'int64' }
      document.setIn([...schemas, 'Cat'], document.createNode(fields({ kind: { type: 'string' }, lives })))
      const barks = { type: 'boolean' }
      document.setIn([...schemas, 'Dog'], document.createNode(fields({ kind: { type: 'string' }, barks })))
      animal.change(document)
    },
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
    ...echo(
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

const weighing = echo(
  'weighing',
  '{type: object, properties: {grams: {type: integer, nullable: true, minimum: 0, exclusiveMinimum: true}}}',
)

// A contract of OpenAPI 3.0, and edits that remove something.
const others: Row[] = [
  {
    title: 'a contract in OpenAPI 3.0, with its own nullable and exclusive bounds',
    ...weighing,
    change: (document) => {
      document.set('openapi', '3.0.3')
      document.deleteIn(['info', 'summary'])
      document.deleteIn(['info', 'license', 'identifier'])
      weighing.change(document)
    },
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
    change: (document) => document.setIn([...getPet, 'operationId'], 'readPet'),
    async check(t, call) {
      t.match(await call('GET', '/pets/1'), { status: 501, body: { code: 'not_implemented' } })
    },
  },
  {
    title: 'a sunset that has passed',
    change: (document) => {
      document.setIn([...getPet, 'x-deprecated-at'], '2000-01-01')
      document.setIn([...getPet, 'x-sunset'], '2000-02-01')
    },
    async check(t, _call, _base, logged) {
      const text = 'readPet is past its sunset, 2000-02-01: remove it from the contract, or move the date'
      t.match(await logged(text), { level: 40 })
    },
  },
  {
    title: 'a new required parameter',
    change: (document) => {
      const shop = { name: 'shop', in: 'query', required: true, schema: { type: 'string' } }
      document.addIn([...listPets, 'parameters'], document.createNode(shop))
    },
    async check(t, call) {
      t.match(await call('GET', '/pets'), { status: 400, body: { message: 'query.shop is required' } })
      t.match(await call('GET', '/pets?shop=a'), { status: 200 })
    },
  },
  {
    title: 'a removed parameter',
    change: (document) => document.deleteIn(parameterOf(document, listPets, 'status')),
    async check(t, call) {
      t.match(await call('GET', '/pets?shop=a&status=sold'), {
        status: 400,
        body: { message: 'query.status is not a known parameter' },
      })
    },
  },
  {
    title: 'another status for an error',
    change: (document) => document.setIn([...schemas, 'ErrorCode', 'x-enumStatuses', 'body_too_large'], 422),
    async check(t, call) {
      t.match(await call('POST', '/pets', { body: ' '.repeat(contract.limits.body + 1) }), {
        status: 422,
        body: { status: 422 },
      })
    },
  },
]

async function startEdited(t: Test, rows: readonly Row[]) {
  const copy = copyProject(t)
  editContract(copy, ...rows.map(({ change }) => change))
  for (const { files = {} } of rows)
    for (const [name, text] of Object.entries(files)) edit(copy, name, '', text)
  const { differences } = await findDifferences(copy)
  await writeDifferences(copy, differences)
  const { base, welcome, logged } = await startProcess(t, { DATA_DIR: dataDirectory(t) }, { root: copy })
  const key = /Demo key, shown only once: (\S+)/.exec(welcome)?.[1]
  const call: Call = (method, path, { headers = {}, body } = {}) =>
    send(`${base}${path}`, method, { authorization: `Bearer ${key}`, ...headers }, body)
  return { call, base, logged }
}

for (const [title, rows] of [
  ['of the contract as it is', sharing],
  ['that take something away', others],
] as const) {
  t.test(`edits ${title} are seen over HTTP`, async (t) => {
    const { call, base, logged } = await startEdited(t, rows)
    for (const row of rows) await t.test(row.title, (t) => row.check(t, call, base, logged))
  })
}

t.test('a removed operation is 405, and its path remains', async (t) => {
  const copy = copyProject(t)
  editContract(copy, (document) => document.deleteIn(createPet))
  const { call } = await startEngine(t, await readServiceContract(path.join(copy, file)), {}, buildServer)
  const { status, headers } = await call('POST', '/pets', { body: rex })
  t.match([status, headers.get('allow')], [405, 'GET, HEAD'])
})

const notYaml = [file, /^ {2}title: /m, '  title: "'] as const

const broken: readonly (readonly [title: string, problem: RegExp, change: Change | typeof notYaml])[] = [
  [
    'an operationId that is not a string',
    /POST \/pets: operationId must be a non-empty string/,
    (document) => document.setIn([...createPet, 'operationId'], ''),
  ],
  [
    'a duplicate operationId',
    /two operations have the operationId listPets/,
    (document) => document.setIn([...createPet, 'operationId'], 'listPets'),
  ],
  [
    'a reference that does not resolve',
    /cannot resolve \$ref #\/components\/schemas\/Cat/,
    (document) => {
      const status = parameterOf(document, listPets, 'status')
      document.setIn([...status, 'schema'], { $ref: '#/components/schemas/Cat' })
    },
  ],
  [
    'an unsupported parameter style',
    /GET \/pets: the query parameter shop cannot have the style deepObject with explode: false/,
    (document) => {
      const shop = {
        name: 'shop',
        in: 'query',
        style: 'deepObject',
        explode: false,
        schema: { type: 'object' },
      }
      document.addIn(['paths', '/pets', 'get', 'parameters'], document.createNode(shop))
    },
  ],
  [
    'an unknown security scheme',
    /listPets requires oauth \(not declared\), which the server cannot check/,
    (document) => document.setIn([...listPets, 'security'], document.createNode([{ oauth: [] }])),
  ],
  [
    'a security scheme without a check',
    /createPet accepts admin \(http bearer\), which has no check/,
    (document) => {
      const admin = document.createNode({ type: 'http', scheme: 'bearer' })
      document.setIn(['components', 'securitySchemes', 'admin'], admin)
      document.setIn([...createPet, 'security'], document.createNode([{ apiKey: [] }, { admin: [] }]))
    },
  ],
  [
    'a sunset before its deprecation',
    /GET \/pets\/\{petId\}: x-sunset is before x-deprecated-at/,
    (document) => document.setIn([...getPet, 'x-sunset'], '2000-01-01'),
  ],
  [
    'a plan without numbers',
    new RegExp(`plan ${fixedPlan.name}: perDay must be an integer above 0`),
    (document) => document.deleteIn(['x-rate-limits', 'plans', fixedPlan.name, 'perDay']),
  ],
  ['invalid YAML', /openapi\.yaml:\d+:\d+: /, notYaml],
]

// A handler for each operation, as the engine sees them.
const written = Object.fromEntries(Object.keys(handlers).map((name) => [name, async () => ({})]))

t.test('a broken contract stops generate and startup, each with one line', async (t) => {
  const copy = copyProject(t)
  const listed = (await readSchemes(copy)) ?? new Map()
  const build: typeof buildServer = (contract, handlerOf, log) =>
    buildServer(contract, handlerOf, log, { listed })
  for (const [title, problem, change] of broken) {
    cpSync(contractFile, path.join(copy, file))
    if (typeof change === 'function') editContract(copy, change)
    else edit(copy, ...change)
    const place = /(^|\/)openapi\.yaml(:\d+:\d+)?[: ]/
    await t.rejects(findDifferences(copy), { name: 'ContractError', message: place }, title)
    const start = readServiceContract(path.join(copy, file)).then((contract) =>
      startEngine(t, contract, written, build),
    )
    await t.rejects(start, { name: 'ContractError', message: problem }, title)
    await t.rejects(start, { message: /^.*$/ }, `${title}, in one line`)
  }
})

t.test('generate and the build print nothing but the problem', async (t) => {
  const copy = copyProject(t)
  edit(copy, ...notYaml)
  t.match(await runTool(copy, 'generate'), {
    code: 1,
    stdout: '',
    stderr: /^openapi\.yaml:\d+:\d+: .*\n$/,
  })
  copyBuild(copy)
  t.match(await node(copy, ['node_modules/contract-service/dist/src/commands/compile.js']), {
    code: 1,
    stdout: '',
    stderr: /^openapi\.yaml:\d+:\d+: .*\n$/,
  })
})
