// Compiles the packages of packages/, incrementally, for what imports them by their names: the service, its tools and
// tests. One that is installed instead is not there, and needs no build. With --tests their tests, too. Where nothing
// has changed no compiler starts, which would take longer to say so than a contract takes to read.
'use strict'

const { spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { missing } = require('./check-setup.cjs')

const root = path.join(__dirname, '..')

// The folders that options of a build add, and what the compiler knows of each.
const partOf = { '--tests': 'test', '--tools': 'tools', '--generator': 'generator' }
const infoOf = {
  src: '.tsbuildinfo',
  test: '.tests.tsbuildinfo',
  tools: '.tools.tsbuildinfo',
  generator: '.generator.tsbuildinfo',
}

/** The exit code of the build of a package. */
function buildPackage(name, args = []) {
  const folder = path.join(root, 'packages', name)
  const program = path.join(folder, 'build.cjs')
  if (!existsSync(program)) return 0
  const parts = ['src', ...args.flatMap((each) => partOf[each] ?? [])]
  const record = path.join(folder, `dist/.built-${parts.join('-')}`)
  const sources = args.every((each) => each in partOf) ? digestOfSources(folder, parts) : undefined
  const isCurrent = sources !== undefined && textOf(record) === sources + digestOfBuild(folder, parts)
  if (isCurrent) return 0
  rmSync(record, { force: true })
  const status = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' }).status ?? 1
  // Of the sources before: what was edited meanwhile is compiled the next time.
  if (status === 0 && sources !== undefined) writeFileSync(record, sources + digestOfBuild(folder, parts))
  return status
}

// Undefined without the list of packages, which npm writes with each change of one.
function digestOfSources(folder, parts) {
  const packages = textOf(path.join(root, 'node_modules/.package-lock.json'))
  if (packages === undefined) return undefined
  const settings = [
    'package.json',
    'build.cjs',
    'tsconfig.json',
    'tsconfig.tests.json',
    'tsconfig.tools.json',
    'tsconfig.generator.json',
    '../../tsconfig.json',
  ]
  const files = [...settings, ...parts.flatMap((part) => filesIn(folder, part))]
  return digestOf([packages, ...files.flatMap((file) => [file, textOf(path.join(folder, file)) ?? ''])])
}

// Of the names alone, and of what the compiler knows of the files: one that is gone is missed.
function digestOfBuild(folder, parts) {
  const names = parts.flatMap((part) => filesIn(folder, `dist/${part}`))
  return digestOf([...names, ...parts.map((part) => textOf(path.join(folder, 'dist', infoOf[part])) ?? '')])
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

module.exports = { buildPackage }

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
      buildPackage('client', ['--generator', ...args]) ||
      buildPackage('service', ['--tools', ...others]),
  )
}
