// Which engine made a plan: a digest of its code, because the number of a release says nothing about a
// checkout. A bundle cannot look at that code: it has the digest that was written when the package was built.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { builtVersion } from './built-version.js'

// Set by who bundles an engine that build.cjs has not built, to what `engineVersion` returns before.
declare const bundledEngineVersion: string | undefined

let version: string | undefined // of the code that runs, which stays the same

/** A text that differs between engines whose code differs. */
export function engineVersion(): string {
  version ??= typeof bundledEngineVersion === 'string' ? bundledEngineVersion : ownVersion()
  return version
}

const { filename = '' } = import.meta // none in a bundle in CommonJS
const extension = path.extname(filename)

function ownVersion(): string {
  const isOwnFile = filename.endsWith(path.join('document', `engine-version${extension}`))
  if (isOwnFile && existsSync(filename)) return digestOfCode()
  if (builtVersion === undefined) throw new Error('contract-engine is bundled, and was not built before')
  return builtVersion
}

function digestOfCode(): string {
  const engine = path.join(path.dirname(filename), '..')
  const hash = createHash('sha256')
  for (const file of codeIn(engine).sort())
    hash.update(`${path.relative(engine, file)}\n`).update(readFileSync(file, 'utf8'))
  return hash.digest('base64url')
}

// What only writes types, what runs in browsers, and what has the version itself.
const others = ['generate', 'static', `built-version${extension}`]

// Builds have declarations and source maps beside. The option `recursive` takes 15 times as long: it asks of
// each name what it is.
function codeIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name)
    if (others.includes(entry.name)) return []
    if (entry.isDirectory()) return codeIn(file)
    return file.endsWith(extension) && !file.endsWith(`.d${extension}`) ? [file] : []
  })
}
