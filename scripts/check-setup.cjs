// Checks the Node version and that the dependencies are installed. The syntax is old on purpose: an old Node
// must be able to parse this file to print its message.
'use strict'

const { engines } = require('../package.json')

const required = engines.node.replace('>=', '')

if (isOlder(process.version.slice(1), required)) {
  console.error(`Node ${required} or newer is required; this is ${process.version}.`)
  console.error('Install it from https://nodejs.org, or with a version manager: nvm install 26 && nvm use 26')
  process.exit(1)
}

// Required only now, because its syntax is newer.
const { missingOf } = require('../packages/service/project/compiler.cjs')

const missing = missingOf(`${__dirname}/..`)

if (missing && !isInstalled('fastify')) {
  console.error('The dependencies are not installed. Run: npm ci')
  process.exit(1)
}

if (missing && require.main === module) {
  console.error(`The ${missing.name} dependencies are not installed. Run: npm ci --include=${missing.option}`)
  process.exit(1)
}

module.exports = { missing }

function isInstalled(name) {
  try {
    require.resolve(`${name}/package.json`)
    return true
  } catch (_) {
    return false
  }
}

function isOlder(version, than) {
  const theirs = than.split('.').map(Number)
  const ours = version.split('.').map(Number)
  const differing = theirs.findIndex((part, index) => part !== ours[index])
  return differing !== -1 && ours[differing] < theirs[differing]
}
