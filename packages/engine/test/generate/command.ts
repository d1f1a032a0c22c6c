import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import t from 'tap'
import { runCommand } from '../../src/generate/command.js'
import { loadContract } from '../../src/index.js'

const contract = `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys:
    get:
      operationId: listToys
      responses: { '200': { description: Them., content: { application/json: { schema: { $ref: '#/components/schemas/Toys' } } } }, default: { description: Any., content: { application/json: {} } } }
components: { schemas: { Toys: { type: array, items: { type: integer, format: int64 } } } }
`
const folder = temporaryDirectory(t, { 'openapi.yaml': contract })
const place = (file: string) => path.relative(process.cwd(), path.join(folder, file))
const output = path.join(folder, 'generated')

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' }
  const streamOf = (name: keyof typeof texts) => ({
    write: (text: string) => {
      texts[name] += text
    },
  })
  const code = await runCommand(args, { stdout: streamOf('stdout'), stderr: streamOf('stderr') })
  return { code, ...texts }
}

t.test('the command writes what is missing or stale, and with --check names it', async (t) => {
  const generate = ['generate', path.join(folder, 'openapi.yaml'), '--output', output]
  const lines = (state: string, ...names: string[]) =>
    names.map((name) => `${path.join(output, name)} ${state}\n`).join('')
  const both = ['types.ts', 'operations.ts']
  const found = { code: 1, stdout: lines('is missing', ...both), stderr: '' }
  t.strictSame(await run(...generate, '--check'), found)
  t.strictSame(await run(...generate), { code: 0, stdout: lines('written', ...both), stderr: '' })
  t.match(readFileSync(path.join(output, 'types.ts'), 'utf8'), 'export type Toys = bigint[];')
  t.strictSame(await run(...generate, '--check'), { code: 0, stdout: '', stderr: '' })
  writeFileSync(path.join(output, 'types.ts'), '')
  t.match(await run(...generate, '--check'), { code: 1, stdout: lines('is stale', 'types.ts') })
  t.match(await run(...generate), { code: 0, stdout: lines('written', 'types.ts') })
})

t.test('compile writes the plan of a contract unless it is there, and with --check says so', async (t) => {
  const file = path.join(folder, 'compiled.yaml')
  writeFileSync(file, contract)
  const plan = path.join(folder, 'plans/contract.plan')
  const compile = ['compile', file, '--output', path.dirname(plan)]
  const nothing = { code: 0, stdout: '', stderr: '' }
  t.strictSame(await run(...compile, '--check'), { ...nothing, code: 1, stdout: `${plan} is missing\n` })
  t.strictSame(await run(...compile), { ...nothing, stdout: `${plan} written\n` })
  t.strictSame(await run(...compile), nothing)
  t.equal((await loadContract(readFileSync(plan), file)).title, 'Toys')
  writeFileSync(file, contract.replace('Toys', 'Dolls'))
  t.strictSame(await run(...compile, '--check'), { ...nothing, code: 1, stdout: `${plan} is stale\n` })
  await t.rejects(loadContract(readFileSync(plan), file), { message: 'compiled.yaml has changed since' })
  t.strictSame(await run(...compile), { ...nothing, stdout: `${plan} written\n` })
  t.equal((await loadContract(readFileSync(plan), file)).title, 'Dolls')
  writeFileSync(file, contract.replace('openapi: 3', 'openapi: 2'))
  t.match(await run(...compile), { code: 1, stdout: '', stderr: /compiled\.yaml:1:1: openapi must be/ })
  writeFileSync(file, "swagger: '2.0'\npaths: {}\n")
  const older = /and is missing: Swagger 2\.0 has to be converted first\n$/
  t.match(await run(...compile), { code: 1, stdout: '', stderr: older })
})

