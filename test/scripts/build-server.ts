import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { projectRoot } from '../../src/lib/paths.js'
import { temporaryDirectory } from '../fixtures/directory.js'

const scripts = ['build-server', 'build-packages', 'check-setup'].map((name) => `scripts/${name}.cjs`)
const files = ['package.json', ...scripts]

// Runs the build in a project with these installed packages and no sources, as if under that version of Node.
async function build(
  t: Test,
  packages: Record<string, string>,
  version = process.version,
  event = 'prestart',
): Promise<{ code: number; stderr: string; folder: string }> {
  const folder = temporaryDirectory(t)
  for (const file of files) cpSync(path.join(projectRoot, file), path.join(folder, file))
  for (const [file, text] of Object.entries(packages)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  const script = path.join(folder, 'scripts/build-server.cjs')
  const pretend = `Object.defineProperty(process, 'version', { value: '${version}' })`
  const args = ['-e', `${pretend}; require(${JSON.stringify(script)})`]
  const env = { ...process.env, npm_lifecycle_event: event }
  return promisify(execFile)(process.execPath, args, { env }).then(
    ({ stderr }) => ({ code: 0, stderr, folder }),
    (error) => error,
  )
}

// What makes the plan of the contract.
const compile = 'dist/src/commands/compile.js'

const refusing = "console.error('openapi.yaml:1:1'); process.exitCode = 1"

const compilerProgram = `node_modules/@typescript/typescript-${process.platform}-${process.arch}/package.json`

function compiler(code: string): Record<string, string> {
  return {
    'node_modules/@typescript/native/package.json': '{}',
    [compilerProgram]: '{}',
    'node_modules/@typescript/native/lib/tsc.js': code,
    [compile]: '',
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
    const built = { ...installed, 'dist/src/main.js': '' }
    t.match(await build(t, { ...built, [compile]: '' }), notice)
    const refused = { code: 1, stderr: `${notice.stderr}openapi.yaml:1:1\n` }
    t.match(await build(t, { ...built, [compile]: refusing }), refused, 'with its plan')
  }
})

t.test('a compile error fails the build with the exit code of the compiler', async (t) => {
  t.match(await build(t, compiler('process.exit(2)')), { code: 2, stderr: 'Building the service …\n' })
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
