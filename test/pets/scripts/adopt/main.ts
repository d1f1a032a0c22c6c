import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createApiKey, withChecksum } from 'contract-service/internal/auth/api-key'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { adopt } from '../../../../scripts/adopt/adopt.js'
import { namePattern, renamed } from '../../../../scripts/adopt/names.js'
import { composed, mountedVolumes, readComposed } from '../../../fixtures/compose.js'
import { temporaryDirectory } from '../../../fixtures/directory.js'
import { startProcess } from '../../../fixtures/process.js'
import { send } from '../../../fixtures/service.js'
import { copyBuild, copyProjectTo, node } from '../../fixtures/copy.js'

const theirs = {
  v1: {
    'toys.yaml': `openapi: 3.0.3
info: { title: Toys, version: 1.0.0 }
servers: [{ url: 'https://toys.example/api' }, { url: 'https://mock.example' }]
paths:
  /toys:
    get:
      operationId: listToys
      parameters:
        - { name: expand, in: query, style: deepObject, schema: { type: array, items: { type: string } } }
        - { $ref: '../toy.yaml#/Page' }
      responses: { '200': { description: All., content: { application/json: { schema: { $ref: '../toy.yaml#/Toys' } } } } }
    post:
      operationId: createToy
      security: [{ key: [] }]
      requestBody: { required: true, content: { application/json: { schema: { $ref: '../toy.yaml#/Toy' } } } }
      responses: { '201': { description: Made. }, '401': { description: No key. } }
  /toys/{id}:
    get:
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
      responses: { '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Maybe' } } } } }
    put:
      operationId: replaceToy
      parameters: [{ $ref: '../toy.yaml#/Page' }]
      requestBody: { required: true, content: { application/xml: { schema: { $ref: '../toy.yaml#/Toy' } } } }
      responses: { '200': { description: It., content: { application/json: { schema: { $ref: '../toy.yaml#/Toy' } } } } }
components:
  securitySchemes: { key: { type: http, scheme: bearer } }
  schemas:
    Maybe: { allOf: [{ $ref: '#/components/schemas/Named' }], required: [name] }
    Named: { type: object, nullable: true, properties: { name: { type: string } } }
`,
  },
  'toy.yaml': `Toys: { type: array, items: { $ref: '#/Toy/allOf/0' } }
Toy:
  allOf: [{ type: object, properties: { parts: { type: array, items: { $ref: '#/Toy' } }, box: { $ref: '#/Toy/allOf/0' }, label: { $ref: './v1/toys.yaml#/components/schemas/Named' } } }]
  default: { weight: 9223372036854775807 }
Page: { name: page, in: query, schema: { type: integer } }
`,
  'swagger.yaml': 'swagger: "2.0"\ninfo: { title: Old, version: 1.0.0 }\npaths: {}\n',
  'tagged.yaml': 'openapi: 3.0.3\ninfo: { title: !mine Old, version: 1.0.0 }\npaths: {}\n',
  'wrong.yaml': `openapi: 3.0.3
info: { title: Wrong, version: 1.0.0 }
paths: { '/toys/*': { get: { responses: { '200': { description: A. } } } } }
`,
}

// Beside what is copied for other tests.
const others = [
  ...[
    'test',
    'docs',
    'deploy',
    'Dockerfile',
    'docker-compose.yml',
    '.gitignore',
    '.taprc',
    'package-lock.json',
    'packages',
  ],
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'LICENSE'],
]

// The project under git, with nothing to commit.
function checkout(t: Test) {
  const root = copyProjectTo(t, 'project')
  for (const part of others) cpSync(path.join(projectRoot, part), path.join(root, part), { recursive: true })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args], {
      cwd: root,
    }).toString()
  git('init', '--quiet')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Begin')
  const folder = temporaryDirectory(t, theirs)
  const home = { HOME: process.env.HOME ?? '' }
  const run = (script: string, ...args: string[]) =>
    node(root, ['--import', 'tsx', `scripts/${script}/main.ts`, ...args], home)
  // Of the build, which is that of the sources until they are changed.
  const runBuilt = (script: string, ...args: string[]) =>
    node(root, [`dist/scripts/${script}/main.js`, ...args], home)
  copyBuild(root)
  return { root, folder, git, run, runBuilt }
}

