import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Operation } from 'contract-engine'
import { sunsets } from 'contract-engine/tools'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { checkTypes } from 'contract-service/tools/dev/types'
import { findDifferences, type Written, writeDifferences } from 'contract-service/tools/generate/differences'
import { toJson, toText } from 'contract-service/tools/generate/report'
import t, { type Test } from 'tap'
import {
  copyProject,
  edit,
  editContract,
  generated,
  handlerText,
  listToys,
  parameterOf,
  runTool,
} from '../../fixtures/copy.js'
import { contract } from '../../fixtures/service.js'

const schemas = ['components', 'schemas']
const listPets = ['paths', '/pets', 'get']
const getPet = ['paths', '/pets/{petId}', 'get']

// Only warnings of the lint, which stop nothing.
const warnings = /^(openapi\.yaml:\d+:\d+ warning .+\n)*$/

const plain = (_: unknown, text: string) => text

async function generate(copy: string): Promise<readonly Written[]> {
  const { differences } = await findDifferences(copy)
  return writeDifferences(copy, differences)
}

// Returns the differences as --check reports them.
async function found(copy: string): Promise<{ file: string; state: string }[]> {
  const { differences } = await findDifferences(copy)
  return differences.map(({ file, state }) => ({ file, state }))
}

t.test('the command writes, and with --check only reports', async (t) => {
  const copy = copyProject(t)
  const run = (...args: string[]) => runTool(copy, 'generate', ...args)
  const before = generated(copy)
  rmSync(path.join(copy, 'generated', 'types.ts'))
  writeFileSync(path.join(copy, 'generated', 'left-over.ts'), '')
  const present = generated(copy)
  t.match(await run('--check'), {
    code: 1,
    stdout: 'generated/types.ts is missing\ngenerated/left-over.ts is orphaned\n',
    stderr: 'Run npm run generate.\n',
  })
  t.strictSame(generated(copy), present)
  t.match(await run(), {
    code: 0,
    stdout: /^generated\/types\.ts written\ngenerated\/left-over\.ts removed\n$/,
    stderr: warnings,
  })
  t.strictSame(generated(copy), before, 'to the same bytes')
  const { stdout, ...others } = await run('--check', '--json')
  t.equal(stdout, toJson({ files: [], sunsets: [] }))
  t.match(others, { code: 0, stderr: warnings })
})

t.test('findings and changes are reported one per line', async (t) => {
  const files = (...states: Written['state'][]) => states.map((state) => ({ file: 'f', state }))
  t.equal(toText({ files: [], sunsets: [] }, false, plain), 'generated/ is up to date\n')
  t.equal(toText({ files: [], sunsets: [] }, true, plain), '')
  t.equal(
    toText({ files: files('added', 'orphaned'), sunsets: [] }, false, plain),
    'f added: a stub that responds with 501 until you implement it\n' +
      'f is orphaned: the contract has no such operation. Remove or rename the file\n',
  )
  t.equal(
    toText({ files: files('orphaned'), sunsets: ['x is past'] }, true, plain),
    'f is orphaned\nx is past\n',
  )
})

t.test('an edit of the contract makes the generated files stale until the next run', async (t) => {
  const copy = copyProject(t)
  const before = generated(copy)
  t.strictSame(await found(copy), [], 'as it is it is up to date')
  editContract(copy, (document) => document.addIn([...schemas, 'PetStatus', 'enum'], 'brand-new'))
  const stale = ['types.ts', 'openapi.yaml']
  const files = stale.map((name) => ({ file: `generated/${name}`, state: 'stale' }))
  t.strictSame(await found(copy), files)
  await generate(copy)
  const after = generated(copy)
  for (const name of Object.keys(before))
    if (!stale.includes(name)) t.equal(after[name], before[name], 'and the rest is as it was')
    else t.match(after[name], 'brand-new')
  t.strictSame(await found(copy), [])
})

