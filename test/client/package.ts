// The client as its users get it: a tarball, installed by npm, in each runtime and with each module
// resolution.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { readContract } from 'contract-engine/compile'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { contractFile, projectRoot } from 'contract-service/internal/lib/paths'
import { isNightly } from 'contract-testing/nightly'
import t from 'tap'
import ts from 'typescript'
import { buildClient } from '../../scripts/package/client.js'
import { problemsOf } from '../../scripts/package/compile.js'
import { createClient } from '../../src/client/index.js'
import { browserIsMissing, openPage } from '../fixtures/browser.js'
import { deprecationWarning } from '../fixtures/facts.js'
import { fencesOf } from '../fixtures/pages.js'
import { pack, startRegistry } from '../fixtures/registry.js'
import { startService } from '../fixtures/service.js'
import { printedBy } from '../fixtures/type-compilers.js'

const run = promisify(execFile)
const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
} satisfies ts.CompilerOptions

const readme = readFileSync(path.join(projectRoot, 'src/client/README.md'), 'utf8')

// Not in dist/, because another test run may be building this checkout.
const built = temporaryDirectory(t)
t.strictSame(buildClient(projectRoot, built), [], 'it compiles')
const folder = temporaryDirectory(t, { 'package.json': '{}' })
t.before(async () => {
  const install = ['install', '--no-audit', '--no-fund', await pack(t, built)]
  const env = { PATH: process.env.PATH ?? '', HOME: folder, npm_config_registry: await startRegistry(t) }
  await run('npm', install, { cwd: folder, env })
})

const sample = `const store = createClient({ baseUrl: process.env.URL, key: process.env.KEY })
const body = { name: 'Rex', categoryId: 9223372036854775807n }
store.createPet({ body })
  .then(async ({ data: rex }) => {
    console.log(stringify(rex), parse(stringify(rex), 'Pet').id, parse(stringify([rex.categoryId, 2])))
    for await (const page of store.pages('listPets', { query: { limit: 1 } })) console.log(page.data.length)
    for await (const pet of store.items('listPets')) console.log(typeof pet.id, pet.name)
    const missing = store.getPet({ path: { petId: 404n } })
    await missing.catch((error) => console.log(error instanceof ApiError, error.code))
  })
`
const output = `{"id":1,"name":"Rex","categoryId":9223372036854775807} 1n [ 9223372036854775807n, 2 ]
1
bigint Rex
${deprecationWarning}
true pet_not_found
`
const names = '{ ApiError, createClient, parse, stringify }'
writeFileSync(path.join(folder, 'sample.mjs'), `import ${names} from 'animal-store-client'\n${sample}`)
writeFileSync(path.join(folder, 'sample.cjs'), `const ${names} = require('animal-store-client')\n${sample}`)