// The text files of a project, by their paths.
function textsOf(root: string): ReadonlyMap<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((each) => path.join(each.parentPath, each.name))
  const own = files
    .map((file) => path.relative(root, file))
    .filter((file) => !/^(node_modules|\.git)\//.test(file))
  return new Map(own.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))
}

function brokenLinksOf(root: string, page: string): string[] {
  const links = readFileSync(path.join(root, page), 'utf8').matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)
  const targets = [...links].map(([, link = '']) => path.join(path.dirname(page), link))
  return targets.filter((file) => !existsSync(path.join(root, file)))
}

// What a page names that is not there: links, files and folders, and npm scripts.
function missingFrom(root: string, page: string): string[] {
  const text = readFileSync(path.join(root, page), 'utf8')
  const files = [...text.matchAll(/(?<![\w/.])(?:src|test|docs|scripts|deploy)\/[\w./-]*/g)].map(
    ([file]) => file,
  )
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  const run = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name)
  return [
    ...brokenLinksOf(root, page),
    ...files.filter((file) => !existsSync(path.join(root, file))),
    ...run.filter((name) => !(name in scripts)),
  ]
}

// Modules of these folders that no other names.
function unusedIn(root: string, folders: readonly string[]): string[] {
  const modulesIn = (folder: string, kinds = /\.ts$/) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => kinds.test(name))
      .map((name) => path.join(folder, name))
  const sources = ['generated', 'scripts', 'src', 'test'].flatMap((folder) =>
    modulesIn(folder, /\.(ts|mjs)$/),
  )
  const all = [...sources, '.taprc', 'package.json']
  const texts = new Map(all.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))
  const isUsed = (file: string) => {
    const named = new RegExp(`[/'"]${path.basename(file, '.ts')}\\.[jt]s\\b`)
    return all.some((other) => other !== file && named.test(texts.get(other) ?? ''))
  }
  const isModule = (file: string) => !file.endsWith('.d.ts') // the compiler finds declarations by itself
  return folders.flatMap((folder) => modulesIn(folder)).filter((file) => isModule(file) && !isUsed(file))
}

// The files of the image, as the last stage of the Dockerfile copies them, and of the package; not the
// programs beside them.
async function imageOf(t: Test, root: string): Promise<string> {
  t.match(await node(root, ['scripts/build-server.cjs']), { code: 0 })
  // The stage that builds has the contract's copy in one file alone.
  const compiled = await node(root, [
    'node_modules/contract-service/dist/src/commands/compile.js',
    'generated/openapi.yaml',
  ])
  t.match(compiled, { code: 0, stdout: '', stderr: '' })
  const image = temporaryDirectory(t)
  const stage =
    readFileSync(path.join(root, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? ''
  for (const [, from, words = ''] of stage.matchAll(/^COPY (--from=\S+ )?(.+)$/gm)) {
    const sources = words.split(' ').map((word) => (from ? word.replace('/app/', '') : word))
    const target = sources.pop() ?? ''
    for (const source of sources.filter((name) => name !== 'node_modules')) {
      const place = target.endsWith('/') ? path.join(target, path.basename(source)) : target
      cpSync(path.join(root, source), path.join(image, place), { recursive: true })
    }
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(image, 'node_modules'))
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root }).toString(),
  )
  const names = new Set(packed.files.map((file: { readonly path: string }) => file.path))
  const files = readdirSync(image, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const own = files.map(({ parentPath, name }) => path.relative(image, path.join(parentPath, name)))
  const missing = own.filter((file) => !names.has(file) && !/^node_modules|tsbuildinfo$/.test(file))
  t.strictSame(missing, [], 'the package has the same files')
  return image
}