// Both tests share a project: the second checks only the files that its own edits can affect.
t.test('the compiler reports exactly what an edit leaves to do', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'tsconfig.json', '"generated", "scripts", "test"', '"generated"')
  await t.test('a new operation gets a stub that compiles, and existing handlers are not touched', (t) =>
    addOperation(t, copy),
  )
  await t.test('parameters have the types of their schemas', (t) => typeParameters(t, copy))
  await t.test('using something removed or now optional does not compile', (t) => takeAway(t, copy))
  await t.test('a handler that violates the contract does not compile', (t) => breakHandlers(t, copy))
  await t.test('without operations, only the handlers are orphaned', (t) => takeAll(t, copy))
})

async function addOperation(t: Test, copy: string): Promise<void> {
  edit(copy, 'openapi.yaml', 'components:\n', listToys)
  edit(copy, 'src/handlers/getPet.ts', '/** Returns one animal', '/** My own words. Returns one animal')
  const mine = readFileSync(path.join(copy, 'src/handlers/getPet.ts'), 'utf8')
  t.strictSame(await found(copy), [
    ...['types.ts', 'operations.ts', 'handlers.ts', 'client.ts', 'openapi.yaml'].map((name) => {
      return { file: `generated/${name}`, state: 'stale' }
    }),
    { file: 'src/handlers/listToys.ts', state: 'missing' },
  ])
  t.strictSame((await generate(copy)).at(-1), { file: 'src/handlers/listToys.ts', state: 'added' })
  const stub = readFileSync(path.join(copy, 'src/handlers/listToys.ts'), 'utf8')
  t.match(stub, /List toys[\s\S]*notImplemented\('listToys'\)/)
  t.equal(readFileSync(path.join(copy, 'src/handlers/getPet.ts'), 'utf8'), mine)
  t.strictSame(await checkTypes(copy), { server: [], others: [] })
  t.strictSame(await generate(copy), [], 'a second run changes nothing')
}

const int64 = '{type: integer, format: int64}'
const findToys = `
  /toys{format}/{ids}:
    get:
      operationId: findToys
      summary: Find toys
      parameters:
        - {name: format, in: path, required: true, style: label, schema: {type: string}}
        - {name: ids, in: path, required: true, schema: {type: array, items: ${int64}}}
        - {name: tags, in: query, explode: false, schema: {type: array, items: {type: string}, default: [new]}}
        - {name: color, in: query, schema: {type: object, properties: {R: ${int64}}}}
        - {name: filter, in: query, style: deepObject, explode: true, schema: {type: object, additionalProperties: ${int64}}}
        - {name: bars, in: query, style: pipeDelimited, explode: false, allowReserved: true, schema: {type: array, items: {}}}
        - {name: since, in: query, allowEmptyValue: true, schema: {type: integer}}
        - $ref: '#/components/parameters/Where'
        - {name: Accept, in: header, required: true, schema: {type: string}}
        - {name: X-Ids, in: header, schema: {type: array, items: ${int64}}}
        - {name: session, in: cookie, required: true, schema: ${int64}}
      responses:
        '204':
          description: None.
        default:
          $ref: '#/components/responses/UnexpectedError'

components:
  parameters:
    Where:
      name: where
      in: query
      required: true
      content:
        application/json:
          schema: {type: object, required: [pet], properties: {pet: {$ref: '#/components/schemas/NewPet'}}}
`

