// Compiles the service into dist/, incrementally, and bundles its programs. A production install runs the build that it finds there.
'use strict'

const { missing } = require('./check-setup.cjs')
const { buildPackage } = require('./build-packages.cjs')

const { spawnSync } = require('node:child_process')
const { accessSync, constants, existsSync, rmSync } = require('node:fs')
const path = require('node:path')

if (process.version.startsWith('v20.') && process.env.npm_lifecycle_event === 'prestart')
  console.error(
    'Node 20 is no longer maintained. On Node 26, a request takes about a quarter less of the processor.',
  )
const root = path.join(__dirname, '..')
const isBuilt = existsSync(path.join(root, 'dist/service/main.js'))
if (missing) {
  const problem = `The ${missing.name} dependencies, which build the service, are not installed`
  if (isBuilt) console.error(`${problem}: running the existing build in dist/.`)
  else console.error(`${problem}, and there is no build in dist/.\nRun: npm ci --include=${missing.option}`)
  process.exit(isBuilt ? compileContract() : 1)
}
if (!isBuilt) {
  console.error('Building the service …') // a full build takes a few seconds
  rmSync(path.join(root, 'dist/.tsbuildinfo'), { force: true }) // of a build that was deleted
}
const ofPackages = buildPackage('engine') || buildPackage('service')
if (ofPackages !== 0) fail(ofPackages)
const compiler = path.join(root, 'node_modules/@typescript/native/lib/tsc.js')
const args = [compiler, '-b', 'tsconfig.build.json', '--checkers', '2']
const env = { GOGC: '400', ...process.env } // see packages/engine/build.cjs
const { status, signal, error } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
if (status !== 0) fail(status ?? 1)
const ofContract = compileContract()
if (ofContract !== 0) fail(ofContract)
const { bundle } = require('./bundle-server.cjs')
bundle().catch(({ message }) => {
  console.error(message)
  process.exitCode = 1
})

// With what the messages of the compiler leave open.
function fail(code) {
  if (!existsSync(path.join(root, 'generated/operations.ts')))
    console.error('generated/ is not complete. Run: npm run generate')
  const folders = ['dist', 'packages/engine/dist', 'packages/service/dist']
  const folder = folders.find((name) => isClosed(path.join(root, name)))
  if (folder !== undefined)
    console.error(`This user cannot write to ${folder}. As the one who can, run: npm run build:server`)
  process.exit(code)
}

function isClosed(folder) {
  if (!existsSync(folder)) return isClosed(path.dirname(folder))
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch {
    return true
  }
}

// An installation has the contract's copy in one file alone, and its plan.
function compileContract() {
  const copy = process.env.npm_lifecycle_event === 'prepack' ? ['generated/openapi.yaml'] : []
  const program = path.join(root, 'node_modules/contract-service/dist/src/commands/compile.js')
  if (!existsSync(program)) return 0
  return spawnSync(process.execPath, [program, ...copy], { cwd: root, stdio: 'inherit' }).status ?? 1
}
