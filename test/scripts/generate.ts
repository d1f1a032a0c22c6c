import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { sunsets } from '../../scripts/generate/sunsets.js'
import { compile, copyProject, edit, generate, generated } from '../fixtures/copy.js'
import { contract } from '../fixtures/service.js'

// The processes do not depend on each other.
t.jobs = 3

t.test('what is generated is up to date, and generating it again gives the same bytes', async (t) => {
  const copy = copyProject(t)
  const before = generated(copy)
  t.strictSame(await generate(copy, '--check'), { code: 0, stdout: '', stderr: '' })
  rmSync(path.join(copy, 'generated', 'types.ts'))
  t.match(await generate(copy), { code: 0, stdout: 'generated/types.ts written\n' })
  t.strictSame(generated(copy), before)
})

t.test('a contract that was edited makes what is generated stale, until it is generated anew', async (t) => {
  const copy = copyProject(t)
  const before = generated(copy)
  edit(copy, 'openapi.yaml', 'enum: [available, pending, sold]', 'enum: [available, pending, sold, lost]')
  writeFileSync(path.join(copy, 'generated', 'left-over.ts'), '')
  const check = await generate(copy, '--check')
  t.equal(check.code, 1)
  t.strictSame(check.stdout.split('\n').sort(), [
    '',
    'generated/left-over.ts is orphaned',
    'generated/types.ts is stale',
  ])
  t.equal(check.stderr, 'Run npm run generate.\n')
  t.strictSame(generated(copy), { ...before, 'left-over.ts': '' }, 'and a check writes nothing')

  t.equal((await generate(copy)).code, 0)
  const { 'types.ts': types, ...others } = generated(copy)
  t.match(types, '"lost"')
  t.strictSame({ ...others, 'types.ts': before['types.ts'] }, before, 'and the rest is as it was')
  t.match(await generate(copy, '--check'), { code: 0 })
})

const listToys = `  /toys:
    get:
      operationId: listToys
      summary: List toys
      responses:
        '204':
          description: None.
        '401':
          $ref: '#/components/responses/Unauthorized'
        default:
          $ref: '#/components/responses/UnexpectedError'

components:
`

t.test('a new operation gets a stub that compiles, and no handler that exists is touched', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'openapi.yaml', 'components:\n', listToys)
  edit(copy, 'src/handlers/getPet.ts', '/** Section', '/** My own words. Section')
  const mine = readFileSync(path.join(copy, 'src/handlers/getPet.ts'), 'utf8')
  const check = await generate(copy, '--check')
  t.match(check, { code: 1, stdout: /^src\/handlers\/listToys\.ts is missing$/m })
  t.match(JSON.parse((await generate(copy, '--check', '--json')).stdout).files, [
    { file: 'generated/types.ts', state: 'stale' },
    ...['operations', 'handlers', 'client'].map((name) => ({ file: `generated/${name}.ts` })),
    { file: 'src/handlers/listToys.ts', state: 'missing' },
  ])
  const { code, stdout } = await generate(copy)
  t.equal(code, 0)
  t.match(stdout, /^src\/handlers\/listToys\.ts added: a stub that answers 501 until you write it$/m)
  const stub = readFileSync(path.join(copy, 'src/handlers/listToys.ts'), 'utf8')
  t.match(stub, /List toys[\s\S]*notWritten\('listToys'\)/)
  t.equal(readFileSync(path.join(copy, 'src/handlers/getPet.ts'), 'utf8'), mine)
  t.strictSame(await compile(copy), { code: 0, stdout: '', stderr: '' })
  t.match(
    await generate(copy),
    { code: 0, stdout: 'generated/ is up to date\n' },
    'a second run changes nothing',
  )
  t.strictSame(JSON.parse((await generate(copy, '--json')).stdout), { files: [], sunsets: [] })
})

t.test('a handler whose operation is gone is named, kept, and does not compile', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'openapi.yaml', 'operationId: createPet', 'operationId: addPet')
  t.match(await generate(copy), {
    code: 0,
    stdout: /^src\/handlers\/createPet\.ts is orphaned: its operation is gone from the contract/m,
  })
  t.match(await generate(copy, '--check'), { code: 1, stdout: 'src/handlers/createPet.ts is orphaned\n' })
  t.match((await compile(copy)).stdout, /createPet\.ts.*Handler<"createPet">/s)
})

t.test('handlers that do not fit the contract do not compile', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'openapi.yaml', 'components:\n', listToys)
  t.match(await generate(copy), { code: 0, stderr: '' })
  rmSync(path.join(copy, 'src/handlers/listToys.ts'))
  edit(copy, 'src/handlers/getPet.ts', 'status: 200', 'status: 202')
  edit(copy, 'src/handlers/createPet.ts', 'body: pet', 'body: { ...pet, categoryId: 3 }')

  const { code, stdout } = await compile(copy)
  t.not(code, 0)
  const files = stdout.match(/^[\w/.]+(?=\()/gm) ?? []
  t.strictSame(
    [...new Set(files)].sort(),
    ['generated/handlers.ts', 'src/handlers/createPet.ts', 'src/handlers/getPet.ts'],
    'and everything else does',
  )
  t.match(stdout, /generated\/handlers\.ts.*Cannot find module '\.\.\/src\/handlers\/listToys\.js'/)
  t.match(stdout, /createPet\.ts.*Type 'number' is not assignable to type 'bigint'/s)
  t.match(stdout, /getPet\.ts.*202/)
})

t.test('an unknown option is refused, and nothing is written', async (t) => {
  const copy = copyProject(t)
  t.match(await generate(copy, '--chek'), { code: 2, stdout: '', stderr: /--chek/ })
})

t.test('a sunset is a warning 90 days before, and an error after', async (t) => {
  const at = (date: string) => sunsets(contract, Date.parse(date))
  t.strictSame(at('2030-09-05'), { past: [], soon: [] })
  t.match(at('2030-09-07'), { past: [], soon: ['getPet is to be removed on 2030-12-05, in 89 days'] })
  t.match(at('2030-12-05'), { past: [/^getPet is past its sunset, 2030-12-05/], soon: [] })
})

t.test('mistakes in the contract are named, each with its place, and nothing is written', async (t) => {
  const copy = copyProject(t)
  const before = generated(copy)
  edit(copy, 'openapi.yaml', '      summary: List animals\n', '      sumary: List animals\n')
  edit(copy, 'openapi.yaml', '  /pets/{petId}:', '  /pets/{petId}/{toyId}:')
  const lines = readFileSync(path.join(copy, 'openapi.yaml'), 'utf8').split('\n')
  const lineOf = (text: string) => lines.findIndex((line) => line.includes(text)) + 1
  const { code, stdout, stderr } = await generate(copy)
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(
    stderr,
    new RegExp(`^openapi\\.yaml:${lineOf('sumary:')}:7 error .*sumary.* Did you mean summary`, 'm'),
  )
  t.match(stderr, new RegExp(`^openapi\\.yaml:${lineOf('x-successor') + 1}:7 error .*toyId`, 'm'))
  t.strictSame(generated(copy), before)
})

t.test('a promise that the server could not keep is refused, and nothing is written', async (t) => {
  const copy = copyProject(t)
  const before = generated(copy)
  edit(copy, 'openapi.yaml', 'x-sunset: 2030-12-05', 'x-sunset: 2020-12-05')
  const { code, stdout, stderr } = await generate(copy)
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /openapi\.yaml: GET \/pets\/\{petId\} has its x-sunset before its x-deprecated-at\n$/)
  t.strictSame(generated(copy), before)
})