t.test('a document that cannot be adopted changes nothing', async (t) => {
  const { root, folder, git, runBuilt } = checkout(t)
  for (const [name, message] of [
    ['swagger.yaml', /Swagger 2\.0 has to be converted first/],
    ['wrong.yaml', /^[./\w-]*\/wrong\.yaml:\d+:\d+: \/toys\/\*: a path cannot contain \*,/],
    ['tagged.yaml', /^[./\w-]*\/tagged\.yaml:2:\d+: Unresolved tag: !mine$/],
    ['missing.yaml', /missing\.yaml/],
    ['v1/toys.yaml', /toy\.yaml is outside of the contract's folder.* the option --root$/m],
  ] as const)
    await t.rejects(adopt(root, path.join(folder, name)), { message }, name)
  t.match(await runBuilt('adopt'), { code: 2, stderr: /Name one document/ })
  const misnamed = await runBuilt('adopt', '--name', 'toy_box', path.join(folder, 'v1/toys.yaml'))
  t.match(misnamed, { code: 2, stderr: /--name must be small letters/ })
  t.match(await runBuilt('adopt', path.join(folder, 'swagger.yaml')), { code: 1, stderr: /Swagger 2\.0/ })
  t.equal(git('status', '--porcelain'), '')
  writeFileSync(path.join(root, 'src/new.ts'), '')
  t.match(await runBuilt('adopt', path.join(folder, 'v1/toys.yaml')), {
    code: 1,
    stderr: /uncommitted changes/,
  })
  t.equal(git('status', '--porcelain'), '?? src/new.ts\n')
})

t.test('a project has the name in every spelling, and keys of its own', async (t) => {
  const text = 'animal-store-client animal_store_up AnimalStoreDown Animal Store, ask_ task_ animals.example'
  t.equal(
    renamed(text, 'library'),
    'library-client library_up LibraryDown Library, lik_ task_ library.example',
  )
  t.equal(
    renamed(text, 'toy-box'),
    'toy-box-client toy_box_up ToyBoxDown Toy Box, tbk_ task_ toy-box.example',
  )
  const key = renamed(createApiKey(), 'library')
  t.equal(key, withChecksum(key.slice(0, -6)), 'a key in an example stays valid')
  for (const name of ['a1', 'toy-box-2', 'x'.repeat(30)]) t.match(name, namePattern)
  for (const name of ['Toys', 'toy_box', '-toys', 'toys-', '1toys', 't', '', 'x'.repeat(31)])
    t.notMatch(name, namePattern)
})

// Files that a team would write.
const examples: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['test/handlers/', 'test/x.ts', 'src/x.ts'],
  'docs/adopting.md': [
    'src/migrations/library/0100-books.sql',
    'test/handlers/getBook.ts',
    'src/admin/generated',
  ],
}

