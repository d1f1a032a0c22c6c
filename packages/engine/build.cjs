// Compiles the package into dist/, with --tests its tests, too.
'use strict'

const { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { compilePackage } = require('../../scripts/build-packages.cjs')

const statics = 'src/serve/documents/static' // of /docs, which the compiler leaves behind
process.exitCode = compilePackage(__dirname)
if (process.exitCode === 0) {
  copyChanged(path.join(__dirname, statics), path.join(__dirname, 'dist', statics))
  writeVersion(path.join(__dirname, 'dist/src/document'))
}

// For bundles of the engine, which cannot look at its code.
async function writeVersion(folder) {
  const { engineVersion } = await import(pathToFileURL(path.join(folder, 'engine-version.js')))
  const file = path.join(folder, 'built-version.js')
  const text = `export const builtVersion = ${JSON.stringify(engineVersion())}\n`
  if (readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
}

// The bundle of a service is made again when a file is newer; the times that a copy keeps differ between
// versions of Node.
function copyChanged(from, to) {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const bytes = readFileSync(path.join(from, name))
    const copy = path.join(to, name)
    if (!existsSync(copy) || !readFileSync(copy).equals(bytes)) writeFileSync(copy, bytes)
  }
}
