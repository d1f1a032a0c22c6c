// Compiles the package into dist/, incrementally; with --tools its tools, too.
'use strict'

const { spawnSync } = require('node:child_process')
const path = require('node:path')

const compiler = path.join(path.dirname(require.resolve('@typescript/native/package.json')), 'lib/tsc.js')
const projects = process.argv.includes('--tools') ? ['.', 'tsconfig.tools.json'] : ['.']
const args = [compiler, '-b', ...projects, '--stopBuildOnErrors', '--checkers', '2']
// The compiler is in Go: at 100, its default, collecting garbage takes a quarter of its time.
const env = { GOGC: '400', ...process.env }
const { status, signal, error } = spawnSync(process.execPath, args, { cwd: __dirname, env, stdio: 'inherit' })
if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
process.exit(status ?? 1)
