// Compiles the packages of packages/, incrementally, for what imports them by their names: the service, its tools and
// tests. One that is installed instead is not there, and needs no build. With --tests their tests, too.
'use strict'

const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const path = require('node:path')
const { missing } = require('./check-setup.cjs')

/** The exit code of the build of a package. */
function buildPackage(name, args = []) {
  const program = path.join(__dirname, '../packages', name, 'build.cjs')
  if (!existsSync(program)) return 0
  return spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' }).status ?? 1
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
  process.exit(buildPackage('engine', args) || buildPackage('client', args))
}