t.test('it keeps how slow patterns are, and with --check passes none that was not judged', async (t) => {
  const named = path.join(folder, 'patterns.yaml')
  const name = "Name: { type: string, pattern: '^[a-z]{3}' }"
  writeFileSync(named, contract.replace('schemas: {', `schemas: { ${name},`))
  const kept = path.join(folder, 'patterns', 'patterns.json')
  const generate = ['generate', named, '--output', path.dirname(kept)]
  t.match(await run(...generate, '--check'), { code: 1, stdout: `${kept} is missing\n` })
  t.match(await run(...generate), { code: 0, stdout: `${kept} written\n`, stderr: '' })
  t.strictSame(await run(...generate, '--check'), { code: 0, stdout: '', stderr: '' })
  const verdict = 'was not judged (it is too large for recheck)'
  writeFileSync(kept, readFileSync(kept, 'utf8').replace('null', `"${verdict}"`))
  const warning = `${place('patterns.yaml')}:8:48: warning: the pattern ^[a-z]{3} ${verdict}\n`
  t.strictSame(await run(...generate), { code: 0, stdout: '', stderr: warning })
  t.strictSame(await run(...generate, '--check'), {
    code: 1,
    stdout: '',
    stderr: `${warning}A pattern that was not judged is an error: it could stop the server.\n`,
  })
})

t.test('it warns of what the server ignores, with its line', async (t) => {
  const header = '{ name: Idempotency-Key, in: header, schema: { type: string } }'
  const ignored = contract.replace('listToys', `listToys\n      parameters: [${header}]`)
  writeFileSync(path.join(folder, 'warned.yaml'), ignored)
  const warning = 'GET /toys: the header parameter Idempotency-Key has no effect without x-idempotent'
  const outcome = await run('generate', path.join(folder, 'warned.yaml'), '--output', output)
  t.match(outcome, { code: 0, stderr: `${place('warned.yaml')}:5:5: warning: ${warning}\n` })
})

t.test('an example changes no type', async (t) => {
  const named = (value: boolean) =>
    contract.replace('schema: { $ref', `example: { readOnly: ${value} }, schema: { $ref`)
  for (const value of [true, false]) {
    writeFileSync(path.join(folder, `${value}.yaml`), named(value))
    await run('generate', path.join(folder, `${value}.yaml`), '--output', path.join(folder, String(value)))
  }
  const typesOf = (value: boolean) => readFileSync(path.join(folder, String(value), 'operations.ts'), 'utf8')
  t.equal(typesOf(true).replace('true.yaml', 'false.yaml'), typesOf(false))
})

t.test('a schema that is true or false has a type', async (t) => {
  const schemas =
    'Never: false, Any: true, None: { type: array, items: false }, One: { anyOf: [false, { type: integer }] }, All: { allOf: [true, { type: string }] }'
  writeFileSync(path.join(folder, 'booleans.yaml'), contract.replace('Toys: {', `${schemas}, Toys: {`))
  await run('generate', path.join(folder, 'booleans.yaml'), '--output', output)
  const types = readFileSync(path.join(output, 'types.ts'), 'utf8')
  const typeOf = (name: string) => new RegExp(`^export type ${name} = (.*);$`, 'm').exec(types)?.[1]
  t.strictSame(['Never', 'Any', 'None', 'One', 'All'].map(typeOf), [
    ...['never', 'unknown', 'never[]', 'never | number', 'unknown & string'],
  ])
})

t.test('it warns of what can only be a stub', async (t) => {
  writeFileSync(path.join(folder, 'draft.yaml'), `${contract.split('      responses')[0]}\ncomponents: {}\n`)
  const warning = 'GET /toys declares no responses: it can only be a stub'
  const outcome = await run('generate', path.join(folder, 'draft.yaml'), '--output', output)
  t.match(outcome, { code: 0, stderr: `${place('draft.yaml')}:5:5: warning: ${warning}\n` })
})

const unread: [title: string, content: string, warning: RegExp][] = [
  [
    'alone',
    '{ application/xml: { schema: { type: object } } }',
    /application\/xml cannot be validated .*: it can only be a stub$/m,
  ],
  [
    'beside JSON',
    '{ application/xml: { schema: { type: object } }, application/json: {} }',
    /application\/xml cannot be validated .* for raw bytes$/m,
  ],
  [
    'a range with a schema',
    "{ '*/*': { schema: { type: object } } }",
    /\*\/\* is not supported with its schema.*: it can only be a stub$/m,
  ],
]

