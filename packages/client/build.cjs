// Compiles the package into dist/, with --generator its generator, with --tests its tests, too, and with
// --cjs a copy in CommonJS.
'use strict'

const { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { compilePackage } = require('../../scripts/build-packages.cjs')

process.exitCode = compilePackage(__dirname)
if (process.exitCode === 0 && process.argv.includes('--cjs')) writeCommonJs()

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