t.test('it depends on one package and has no install script', async (t) => {
  t.strictSame(
    readdirSync(path.join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['animal-store-client', 'lossless-json'],
  )
  const manifest = (at: string) => JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8'))
  const [own, server] = [
    manifest(path.join(folder, 'node_modules/animal-store-client')),
    manifest(projectRoot),
  ]
  t.match(own, {
    version: server.version,
    license: server.license,
    engines: server.engines,
    scripts: undefined,
  })
  t.match(
    { ...server.dependencies, ...server.devDependencies },
    own.dependencies,
    'in the versions that the tests use',
  )
  t.equal(server.exports, undefined, 'the server package exports nothing')
  const files = readdirSync(path.join(folder, 'node_modules/animal-store-client'), {
    recursive: true,
    withFileTypes: true,
  })
  const others = files.filter((file) => file.isFile() && !/\.(js|js\.map|d\.ts)$/.test(file.name))
  t.strictSame(others.map(({ name }) => name).sort(), [
    ...['LICENSE', 'README.md'],
    ...['package.json', 'package.json'],
  ])
})

t.test('its source maps contain the sources', async (t) => {
  for (const kind of ['esm', 'cjs']) {
    const file = path.join(folder, 'node_modules/animal-store-client', kind, 'contract-client/client.js.map')
    const source = readFileSync(path.join(projectRoot, 'packages/client/src/client.ts'), 'utf8')
    t.strictSame(JSON.parse(readFileSync(file, 'utf8')).sourcesContent, [source])
  }
})

// Bun and Deno are optional.
const runtimes: [title: string, program: string, ...args: string[]][] = [
  ['Node imports it', process.execPath, 'sample.mjs'],
  ['Node requires it', process.execPath, 'sample.cjs'],
  ['Bun imports it', 'bun', 'sample.mjs'],
  ['Deno imports it', 'deno', 'run', '--allow-all', '--node-modules-dir=manual', 'sample.mjs'],
]
for (const [title, program, ...args] of runtimes) {
  const isThere = (process.env.PATH ?? '')
    .split(path.delimiter)
    .some((at) => existsSync(path.resolve(at, program)))
  t.test(title, { skip: !isThere && `${program} is not installed` }, async (t) => {
    const { base, key } = await startService(t)
    const env = { PATH: process.env.PATH ?? '', HOME: folder, NO_COLOR: '1', KEY: key, URL: base }
    const { stdout } = await run('sh', ['-c', '"$0" "$@" 2>&1', program, ...args], { cwd: folder, env })
    t.equal(stdout, output)
  })
}

t.test('the block of its page runs as printed', async (t) => {
  const { base, key } = await startService(t)
  const [block] = fencesOf(readme).filter(({ language }) => language === 'js')
  const text = `${block?.text}`.replace('https://api.example.com/v1', base).replace('…', key)
  writeFileSync(path.join(folder, 'page.mjs'), text)
  const { stdout } = await run(process.execPath, ['page.mjs'], { cwd: folder })
  t.match(stdout, /^1n Ada\nbody\.name must [^\n]+\n$/)
})

const typed = `import {
  type CallData, type CallRequest, createClient, type ErrorCode, type ErrorOf, isErrorOf, type NewPet, parse,
  type Pet, type PetId, type PetStatus, stringify,
} from 'animal-store-client'

const store = createClient({ baseUrl: 'https://api.example.com/v1', key: '' })
const body: NewPet = { name: 'Rex', categoryId: 3n }
const status: PetStatus | undefined = undefined
store.createPet({ body: { ...body, status }, header: { 'Idempotency-Key': undefined } })
store.listPets({ query: { status }, header: undefined, timeoutMs: undefined })
export const added: Promise<{ readonly data: Pet }> = store.createPet({ body })
export async function all(): Promise<Pet[]> {
  const pets: Pet[] = []
  for await (const pet of store.items('listPets', { query: { limit: 1 } })) pets.push(pet)
  for await (const { data, rateLimit, position } of store.pages('listPets', { headers: { 'X-Gateway': 'a' } }))
    if (rateLimit?.remaining !== 0 && position === undefined) pets.push(...data)
  pets.push(...(await store.listPets({ position: 'after=2', key: async () => 'k' })).data)
  return pets
}
export const names: [PetStatus, ErrorCode, PetId] = ['sold', 'pet_not_found', parse('{}', 'Pet').id]
export const request: CallRequest<'listPets'> = {}
export const data: CallData<'getPet'> = parse(stringify(body), 'Pet')
export async function second(): Promise<readonly Pet[] | undefined> {
  const first = await store.listPets({ timeoutMs: 1000, attemptsMax: 1, key: 'k' })
  return (await first.next?.())?.data
}
export function codeOf(error: unknown): ErrorCode | undefined {
  if (!isErrorOf(error, 'createPet')) return undefined
  const status: 409 = error.status === 409 ? error.status : (0 as never)
  const { code } = error.body
  return status === 409 ? code : undefined
}
export type Missing = Extract<ErrorOf<'getPet'>, { readonly status: 404 }>['body']['code']
// @ts-expect-error: no list
store.items('getPet')
// @ts-expect-error: what is required must not be undefined
store.createPet({ body: { name: undefined, categoryId: 3n } })
// @ts-expect-error: an int64 is a bigint
store.createPet({ body: { name: 'Rex', categoryId: 3 } })
`

// The oldest TypeScript that the package's README names, if `.ci/run --nightly` has installed it.
const { TYPESCRIPT_OLDEST } = process.env
const oldest: typeof ts | undefined =
  TYPESCRIPT_OLDEST === undefined ? undefined : createRequire(import.meta.url)(TYPESCRIPT_OLDEST)
if (oldest !== undefined)
  t.equal(oldest.version.replace(/\.\d+$/, ''), /TypeScript (\d+\.\d+) or later/.exec(readme)?.[1])

const { Bundler, Node16, NodeNext } = ts.ModuleResolutionKind
const resolutions = [
  ['bundler', ts, { module: ts.ModuleKind.ESNext, moduleResolution: Bundler }],
  ['node16', ts, { module: ts.ModuleKind.Node16, moduleResolution: Node16 }],
  ['nodenext', ts, { module: ts.ModuleKind.NodeNext, moduleResolution: NodeNext }],
  ...(oldest === undefined
    ? []
    : [['nodenext', oldest, { module: ts.ModuleKind.NodeNext, moduleResolution: NodeNext }] as const]),
] as const
for (const [name, compiler, resolution] of isNightly ? resolutions : resolutions.slice(2, 3)) {
  t.test(`its types work in TypeScript ${compiler.version} with the resolution ${name}`, async (t) => {
    const files = ['typed.mts', 'typed.cts'].map((file) => path.join(folder, file))
    for (const file of files) writeFileSync(file, typed)
    const lib = ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts']
    const own = { skipLibCheck: false, skipDefaultLibCheck: true } // its declarations, but not TypeScript's
    const target = compiler.ScriptTarget.ES2022 // older versions of TypeScript know no newer one
    const options = { ...strict, ...resolution, ...own, target, types: [], lib }
    t.strictSame(problemsOf(compiler.createProgram(files, options), compiler), [])
  })
}

// Projects of callers: with the types of Node, of browsers or both, and with all generators that are
// installed. Without skipLibCheck, a program reports all errors that it reports with it. The older compiler
// takes ten times as long: it checks only the most different of these projects, and the resolutions above for
// browsers.
const dom = 'dom,dom.iterable'
const ofNode = ['--types', 'node', '--typeRoots', path.join(projectRoot, 'node_modules/@types')]
const both = ['--lib', `esnext,${dom}`, ...ofNode]
const nodeNext = ['--module', 'nodenext']
const projects: [title: string, compilers: readonly string[], ...options: string[]][] = [
  ['browsers', ['7'], ...nodeNext, '--lib', `es2023,${dom}`],
  ['browsers, esnext', ['7'], ...nodeNext, '--lib', `esnext,${dom},dom.asynciterable`],
  ['Node', ['5', '7'], ...nodeNext, '--lib', 'es2023', ...ofNode],
  ['Node, esnext', ['7'], ...nodeNext, '--lib', 'esnext', ...ofNode],
  ['both', ['5', '7'], ...nodeNext, ...both],
  ['both, of older modules', ['7'], '--module', 'node16', ...both],
  [
    'both, bundled, without a check of declarations',
    ['7'],
    ...['--module', 'preserve', '--moduleResolution', 'bundler', '--skipLibCheck'],
    ...both,
  ],
]
// All of them in a nightly run.
const tried = isNightly ? projects : projects.slice(4, 5)
for (const [title, compilers, ...options] of tried)
  for (const compiler of isNightly ? compilers : ['7'])
    t.test(`its types work in a project of ${title} with TypeScript ${compiler}`, async (t) => {
      const files = ['typed.mts', 'typed.cts']
      for (const file of files) writeFileSync(path.join(folder, file), typed)
      const fixed = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
      t.equal(await printedBy(compiler, folder, [...fixed, ...options, ...files]), '')
    })

t.test('editors show the description of an operation, and strike through a deprecated one', async (t) => {
  const file = path.join(folder, 'editor.mts')
  const imported = `import { createClient } from 'animal-store-client'`
  const text = `${imported}\ncreateClient({ baseUrl: '', key: '' }).getPet`
  writeFileSync(file, text)
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({ ...strict, types: [] }),
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const content = ts.sys.readFile(name)
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content)
    },
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
  })
  const info = service.getQuickInfoAtPosition(file, text.length - 1)
  const { summary = '', deprecation } = (await readContract(contractFile)).operations.get('getPet') ?? {}
  t.match(ts.displayPartsToString(info?.documentation), summary)
  const deprecated = info?.tags?.find(({ name }) => name === 'deprecated')
  const date = deprecation?.deprecatedAt.toISOString().slice(0, 10) ?? ''
  t.match(ts.displayPartsToString(deprecated?.text), `since ${date}`)
  t.match(ts.displayPartsToString(deprecated?.text), `Use \`${deprecation?.successor}\` instead.`)
  t.match(ts.displayPartsToString(info?.displayParts), 'Call<GetPetRequest, Pet>', 'types have names')
  const struck = service.getSuggestionDiagnostics(file).filter(({ reportsDeprecated }) => reportsDeprecated)
  t.equal(struck.length, 1)
})

