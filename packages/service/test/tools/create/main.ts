import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { projectRoot } from '../../../src/lib/paths.js'
import { creating, documents, filesOf } from '../../fixtures/created.js'

t.test('of a document that is refused no project is made', async (t) => {
  const { folder, create } = creating(t)
  const before = readdirSync(folder).sort()
  mkdirSync(path.join(folder, 'full'))
  writeFileSync(path.join(folder, 'full/file'), '')
  for (const [args, code, stderr] of [
    [['swagger.yaml'], 1, /Swagger 2\.0/],
    [['wrong.yaml'], 1, /^wrong\.yaml:3:\d+: \/toys\/\*: a path cannot contain \*,/],
    [['tagged.yaml'], 1, /^tagged\.yaml:2:\d+: Unresolved tag: !mine$/m],
    [['missing.yaml'], 1, /missing\.yaml/],
    [['v1/toys.yaml'], 1, /toy\.yaml is outside of the contract's folder.* the option --root$/m],
    [['--name', 'full', '--root', '.', 'v1/toys.yaml'], 1, /^The folder full has files: name another\.$/m],
    [[], 2, /Name one document/],
    [['wrong.yaml', 'full'], 1, /^The folder full has files/],
    [['wrong.yaml', 'new', 'newer'], 2, /Name one document/],
    [['--name', 'toy_box', 'wrong.yaml'], 2, /--name must be small letters and digits/],
    [['--naem', 'toys', 'wrong.yaml'], 2, /Unknown option '--naem'/],
  ] as const)
    t.match(await create(...args), { code, stdout: '', stderr }, args.join(' '))
  t.strictSame(readdirSync(folder).sort(), [...before, 'full'].sort())
  t.strictSame(readdirSync(path.join(folder, 'full')), ['file'])
})

t.test('a project has the files of its document, what a team writes, and what runs it', async (t) => {
  const { folder, create } = creating(t)
  const created = await create('--root', '.', 'v1/toys.yaml')
  t.match(created, { code: 0, stdout: /^toy-box is a service of v1\/toys\.yaml: 4 operations/ })
  t.match(created.stdout, / {2}key: apiKeys\(\)\nNext steps: cd toy-box && npm install && npm test\n$/)
  t.match(created.stderr, /GET \/toys\/\{id\} has no operationId: the server uses getToysById/)
  t.match(
    created.stderr,
    /warning: openapi\.yaml:\d+:\d+: GET \/toys: the query parameter expand has the style/,
  )
  const project = path.join(folder, 'toy-box')
  const read = (file: string) => readFileSync(path.join(project, file), 'utf8')
  const own = filesOf(project).filter((file) => !file.startsWith('generated/'))
  const stubs = ['createToy', 'getToysById', 'listToys', 'replaceToy'].map(
    (name) => `src/handlers/${name}.ts`,
  )
  t.strictSame(own, [...frame, ...stubs, 'openapi.yaml', 'toy.yaml'].sort())
  t.ok(frame.length < 20)
  const code = frame.filter((file) => file.endsWith('.ts')).map((file) => read(file).split('\n').length)
  t.ok(code.reduce((sum, lines) => sum + lines, 0) < 300, 'lines of TypeScript')
  t.equal(read('openapi.yaml'), documents.v1['toys.yaml'].replaceAll('../toy.yaml#', 'toy.yaml#'))
  t.equal(read('toy.yaml'), documents['toy.yaml'].replace('./v1/toys.yaml#', 'openapi.yaml#'))
  const foreign = filesOf(project).filter((file) =>
    /animal|\bpets?\b|\{\{[\w ]+\}\}/i.test(file + read(file)),
  )
  t.strictSame(foreign, [], 'nothing is of another service, or was not filled in')
  for (const [, target = ''] of read('README.md').matchAll(/\]\(([^)#]+)/g))
    t.ok(existsSync(path.join(project, target)), target)
  t.match(JSON.parse(read('package.json')), {
    name: 'toy-box-service',
    dependencies: { 'contract-service': String },
  })
})

t.test('a project lists the packages that its contract alone needs', async (t) => {
  const { folder, create } = creating(t)
  t.match(await create('tables.yaml'), {
    code: 0,
    stdout: /^tables is a service of tables\.yaml: 1 operations/,
  })
  const manifest = JSON.parse(readFileSync(path.join(folder, 'tables/package.json'), 'utf8'))
  const { dependencies, devDependencies, overrides } = manifest
  const own = ['contract-client', 'contract-diff', 'contract-engine', 'contract-service']
  t.strictSame(Object.keys(dependencies).sort(), [...own, 'jose', 'papaparse'])
  const others = { ...manifestOf('engine').peerDependencies, ...manifestOf('service').peerDependencies }
  t.match(dependencies, { jose: others.jose, papaparse: others.papaparse })
  const tested = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8'))
  t.match(tested.devDependencies, devDependencies, 'of the versions that this project is tested with')
  t.strictSame(overrides, tested.overrides)
})

function manifestOf(name: string): { readonly peerDependencies: Readonly<Record<string, string>> } {
  return JSON.parse(readFileSync(path.join(projectRoot, 'packages', name, 'package.json'), 'utf8'))
}

const frame = [
  ...['.dockerignore', '.gitignore', 'Dockerfile', 'README.md', 'docker-compose.yml'],
  ...['deploy/alerts.yaml', 'deploy/kubernetes.yaml', 'package.json', 'tsconfig.json'],
  ...['src/errors.ts', 'src/handlers/handler.ts', 'src/main.ts', 'src/migrations/.gitkeep'],
  ...['src/schemes.ts', 'src/services.ts', 'test/contract.ts', 'test/operations.ts'],
]

t.test('what a new project has in common with this one is the same', async (t) => {
  const template = (file: string) =>
    readFileSync(path.join(projectRoot, 'packages/service/template', file), 'utf8')
  const own = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')
  t.equal(template('src/handlers/handler.ts'), own('src/handlers/handler.ts'))
  const names = { name: 'animal-store', name_: 'animal_store', Name: 'AnimalStore', title: 'Animal Store' }
  const filled = (text: string) => text.replace(/\{\{(\w+)\}\}/g, (_, key: keyof typeof names) => names[key])
  t.equal(filled(template('deploy/alerts.yaml')), own('deploy/monitoring/alerts.yaml'))
  const kubernetes = ['migrations', 'deployment', 'service'].map((name) =>
    own(`deploy/kubernetes/${name}.yaml`),
  )
  const ofHost = (text: string) => text.replace('animals.example', 'animal-store.example')
  t.equal(filled(template('deploy/kubernetes.yaml')), ofHost(kubernetes.join('---\n')))
  const strictness = (tsconfig: string) =>
    Object.entries(JSON.parse(tsconfig).compilerOptions).filter(([, value]) => typeof value === 'boolean')
  t.strictSame(strictness(template('tsconfig.json')), strictness(own('tsconfig.json')))
  const image = /^FROM (\S+)/m
  t.equal(image.exec(template('Dockerfile'))?.[1], image.exec(own('Dockerfile'))?.[1])
})
