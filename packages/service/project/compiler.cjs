// The compiler of a project: that of TypeScript 7, if it is installed as `@typescript/native`, else that of
// `typescript`.
'use strict'

const { createRequire } = require('node:module')
const path = require('node:path')

/** Its program, whether it is native, and the environment it runs in; undefined without any. */
function compilerOf(root) {
  const from = createRequire(path.resolve(root, 'package.json'))
  for (const name of ['@typescript/native', 'typescript']) {
    const folder = folderOf(from, name)
    if (folder === undefined) continue
    // The native one is in Go: at 100, its default, collecting garbage takes a quarter of its time.
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
 * What of the dependencies that build a project is not installed, and the option that installs it; undefined
 * if all is.
 */
function missingOf(root) {
  // `npm ci` omits development dependencies with NODE_ENV=production or --omit=dev. The native compiler's
  // program is an optional one, for this platform, which --omit=optional omits.
  const compiler = compilerOf(root)
  if (compiler === undefined) return { name: 'development', option: 'dev' }
  const program = `@typescript/typescript-${process.platform}-${process.arch}`
  const from = createRequire(path.resolve(root, 'package.json'))
  if (compiler.isNative && folderOf(from, program) === undefined)
    return { name: 'optional', option: 'optional' }
  return undefined
}

module.exports = { compilerOf, missingOf }