t.test('an invalid baseUrl is rejected at once', async (t) => {
  const refused = [
    '',
    '/v1',
    undefined,
    'localhost:3000/v1',
    'ftp://a/v1',
    'http://a/v1?x=1',
    'http://a:b@c/v1',
  ]
  for (const baseUrl of refused) {
    const requirement = 'an http or https URL without a query, such as https://api.example.com/v1'
    const message = `baseUrl must be ${requirement}, not ${JSON.stringify(baseUrl)}`
    const create = () => createClient({ baseUrl: baseUrl as string, key: '' })
    t.throws(create, { name: 'TypeError', message }, String(baseUrl))
  }
  const readAsOptions = ['http://a/v1', 'http://a/v1/', 'http://a/store/v1', 'http://a/v1 ', 'http://a/v1\n']
  // A gateway may replace the prefix by another path, or by none.
  for (const baseUrl of [...readAsOptions, 'http://a', 'http://v1.a/', 'http://a/animals']) {
    let asked = ''
    const note = async ({ url }: Request) => {
      asked = url
      return new Response('[]', { headers: { 'Content-Type': 'application/json' } })
    }
    await createClient({ baseUrl, key: '', fetch: note }).listPets()
    t.equal(asked, `${baseUrl.trim().replace(/\/$/, '')}/pets`)
  }
})

