// Compiles a project into dist/, incrementally, and bundles its programs. If the build tools are not
// installed, as in production, keeps the existing build.
'use strict'

const { spawnSync } = require('node:child_process')
const { accessSync, constants, existsSync, rmSync } = require('node:fs')
const path = require('node:path')
const { bundle, isOutdated } = require('./bundle-server.cjs')
const { compilerOf, missingOf } = require('./compiler.cjs')

/**
 * Builds the project in a folder. Resolves with an exit code, after printing any errors.
 * @param buildPackages builds the packages that the project imports by name, and returns an exit code. Before
 *   it begins something long, it calls its argument.
 */
async function buildProject(root, buildPackages = () => 0) {
  const isBuilt = existsSync(path.join(root, 'dist/service/main.js'))
  const missing = missingOf(root)
  if (missing) {
    const problem = `The ${missing.name} dependencies, which build the service, are not installed`
    if (isBuilt) console.error(`${problem}: running the existing build in dist/.`)
    else console.error(`${problem}, and there is no build in dist/.\nRun: npm ci --include=${missing.option}`)
    return isBuilt ? compileContract(root) : 1
  }
  // Of other scripts than `npm start`, the output belongs to what they run.
  const announce = process.env.npm_lifecycle_event === 'prestart' ? announcer() : undefined
  if (announce && (!isBuilt || isOutdated(root))) announce()
  if (!isBuilt) rmSync(path.join(root, 'dist/.tsbuildinfo'), { force: true }) // of a build that was deleted
  const status = buildPackages(announce) || compile(root)
  if (status !== 0) return explained(root, status)
  const ofContract = compileContract(root)
  if (ofContract !== 0) return explained(root, ofContract)
  return bundleAll(root)
}

// Returns a function that announces a build to whoever waits for it, only once.
function announcer() {
  let isAnnounced = false
  return () => {
    if (!isAnnounced) console.error('Building the service …')
    isAnnounced = true
  }
}

function compile(root) {
  const { program, isNative, env } = compilerOf(root)
  const hasOwn = existsSync(path.join(root, 'tsconfig.build.json')) // covers only the service, without tests
  const project = hasOwn ? ['-b', 'tsconfig.build.json'] : ['-p', '.']
  const args = [program, ...project, ...(isNative ? ['--checkers', '2'] : [])]
  const { status, signal, error } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
  if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
  return status ?? 1
}

// Compiles the plan of the contract. An installation has only the contract's copy in one file.
function compileContract(root) {
  const copy = process.env.npm_lifecycle_event === 'prepack' ? ['generated/openapi.yaml'] : []
  const program = path.join(root, 'node_modules/contract-service/dist/src/commands/compile.js')
  if (!existsSync(program)) return 0
  return spawnSync(process.execPath, [program, ...copy], { cwd: root, stdio: 'inherit' }).status ?? 1
}

async function bundleAll(root) {
  try {
    await bundle(root)
    return 0
  } catch ({ message }) {
    console.error(message)
    return 1
  }
}

// Adds hints to the compiler's messages.
function explained(root, code) {
  if (!existsSync(path.join(root, 'generated/operations.ts')))
    console.error('generated/ is not complete. Run: npm run generate')
  const folders = ['dist', 'packages/engine/dist', 'packages/service/dist']
  const folder = folders.find((name) => isClosed(path.join(root, name)))
  if (folder !== undefined)
    console.error(`This user cannot write to ${folder}. As the one who can, run: npm run build`)
  return code
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

module.exports = { buildProject }
