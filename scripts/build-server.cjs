// Builds what changed of the service, with a word before the first time, which takes ten seconds and more.
'use strict'

const { execFileSync } = require('node:child_process')
const { existsSync, rmSync } = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
if (!existsSync(path.join(root, 'dist/src/main.js'))) {
  console.error('Building the service …')
  rmSync(path.join(root, 'dist/.tsbuildinfo'), { force: true }) // of a build that is not there any more
}
try {
  execFileSync(process.execPath, [require.resolve('typescript/bin/tsc'), '-b', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  })
} catch ({ status }) {
  process.exit(status)
}
