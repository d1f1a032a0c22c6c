// Compiles the packages of packages/, incrementally, for what imports them by their names: the service, its
// tools and tests. One that is installed instead is not there, and needs no build. With --tests their tests,
// too. Where nothing has changed no compiler starts, which would take longer to say so than a contract takes
// to read.
'use strict'

const { spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { missing } = require('./check-setup.cjs')
const { compilerOf } = require('../packages/service/project/compiler.cjs')

const root = path.join(__dirname, '..')

// What a package has beside its src/, by the option that builds it: `--tests` is test/, by
// tsconfig.tests.json. The build.cjs of the package itself writes dist/cjs/, of src/.
const folderOf = { tools: 'tools', generator: 'generator', tests: 'test', cjs: 'cjs' }
const partsOf = (options) => Object.keys(folderOf).filter((part) => options.includes(`--${part}`))

/**
 * Compiles a package into its dist/: what the build.cjs of each calls. The exit code is that of the compiler.
 */
function compilePackage(folder, options = process.argv.slice(2)) {
  const parts = partsOf(options).filter((part) => part !== 'cjs')
  const projects = ['.', ...parts.map((part) => `tsconfig.${part}.json`)]
  const { program, env } = compilerOf(folder)
  const args = [program, '-b', ...projects, '--stopBuildOnErrors', '--checkers', '2']
  const { status, signal, error } = spawnSync(process.execPath, args, { cwd: folder, env, stdio: 'inherit' })
  if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
  return status ?? 1
}

/**
 * The exit code of the build of a package.
 * @param announce is called before a compiler starts, which takes a few seconds
 */
function buildPackage(name, args = [], announce = () => {}) {
  const folder = path.join(root, 'packages', name)
  const program = path.join(folder, 'build.cjs')
  if (!existsSync(program)) return 0
  const parts = partsOf(args)
  const folders = ['src', ...parts.map((part) => folderOf[part])]
  const infos = ['.tsbuildinfo', ...parts.map((part) => `.${part}.tsbuildinfo`)]
  const record = path.join(folder, `dist/.built-${folders.join('-')}`)
  const sources = digestsOfSources(folder, folders)
  const digests = () => [...sources, digestOfBuild(folder, folders, infos)].join('\n')
  const recorded = textOf(record)
  if (sources !== undefined && recorded === digests()) return 0
  const [names] = sources ?? []
  // By its time, the compiler takes a file that was moved there for one that it has compiled.
  if (names !== undefined && recorded !== undefined && recorded.split('\n')[0] !== names)
    for (const info of infos) rmSync(path.join(folder, 'dist', info), { force: true })
  mkdirSync(path.join(folder, 'dist'), { recursive: true })
  writeFileSync(record, names ?? '')
  announce()
  const status = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' }).status ?? 1
  // Of the sources before: what was edited meanwhile is compiled the next time.
  if (status === 0 && sources !== undefined) writeFileSync(record, digests())
  return status
}

// Of the names and of the texts. Undefined without the list of packages, which npm writes with each change of
// one.
function digestsOfSources(folder, folders) {
  const packages = textOf(path.join(root, 'node_modules/.package-lock.json'))
  if (packages === undefined) return undefined
  const settings = [
    'package.json',
    'build.cjs',
    '../../scripts/build-packages.cjs',
    'tsconfig.json',
    ...Object.keys(folderOf).map((part) => `tsconfig.${part}.json`),
    '../../tsconfig.json',
  ]
  const files = [...settings, ...folders.flatMap((each) => filesIn(folder, each))]
  const texts = files.flatMap((file) => [file, textOf(path.join(folder, file)) ?? ''])
  return [digestOf(files), digestOf([packages, ...texts])]
}

// Of the names alone, and of what the compiler knows of the files: one that is gone is missed.
function digestOfBuild(folder, folders, infos) {
  const names = folders.flatMap((each) => filesIn(folder, `dist/${each}`))
  return digestOf([...names, ...infos.map((info) => textOf(path.join(folder, 'dist', info)) ?? '')])
}

function digestOf(texts) {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}\n`).update(text)
  return hash.digest('hex')
}

// The paths below a folder, from the one around it. The option `recursive` takes 15 times as long.
function filesIn(folder, part) {
  const place = path.join(folder, part)
  if (!existsSync(place)) return []
  return readdirSync(place, { withFileTypes: true }).flatMap((entry) => {
    const inner = `${part}/${entry.name}`
    return entry.isDirectory() ? filesIn(folder, inner) : [inner]
  })
}

function textOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

module.exports = { buildPackage, compilePackage }

if (require.main === module) {
  if (missing) {
    console.error(
      `The ${missing.name} dependencies are not installed. Run: npm ci --include=${missing.option}`,
    )
    process.exit(1)
  }
  const args = process.argv.slice(2)
  const others = args.filter((each) => each !== '--cjs') // which the client alone has
  process.exit(
    buildPackage('engine', others) ||
      buildPackage('testing', others) ||
      buildPackage('diff', others) ||
      buildPackage('client', ['--generator', ...args]) ||
      buildPackage('service', ['--tools', ...others]),
  )
}