t.test('an adopted document generates, compiles, starts, and responds with 501', async (t) => {
  const { root, folder, git, run, runBuilt } = checkout(t)
  const adopted = await runBuilt(
    'adopt',
    '--name',
    'toy-box',
    '--root',
    folder,
    path.join(folder, 'v1/toys.yaml'),
  )
  t.match(adopted, { code: 0, stdout: /4 operations[\s\S]*; the project is called toy-box/ })
  t.match(adopted.stderr, /GET \/toys\/\{id\} has no operationId: the server uses getToysById/)
  const unread =
    'openapi\\.yaml:\\d+:\\d+: GET /toys: the query parameter expand has the style deepObject, .*'
  t.match(adopted.stderr, new RegExp(`warning: ${unread}: it can only respond with 501\n`))
  t.match(adopted.stderr, /servers: the path \/ is ignored: all operations are served under \/api/)
  t.strictSame(readdirSync(path.join(root, 'src/handlers')).sort(), [
    'createToy.ts',
    'getToysById.ts',
    'handler.ts',
    'listToys.ts',
    'replaceToy.ts',
  ])
  t.equal(
    readFileSync(path.join(root, 'openapi.yaml'), 'utf8'),
    theirs.v1['toys.yaml'].replaceAll('../toy.yaml#', 'toy.yaml#'),
  )
  t.equal(
    readFileSync(path.join(root, 'toy.yaml'), 'utf8'),
    theirs['toy.yaml'].replace('./v1/toys.yaml#', 'openapi.yaml#'),
  )
  for (const gone of [
    'src/handlers/pets/pets.ts',
    'scripts/bench',
    'test/pets/handlers/getPet.ts',
    'test/pets/fixtures/facts.ts',
    'docs/speed.md',
  ])
    t.notOk(existsSync(path.join(root, gone)), `${gone} is gone`)
  t.ok(existsSync(path.join(root, 'test/database/table/columns.ts')), 'tests of the house stay')
  t.strictSame(readdirSync(path.join(root, 'packages')).sort(), [
    'contract-client-1.0.0.tgz',
    'contract-engine-1.0.0.tgz',
  ])
  t.strictSame(unusedIn(root, ['scripts/lib', 'src', 'test/fixtures']), [], 'nothing is left without a use')
  t.match(await run('generate', '--check'), { code: 0 })
  rmSync(path.join(root, 'dist'), { recursive: true })
  const image = await imageOf(t, root)
  // As `npm run types` does: unlike one program of all files, tests see only what they import.
  const build = ['node_modules/@typescript/native/bin/tsc', '-b', 'tsconfig.tests.json']
  t.match(await node(root, build), { code: 0, stdout: '' })
  rmSync(path.join(root, 'dist'), { recursive: true })
  for (const page of ['README.md', 'docs/adopting.md', 'src/client/README.md'])
    t.strictSame(missingFrom(root, page), examples[page] ?? [], `${page} names what is there`)
  for (const page of readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.md')))
    t.strictSame(brokenLinksOf(root, `docs/${page}`), [], `the links of docs/${page} have targets`)
  t.match(readFileSync(path.join(root, 'README.md'), 'utf8'), /^# Toys\n/)
  const stack = readComposed(root)
  t.strictSame(
    [...mountedVolumes(stack)],
    [...mountedVolumes(composed)].map(([place, volume]) => [place, `toy-box-${volume}`]),
    'Docker keeps its data apart from the animals’',
  )
  t.strictSame(Object.keys(stack.volumes).sort(), [...mountedVolumes(stack).values()].sort())
  const packaged = readFileSync(path.join(root, 'src/client/README.md'), 'utf8')
  t.match(packaged, "baseUrl: 'https://api.example.com/api'")
  t.match(packaged, 'client.listToys()')
  t.notMatch(packaged, /pet|animal/i)
  const named = [...textsOf(root)].filter(([file, text]) => /animal.?store|\bask_/i.test(file + text))
  t.strictSame(
    named.map(([file]) => file).filter((file) => !file.startsWith('scripts/adopt/')),
    ['CHANGELOG.md', 'LICENSE'],
    'nothing else has the old name',
  )
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Adopt')
  const again = await run('adopt', path.join(folder, 'v1/toys.yaml'))
  t.match(again, { code: 1, stderr: /has adopted a contract already[\s\S]* run: npm run generate/ })
  t.equal(git('status', '--porcelain'), '', 'a second run changes nothing')

  const { base, welcome, stop } = await startProcess(t, { DATA_DIR: temporaryDirectory(t) }, { root: image })
  const auth = { authorization: `Bearer ${/tbk_\w+/.exec(welcome)?.[0]}` }
  const notWritten = { status: 501, body: { code: 'not_implemented', status: 501 } }
  t.match(await send(`${base}/toys`), notWritten)
  t.match(await send(`${base}/toys/1`), notWritten)
  t.match(await send(`${base}/toys`, 'POST'), { status: 401, body: { code: 'missing_api_key' } })
  t.match(await send(`${base}/toys`, 'POST', auth), notWritten)
  t.match(await stop(), { code: 0 })

  const handler = path.join(root, 'src/handlers/listToys.ts')
  writeFileSync(handler, 'export const listToys = async () => ({ status: 200, body: [] })\n')
  t.match(await run('generate'), { code: 1, stderr: new RegExp(`^${unread}\n$`) })
})