async function typeParameters(t: Test, copy: string): Promise<void> {
  edit(copy, 'openapi.yaml', 'components:\n  parameters:\n', findToys)
  await generate(copy)
  const handler = handlerText(
    'findToys',
    `async ({ params, query, headers, cookies }) => {
  const given: [string, bigint[], string[], bigint] = [params.format, params.ids, query.tags, cookies.session]
  const optional: [bigint | undefined, bigint[] | undefined] = [query.color?.R, headers['x-ids']]
  const nested: [bigint, bigint | undefined] = [query.where.pet.categoryId, query.filter?.any]
  // @ts-expect-error it is ignored
  const ignored = headers.accept
  if ([given, optional, nested, ignored].length > 4) throw new Error('never')
  return { status: 204 }
}`,
  )
  rmSync(path.join(copy, 'src/handlers/findToys.ts'))
  edit(copy, 'src/handlers/findToys.ts', '', handler)
  const call = `import { createClient } from './index.js'

export const found = createClient({ baseUrl: '', key: '' }).findToys({
  path: { format: 'csv', ids: [1n] },
  query: { where: { pet: { name: '', categoryId: 1n } }, filter: { any: 1n }, color: { R: 1n } },
  header: { 'X-Ids': [1n] },
  cookie: { session: 1n },
})
`
  edit(copy, 'src/client/found.ts', '', call)
  t.strictSame(await checkTypes(copy), { server: [], others: [] })
}

t.test('a handler whose responses the compiler would not check stops generate', async (t) => {
  const copy = copyProject(t)
  const handler = path.join(copy, 'src/handlers/getPet.ts')
  const problem =
    "src/handlers/getPet.ts: declare its responses, so that the compiler checks them: export async function getPet(…): Promise<Response<'getPet'>>"
  for (const start of [
    "export const getPet: Handlers['getPet'] = async ({ params }, { sql }) => {",
    "export async function getPet({ params }: Request<'getPet'>, { sql }: Context) {",
  ]) {
    cpSync(path.join(projectRoot, 'src/handlers/getPet.ts'), handler)
    edit(copy, 'src/handlers/getPet.ts', /^export .*$/m, start)
    await t.rejects(findDifferences(copy), { name: 'ContractError', message: problem }, start)
  }
})

async function takeAway(t: Test, copy: string): Promise<void> {
  const before = readFileSync(path.join(copy, 'openapi.yaml'), 'utf8')
  editContract(copy, (document) => {
    document.deleteIn(['paths', '/pets', 'post', 'responses', '201', 'headers', 'Location'])
    document.deleteIn([...listPets, 'responses', '200', 'headers', 'Link'])
    document.deleteIn([...getPet, 'responses', '200', 'content'])
    document.setIn([...schemas, 'NewPet', 'required'], document.createNode(['categoryId']))
  })
  await generate(copy)
  const { server } = await checkTypes(copy)
  t.strictSame([...new Set(server.map((line) => line.replace(/:.*/s, '')))].sort(), [
    'src/handlers/createPet.ts',
    'src/handlers/getPet.ts',
    'src/handlers/listPets.ts',
    'src/handlers/pets/pets.ts',
  ])
  writeFileSync(path.join(copy, 'openapi.yaml'), before)
  await generate(copy)
}

async function breakHandlers(t: Test, copy: string): Promise<void> {
  editContract(copy, (document) => {
    const responses = ['paths', '/pets', 'post', 'responses']
    document.setIn([...responses, '202'], document.getIn([...responses, '201']))
    document.deleteIn([...responses, '201'])
    document.setIn([...schemas, 'Pet', 'properties', 'grams'], document.createNode({ type: 'integer' }))
    document.setIn([...parameterOf(document, listPets, 'limit'), 'name'], 'size')
    document.setIn([...getPet, 'operationId'], 'readPet')
  })
  const orphaned = { file: 'src/handlers/getPet.ts', state: 'orphaned' } as const
  t.strictSame((await generate(copy)).slice(-2), [
    { file: 'src/handlers/readPet.ts', state: 'added' },
    orphaned,
  ])
  t.strictSame(await found(copy), [orphaned], 'and it is kept')
  const answer = "async () => ({ status: 200, body: { id: 1n, name: '', categoryId: 3 } })"
  writeFileSync(path.join(copy, 'src/handlers/readPet.ts'), handlerText('readPet', answer))
  rmSync(path.join(copy, 'src/handlers/listToys.ts'))

  const { server } = await checkTypes(copy)
  const expected: [file: string, problem: RegExp][] = [
    ['generated/handlers.ts', /Cannot find module '\.\.\/src\/handlers\/listToys\.js'/],
    ['src/handlers/createPet.ts', /201/],
    ['src/handlers/getPet.ts', /getPet/],
    ['src/handlers/listPets.ts', /limit/],
    ['src/handlers/pets/pets.ts', /grams/],
    ['src/handlers/readPet.ts', /Type 'number' is not assignable to type 'bigint'/],
  ]
  t.strictSame(
    [...new Set(server.map((line) => line.replace(/:.*/s, '')))].sort(),
    expected.map(([file]) => file),
  )
  for (const [file, problem] of expected) {
    t.match(server.filter((line) => line.startsWith(file)).join('\n'), problem)
  }
}

