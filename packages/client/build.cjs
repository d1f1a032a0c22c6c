// Compiles the package into dist/, incrementally; with --generator its generator, with --tests its tests, too, and
// with --cjs a copy in CommonJS.
'use strict'

const { spawnSync } = require('node:child_process')
const { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')

const compiler = path.join(path.dirname(require.resolve('@typescript/native/package.json')), 'lib/tsc.js')
const projects = ['.']
if (process.argv.includes('--generator')) projects.push('tsconfig.generator.json')
if (process.argv.includes('--tests')) projects.push('tsconfig.tests.json')
const args = [compiler, '-b', ...projects, '--stopBuildOnErrors', '--checkers', '2']
// The compiler is in Go: at 100, its default, collecting garbage takes a quarter of its time.
const env = { GOGC: '400', ...process.env }
const { status, signal, error } = spawnSync(process.execPath, args, { cwd: __dirname, env, stdio: 'inherit' })
if (status === null) console.error(`The compiler was killed: ${signal ?? error}`)
if (status === 0 && process.argv.includes('--cjs')) writeCommonJs()
process.exit(status ?? 1)

function writeCommonJs() {
  const ts = require('typescript')
  const compilerOptions = {
    ...{ module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 },
    ...{ sourceMap: true, inlineSources: true },
  }
  const folder = path.join(__dirname, 'dist/cjs')
  mkdirSync(folder, { recursive: true })
  for (const fileName of readdirSync(path.join(__dirname, 'src'))) {
    const text = readFileSync(path.join(__dirname, 'src', fileName), 'utf8')
    const { outputText, sourceMapText } = ts.transpileModule(text, { fileName, compilerOptions })
    const name = fileName.replace(/\.ts$/, '.js')
    writeFileSync(path.join(folder, name), outputText)
    writeFileSync(path.join(folder, `${name}.map`), sourceMapText)
    const types = fileName.replace(/\.ts$/, '.d.ts')
    cpSync(path.join(__dirname, 'dist/src', types), path.join(folder, types))
  }
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }\n')
}
