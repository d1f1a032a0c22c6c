// Finds the compiler of a project: TypeScript 7 if it is installed as `@typescript/native`, otherwise
// `typescript`.
'use strict'

const { createRequire } = require('node:module')
const path = require('node:path')

/** Returns the compiler's program, if it is native, and its environment; undefined without a compiler. */
function compilerOf(root) {
  const from = createRequire(path.resolve(root, 'package.json'))
  for (const name of ['@typescript/native', 'typescript']) {
    const folder = folderOf(from, name)
    if (folder === undefined) continue
    // The native compiler is in Go. With GOGC at 100, the default, it spends a quarter of its time on
    // garbage.
    const env = { GOGC: '400', ...process.env }
    return { program: path.join(folder, 'lib/tsc.js'), isNative: name !== 'typescript', env }
  }
  return undefined
}

function folderOf(from, name) {
  try {
    return path.dirname(from.resolve(`${name}/package.json`))
  } catch (_) {
    return undefined
  }
}

/**
 * Returns the kind of build dependencies that are not installed, and npm's option that installs them;
 * undefined if all are installed.
 */
function missingOf(root) {
  // `npm ci` omits development dependencies with NODE_ENV=production or --omit=dev. --omit=optional omits the
  // native compiler's program for this platform, which is an optional dependency.
  const compiler = compilerOf(root)
  if (compiler === undefined) return { name: 'development', option: 'dev' }
  const program = `@typescript/typescript-${process.platform}-${process.arch}`
  const from = createRequire(path.resolve(root, 'package.json'))
  if (compiler.isNative && folderOf(from, program) === undefined)
    return { name: 'optional', option: 'optional' }
  return undefined
}

module.exports = { compilerOf, missingOf }
