// Says what is missing before a start: the right Node, in words that an old one can read, for later syntax would break before it could be
// said; and the packages.
'use strict'

const { engines } = require('../package.json')

const wanted = engines.node.replace('>=', '')

if (isOlder(process.version.slice(1), wanted)) {
  console.error(`This service needs Node ${wanted} or newer, and this is ${process.version}.`)
  console.error('Install it from https://nodejs.org, or by a version manager: nvm install 22 && nvm use 22')
  process.exit(1)
}

try {
  require.resolve('@typescript/native/package.json') // what everything here needs, and an installation without it is not whole
} catch (_) {
  console.error('The packages are not installed yet: npm ci')
  process.exit(1)
}

function isOlder(version, than) {
  const theirs = than.split('.').map(Number)
  const ours = version.split('.').map(Number)
  const differing = theirs.findIndex((part, index) => part !== ours[index])
  return differing !== -1 && ours[differing] < theirs[differing]
}
