import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'

const scripts = ['build-server', 'build-packages', 'check-setup'].map((name) => `scripts/${name}.cjs`)
const ofService = ['build', 'bundle-server', 'compiler'].map((name) => `packages/service/project/${name}.cjs`)
const files = ['package.json', ...scripts, ...ofService]

// Runs the build in a project with these installed packages and no sources, as if under that version of Node.
async function build(
  t: Test,
  packages: Record<string, string>,
  version = process.version,
  event = 'prestart',
  before = '',
): Promise<{ code: number; stderr: string; folder: string }> {
  const folder = temporaryDirectory(t)
  for (const file of files) cpSync(path.join(projectRoot, file), path.join(folder, file))
  for (const [file, text] of Object.entries(packages)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  const script = path.join(folder, 'scripts/build-server.cjs')
  const pretend = `Object.defineProperty(process, 'version', { value: '${version}' }); ${before}`
  const args = ['-e', `${pretend}; require(${JSON.stringify(script)})`]
  const env = { ...process.env, npm_lifecycle_event: event }
  return promisify(execFile)(process.execPath, args, { env }).then(
    ({ stderr }) => ({ code: 0, stderr, folder }),
    (error) => error,
  )
}

// The program that makes the plan of the contract.
const compile = 'node_modules/contract-service/dist/src/commands/compile.js'

const refusing = "console.error('openapi.yaml:1:1'); process.exitCode = 1"

const compilerProgram = `node_modules/@typescript/typescript-${process.platform}-${process.arch}/package.json`

const page = 'node_modules/contract-engine/dist/src/serve/documents/static/page.css'

const bundler = 'exports.build = async () => ({ metafile: { inputs: {}, outputs: {} } })'

function compiler(code: string): Record<string, string> {
  return {
    'node_modules/@typescript/native/package.json': '{}',
    [compilerProgram]: '{}',
    'node_modules/@typescript/native/lib/tsc.js': code,
    [compile]: '',
    'node_modules/esbuild/index.js': bundler,
    'node_modules/contract-engine/package.json': '{}',
    'node_modules/contract-service/package.json': '{}',
    'node_modules/contract-service/migrations/0002-keys.sql': '',
    'node_modules/contract-engine/dist/src/document/engine-version.js': "exports.engineVersion = () => '1'",
    [page]: 'The page.',
  }
}

t.test('without dependencies, the build says to run npm ci', async (t) => {
  t.match(await build(t, {}), { code: 1, stderr: 'The dependencies are not installed. Run: npm ci\n' })
})

t.test('an install without the compiler runs an existing build, or says how to make one', async (t) => {
  const fastify = { 'node_modules/fastify/package.json': '{}' }
  const compilerFiles = Object.entries({ ...fastify, ...compiler('process.exit(2)') })
  const withoutProgram = Object.fromEntries(compilerFiles.filter(([file]) => file !== compilerProgram))
  for (const [name, option, installed] of [
    ['development', 'dev', fastify],
    ['optional', 'optional', withoutProgram],
  ] as const) {
    const missing = `The ${name} dependencies, which build the service, are not installed`
    const refusal = `${missing}, and there is no build in dist/.\nRun: npm ci --include=${option}\n`
    t.match(await build(t, installed), { code: 1, stderr: refusal })
    const notice = { code: 0, stderr: `${missing}: running the existing build in dist/.\n` }
    const built = { ...installed, 'dist/service/main.js': '' }
    t.match(await build(t, { ...built, [compile]: '' }), notice)
    const refused = { code: 1, stderr: `${notice.stderr}openapi.yaml:1:1\n` }
    t.match(await build(t, { ...built, [compile]: refusing }), refused, 'with its plan')
  }
})

t.test('a compile error fails the build with the exit code of the compiler', async (t) => {
  t.match(await build(t, compiler('process.exit(2)')), { code: 2, stderr: 'Building the service …\n' })
})

t.test('a build that fails says what is not there, and what it may not write', async (t) => {
  const missing = 'generated/ is not complete. Run: npm run generate\n'
  const failing = compiler('process.exit(2)')
  t.match(await build(t, failing), { code: 2, stderr: missing })
  const complete = { ...failing, 'generated/operations.ts': '' }
  t.equal((await build(t, complete, 'v26.0.0')).stderr, 'Building the service …\n')
  const closed = "require('node:fs').accessSync = () => { throw new Error('EACCES') }"
  const outcome = await build(t, complete, 'v26.0.0', 'prestart', closed)
  const advice = 'This user cannot write to dist. As the one who can, run: npm run build\n'
  t.match(outcome, { code: 2, stderr: `Building the service …\n${advice}` })
})

t.test('a killed compiler (out of memory, for example) fails the build with a message', async (t) => {
  const stderr = 'Building the service …\nThe compiler was killed: SIGKILL\n'
  t.match(await build(t, compiler("process.kill(process.pid, 'SIGKILL')")), { code: 1, stderr })
})

t.test('a contract that cannot be compiled fails the build, with the reason', async (t) => {
  const stderr = 'Building the service …\nopenapi.yaml:1:1\n'
  t.match(await build(t, { ...compiler(''), [compile]: refusing }), { code: 1, stderr })
})

t.test('a build that is packed has the plan of the contract in one file', async (t) => {
  const shown = "console.error('compiles', ...process.argv.slice(2))"
  const packages = { ...compiler(''), [compile]: shown }
  const { stderr } = await build(t, packages, process.version, 'prepack')
  t.match(stderr, 'compiles generated/openapi.yaml\n')
  t.match(await build(t, packages), { stderr: /compiles\n$/ })
})

t.test('a successful compilation exits 0, with what a newer Node gains on the oldest', async (t) => {
  t.match(await build(t, compiler(''), 'v20.19.0'), { code: 0, stderr: /^Node 20 .* On Node 26, .*\n/ })
  t.match(await build(t, compiler(''), 'v22.1.0'), { code: 0, stderr: 'Building the service …\n' })
})

// A fake esbuild that writes a program, and records how often it was called.
const counting = `const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs')
exports.build = async ({ outdir }) => {
  mkdirSync(outdir, { recursive: true })
  appendFileSync(outdir + '/calls', '.')
  writeFileSync(outdir + '/main.js', '')
  return { metafile: { inputs: { 'src/main.ts': {} }, outputs: { 'dist/service/main.js': {} } } }
}`

t.test(
  'programs are bundled again, and that is said, when anything has changed that they are made of, and only then',
  async (t) => {
    const sources = { ...compiler(''), 'node_modules/esbuild/index.js': counting, 'src/main.ts': '' }
    const { folder } = await build(t, { ...sources, 'dist/service/chunk-OLD.js': '' })
    const calls = () => readFileSync(path.join(folder, 'dist/service/calls'), 'utf8').length
    t.notOk(existsSync(path.join(folder, 'dist/service/chunk-OLD.js')), 'of a bundle before')
    const program = path.join(folder, 'scripts/build-server.cjs')
    const again = (npm_lifecycle_event = 'prestart') => {
      const env = { ...process.env, npm_lifecycle_event }
      const { stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8', env })
      return stderr.replace(/^Node 20 .*\n/, '') // what a start says besides on the oldest version
    }
    t.equal(again(), '')
    t.equal(calls(), 1)
    const changed = [
      'src/main.ts',
      page,
      'package.json',
      'dist/service/main.js',
      'node_modules/.package-lock.json',
    ]
    for (const [i, file] of changed.entries()) {
      appendFileSync(path.join(folder, file), '\n')
      t.equal(again(), 'Building the service …\n', file)
      t.equal(calls(), i + 2, file)
      t.equal(again(), '', `${file}, once`)
      t.equal(calls(), i + 2, `${file}, once`)
    }
    appendFileSync(path.join(folder, page), '\n')
    t.equal(again('prekeys'), '', 'a command has no other output')
    t.equal(calls(), changed.length + 2)
  },
)

// A fake esbuild whose chunk has another name each time.
const chunking = `const { readdirSync, mkdirSync, writeFileSync } = require('node:fs')
exports.build = async ({ outdir }) => {
  mkdirSync(outdir, { recursive: true })
  const name = 'chunk-' + readdirSync(outdir).length + '-' + Date.now() + '.js'
  for (const each of ['main.js', name]) writeFileSync(outdir + '/' + each, '')
  const outputs = { 'dist/service/main.js': {}, ['dist/service/' + name]: {} }
  return { metafile: { inputs: { 'src/main.ts': {} }, outputs } }
}`

t.test(
  'the files of the bundle before stay, which running instances load late, and no older ones',
  async (t) => {
    const { folder } = await build(t, {
      ...compiler(''),
      ...{ 'node_modules/esbuild/index.js': chunking, 'src/main.ts': '' },
    })
    const service = path.join(folder, 'dist/service')
    const chunks = () => readdirSync(service).filter((name) => name.startsWith('chunk'))
    const bundles = [chunks()]
    const page = openSync(path.join(service, 'static/page.css'), 'r')
    t.teardown(() => closeSync(page))
    for (let i = 0; i < 2; i++) {
      appendFileSync(path.join(folder, 'src/main.ts'), '\n')
      execFileSync(process.execPath, [path.join(folder, 'scripts/build-server.cjs')])
      bundles.push(chunks().filter((name) => !bundles.flat().includes(name)))
    }
    t.strictSame(
      bundles.map(({ length }) => length),
      [1, 1, 1],
    )
    t.strictSame(chunks().sort(), bundles.slice(1).flat().sort())
    t.equal(fstatSync(page).nlink, 0, 'who has the page open reads the old one')
  },
)

t.test('a build says so once before it compiles a package, too', async (t) => {
  const packageFiles = {
    'node_modules/.package-lock.json': '{}',
    ...Object.fromEntries(
      ['engine', 'service'].map((name) => [`packages/${name}/build.cjs`, "console.error('compiles')"]),
    ),
  }
  const built = { ...compiler(''), ...packageFiles, 'dist/service/main.js': '' }
  t.match(await build(t, built, 'v22.1.0'), {
    code: 0,
    stderr: 'Building the service …\ncompiles\ncompiles\n',
  })
})

t.test('a program that cannot be bundled fails the build', async (t) => {
  const failing = "exports.build = async () => { throw new Error('1 error') }"
  const packages = { ...compiler(''), 'node_modules/esbuild/index.js': failing }
  t.match(await build(t, packages), { code: 1, stderr: 'Building the service …\n1 error\n' })
})