async function takeAll(t: Test, copy: string): Promise<void> {
  editContract(copy, (document) => document.set('paths', {}))
  await generate(copy)
  const left = /^src\/(?:handlers|database\/pets|client\/found)\b/
  const { server, others } = await checkTypes(copy)
  t.strictSame([server.filter((line) => !left.test(line)), others], [[], []])
}

t.test('a sunset is a warning 90 days before, and an error after', async (t) => {
  const operation = contract.operations.get('getPet') as Operation
  const dates = {
    deprecatedAt: new Date('2026-11-20'),
    sunset: new Date('2030-12-05'),
    afterSunset: 'serve',
    successor: 'listPets',
  } as const
  const operations = new Map([['getPet', { ...operation, deprecation: dates }]])
  const at = (date: string) => sunsets({ ...contract, operations }, Date.parse(date))
  t.strictSame(at('2030-09-05'), { past: [], soon: [] })
  t.match(at('2030-09-07'), { past: [], soon: ['getPet is to be removed on 2030-12-05, in 89 days'] })
  t.match(at('2030-12-05'), { past: [/^getPet is past its sunset, 2030-12-05/], soon: [] })
})

t.test('mistakes in the contract are reported with their locations', async (t) => {
  const copy = copyProject(t)
  editContract(copy, (document) => {
    document.deleteIn([...listPets, 'summary'])
    document.setIn([...listPets, 'sumary'], 'List animals')
  })
  edit(copy, 'openapi.yaml', '  /pets/{petId}:', '  /pets/{toyId}:')
  const lines = readFileSync(path.join(copy, 'openapi.yaml'), 'utf8').split('\n')
  const lineOf = (text: string) => lines.findIndex((line) => line.includes(text)) + 1
  const problems = [
    `openapi\\.yaml:${lineOf('sumary:')}:7 error .*sumary.* Did you mean summary`,
    `openapi\\.yaml:${lineOf('name: petId')}:\\d+ error .*petId.* is not used in the path`,
  ]
  const refused: Error = await findDifferences(copy).then(
    () => t.fail(),
    (error) => error,
  )
  for (const problem of problems) t.match(refused.message, new RegExp(problem))
})

const slips: [title: string, schema: string, problem: RegExp][] = [
  [
    'a $ref that is a comment',
    '{\n$ref: #/components/schemas/Pet\n}',
    /`\$ref` .* in quotes where it begins with #\./,
  ],
  ['a bare null', '{type: [string, null]}', /`type` .* It must be a text: 'null' is in quotes\./],
  [
    'a $ref to something else',
    "{$ref: '#/components/parameters/IdempotencyKey'}",
    /`name` is not expected here\. \(struct, by the \$ref at .*openapi\.yaml:\d+:\d+\)/,
  ],
]
t.test('common slips are reported as such', async (t) => {
  const copy = copyProject(t)
  const schemas = slips.map(([, schema], i) => `    Slip${i}: ${schema}\n`).join('')
  edit(copy, 'openapi.yaml', '\n    PetName:\n', `\n${schemas}    PetName:\n`)
  const refused: Error = await findDifferences(copy).then(
    () => t.fail(),
    (error) => error,
  )
  for (const [title, , message] of slips) t.match(refused.message, message, title)
})
