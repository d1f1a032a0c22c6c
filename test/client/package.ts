// The client as others get it: from the build, by the package's name, and without Node.

import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { projectRoot } from '../../src/paths.js'
import { browserIsMissing, openPage } from '../fixtures/browser.js'
import { copyProject } from '../fixtures/copy.js'
import { temporaryDirectory } from '../fixtures/directory.js'
import { deprecationWarning } from '../fixtures/facts.js'
import { startService } from '../fixtures/service.js'

const run = promisify(execFile)
const strict = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
} satisfies ts.CompilerOptions

function problemsOf(program: ts.Program): string[] {
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}

// Built in a copy, for another run of the tests may be building this checkout; and of all that `npm run build` makes, what the client
// needs.
const built = copyProject(t)
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(path.join(built, 'tsconfig.build.json'), ts.sys.readFile).config,
  ts.sys,
  built,
)
const build = ts.createProgram([path.join(built, 'src/client/index.ts')], { ...options, incremental: false })
t.strictSame(problemsOf(build), [], 'it compiles')
build.emit()

const sample = `import { type ApiError, createClient } from 'animal-store-service/client'

const store = createClient({ baseUrl: process.env.URL ?? '', key: process.env.KEY ?? '' })
const { data: rex } = await store.createPet({ body: { name: 'Rex', categoryId: 9223372036854775807n } })
console.log(rex)
for await (const page of store.pages('listPets', { query: { limit: 2 } })) {
  for (const pet of page) console.log(pet.id, pet.name)
}
await store.getPet({ path: { petId: 404n } }).catch((error: ApiError) => console.log(error.code))
`

const output = `{ id: 1n, name: 'Rex', categoryId: 9223372036854775807n }
1n Rex
${deprecationWarning}
pet_not_found
`

t.test('whoever installs the package has its types and its code', async (t) => {
  const folder = temporaryDirectory(t, { 'package.json': '{"type":"module"}' })
  mkdirSync(path.join(folder, 'node_modules', '@types'), { recursive: true })
  symlinkSync(built, path.join(folder, 'node_modules', 'animal-store-service'))
  symlinkSync(
    path.join(projectRoot, 'node_modules/@types/node'),
    path.join(folder, 'node_modules/@types/node'),
  )
  const { base, key } = await startService(t)
  const file = path.join(folder, 'sample.ts')
  writeFileSync(file, sample)
  t.strictSame(problemsOf(ts.createProgram([file], { ...strict, types: ['node'] })), [], 'its types fit')

  const { outputText } = ts.transpileModule(sample, {
    compilerOptions: { target: strict.target, module: ts.ModuleKind.ESNext },
  })
  writeFileSync(path.join(folder, 'sample.js'), outputText)
  const env = { PATH: process.env.PATH ?? '', KEY: key, URL: base }
  const { stdout, stderr } = await run('sh', ['-c', `"${process.execPath}" sample.js 2>&1`], {
    cwd: folder,
    env,
  })
  t.equal(stdout + stderr, output)
})

t.test('a browser runs it as it is', { skip: browserIsMissing }, async (t) => {
  const { origin, base, key } = await startService(t)
  const page = await openPage(t)
  const names = ['openapi-fetch', 'lossless-json']
  const imports = names.map((name) => [
    name,
    import.meta.resolve(name).replace(/.*\/node_modules/, '/node_modules'),
  ])
  const map = JSON.stringify({ imports: Object.fromEntries(imports) })
  // From the service's origin, which lets no other in.
  await page.route(/\/(dist|node_modules)\//, (route) =>
    route.fulfill({ path: path.join(built, new URL(route.request().url()).pathname) }),
  )
  await page.route(`${origin}/client`, (route) =>
    route.fulfill({ contentType: 'text/html', body: `<script type="importmap">${map}</script>` }),
  )
  await page.goto(`${origin}/client`)
  const told = await page.evaluate(`(async () => {
    const { createClient } = await import('/dist/src/client/index.js')
    const store = createClient({ baseUrl: '${base}', key: '${key}' })
    const { data } = await store.createPet({ body: { name: 'Rex', categoryId: 9223372036854775807n } })
    const pages = []
    for await (const page of store.pages('listPets', { query: { limit: 1 } })) pages.push(page.length)
    const error = await store.getPet({ path: { petId: 9n } }).catch(({ code }) => code)
    return [typeof data.id, String(data.categoryId), pages, error]
  })()`)
  t.strictSame(told, ['bigint', '9223372036854775807', [1], 'pet_not_found'])
})

t.test('the client needs neither Node nor the server', async (t) => {
  const program = ts.createProgram([path.join(projectRoot, 'src/client/index.ts')], {
    ...strict,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  })
  t.strictSame(problemsOf(program), [])
  const files = program.getSourceFiles().map(({ fileName }) => path.relative(projectRoot, fileName))
  const own = files.filter((file) => !file.startsWith('node_modules/'))
  t.strictSame(
    own.filter((file) => !/^(src\/client\/\w+|generated\/(client|types|operations))\.ts$/.test(file)),
    [],
  )
  const packages = files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [])
  const known = ['typescript', 'openapi-fetch', 'openapi-typescript-helpers', 'lossless-json']
  t.strictSame(
    packages.filter((name) => !known.includes(name)),
    [],
  )
})