for (const [title, content, warning] of unread)
  t.test(`it warns of a media type that the server cannot read: ${title}`, async (t) => {
    const file = path.join(folder, 'media.yaml')
    const text = `requestBody: { content: ${content} }\n      responses`
    writeFileSync(file, contract.replace('get:', 'post:').replace('responses', text))
    t.match(await run('generate', file, '--output', output), { code: 0, stderr: warning })
  })

t.test('it refuses a contract that cannot be used, with its line', async (t) => {
  writeFileSync(path.join(folder, 'wrong.yaml'), contract.replace('schemas/Toys', 'schemas/Cats'))
  const refused = `${place('wrong.yaml')}:7:80: cannot resolve $ref #/components/schemas/Cats\n`
  const answer = await run('generate', path.join(folder, 'wrong.yaml'), '--output', output)
  t.strictSame(answer, { code: 1, stdout: '', stderr: refused })
  const absent = await run('generate', path.join(folder, 'absent.yaml'))
  t.match(absent, { code: 1, stdout: '', stderr: `cannot read the file ${place('absent.yaml')}\n` })
})

t.test('it warns of a schema that doubles its work at each level', async (t) => {
  const file = path.join(folder, 'doublings.yaml')
  const a = "{ properties: { in: { $ref: '#/components/schemas/Toys' } } }"
  writeFileSync(file, contract.replace(/Toys: .*/, `Toys: { anyOf: [&a ${a}, *a] } } }`))
  t.match(await run('generate', file, '--output', output), {
    code: 0,
    stderr: /doublings\.yaml:8:26: warning: #\/components.* applies itself to its in twice/,
  })
})

t.test('it refuses a pattern that backtracks exponentially, and warns of others', async (t) => {
  const file = path.join(folder, 'patterns.yaml')
  const withPattern = (pattern: string) =>
    contract.replace('type: integer, format: int64', () => `type: string, pattern: '${pattern}'`)
  writeFileSync(file, withPattern('^(a+)+$'))
  const line = `${place('patterns.yaml')}:8:70`
  const refused = await run('generate', file, '--output', output)
  t.match(refused, { code: 1, stdout: '', stderr: `${line}: the pattern ^(a+)+$ backtracks: ` })
  writeFileSync(file, withPattern('a+$'))
  const warned = await run('generate', file, '--output', output)
  t.match(warned, { code: 0, stderr: `${line}: warning: the pattern a+$ backtracks: ` })
})

t.test('--root names the folder of the files', async (t) => {
  mkdirSync(path.join(folder, 'v1'))
  writeFileSync(path.join(folder, 'toys.yaml'), 'type: array\nitems: { type: boolean }\n')
  const file = path.join(folder, 'v1', 'openapi.yaml')
  writeFileSync(
    file,
    contract.replace('{ type: array, items: { type: integer, format: int64 } }', '{ $ref: ../toys.yaml }'),
  )
  const args = ['generate', file, '--output', output]
  t.match(await run(...args), { code: 1, stderr: /outside of the contract's folder.* the option --root$/m })
  t.match(await run(...args, '--root', folder), { code: 0, stderr: '' })
  t.match(readFileSync(path.join(output, 'types.ts'), 'utf8'), 'export type Toys = boolean[];')
})

t.test('it refuses one with a schema that is none, at its line', async (t) => {
  const file = path.join(folder, 'none.yaml')
  writeFileSync(file, contract.replace('{ type: array, items: { type: integer, format: int64 } }', 'text'))
  const ended = await run('generate', file, '--output', output)
  t.match(ended, { code: 1, stderr: /none\.yaml:8:\d+: .*schema/ })
})

for (const args of ['', 'generate', 'make a.yaml', 'generate a.yaml b.yaml', 'generate a.yaml --outputs']) {
  t.test(`wrong usage: ${args}`, async (t) => {
    t.match(await run(...args.split(' ')), { code: 2, stdout: '', stderr: /^Usage: contract-engine/ })
  })
}

t.test('--help prints the usage', async (t) => {
  t.match(await run('--help'), { code: 0, stdout: /^Usage: contract-engine/, stderr: '' })
})