t.test('a key that cannot be sent is rejected at once, without its text in the error', async (t) => {
  const make = (key: unknown) => createClient({ baseUrl: 'http://a/v1', key: key as string })
  const error = {
    name: 'TypeError',
    message: 'key must be a string of printable ASCII characters without spaces',
  }
  for (const key of [undefined, null, 3, 'a\nb', 'a b', 'é']) t.throws(() => make(key), error, String(key))
  for (const key of ['', 'ask_1', ' ask_1\r\n']) t.doesNotThrow(() => make(key))
})

t.test('it runs in a browser without a build step', { skip: browserIsMissing }, async (t) => {
  const { origin, base, key } = await startService(t)
  const page = await openPage(t)
  const json = import.meta.resolve('lossless-json').replace(/.*\/node_modules/, '/node_modules')
  const map = JSON.stringify({ imports: { 'lossless-json': json } })
  // From the service's origin, because the page may load nothing from another.
  await page.route(/\/node_modules\//, (route) =>
    route.fulfill({ path: path.join(folder, new URL(route.request().url()).pathname) }),
  )
  await page.route(`${origin}/client`, (route) =>
    route.fulfill({ contentType: 'text/html', body: `<script type="importmap">${map}</script>` }),
  )
  await page.goto(`${origin}/client`)
  const results = await page.evaluate(`(async () => {
    const { createClient } = await import('/node_modules/animal-store-client/esm/src/client/index.js')
    const store = createClient({ baseUrl: '${base}', key: '${key}' })
    const { data } = await store.createPet({ body: { name: 'Rex', categoryId: 9223372036854775807n } })
    const pages = []
    for await (const page of store.pages('listPets', { query: { limit: 1 } })) pages.push(page.data.length)
    const error = await store.getPet({ path: { petId: 9n } }).catch(({ code }) => code)
    const retries = []
    const onRetry = () => retries.push(1)
    const other = createClient({ baseUrl: '${base.replace('127.0.0.1', 'localhost')}', key: '', onRetry })
    const { code, message } = await other.listPets().catch((error) => error)
    return [typeof data.id, String(data.categoryId), pages, error, code, message, retries.length]
  })()`)
  const other = origin.replace('127.0.0.1', 'localhost')
  const refused = `${other} cannot be reached, or does not allow requests from ${origin} (CORS).`
  const expected = ['bigint', '9223372036854775807', [1], 'pet_not_found', 'unreachable', refused, 0]
  t.strictSame(results, expected)
})

t.test('the client uses neither Node nor code of the server', async (t) => {
  const program = ts.createProgram([path.join(projectRoot, 'src/client/index.ts')], {
    ...strict,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  })
  t.strictSame(problemsOf(program), [])
  const files = program.getSourceFiles().map(({ fileName }) => path.relative(projectRoot, fileName))
  const own = files.filter((file) => !file.startsWith('node_modules/'))
  t.strictSame(
    own.filter(
      (file) =>
        !/^(src\/client\/index|packages\/client\/dist\/src\/[\w-]+\.d|generated\/(client|errors|types))\.ts$/.test(
          file,
        ),
    ),
    [],
  )
  const packages = files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [])
  const known = ['typescript', 'lossless-json']
  t.strictSame(
    packages.filter((name) => !known.includes(name)),
    [],
  )
})
