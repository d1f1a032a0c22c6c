// Compiles the service into dist/, incrementally.
'use strict'

require('./check-setup.cjs')

const { spawnSync } = require('node:child_process')
const { existsSync, rmSync } = require('node:fs')
const path = require('node:path')

if (process.version.startsWith('v20.'))
  console.error(
    'Node 20 is no longer maintained. On Node 26, a request takes about a quarter less of the processor.',
  )
const root = path.join(__dirname, '..')
if (!existsSync(path.join(root, 'dist/src/main.js'))) {
  console.error('Building the service …') // a full build takes a few seconds
  rmSync(path.join(root, 'dist/.tsbuildinfo'), { force: true }) // of a build that was deleted
}
const compiler = path.join(root, 'node_modules/@typescript/native/lib/tsc.js')
const { status, signal, error } = spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
process.exit(status ?? 1)
