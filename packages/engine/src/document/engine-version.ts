// Says which engine made a plan: by a digest of its code, because a release number says nothing about a
// checkout. A bundle cannot read that code, so it has the digest from when the package was built.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { builtVersion } from './built-version.js'

// Set by a bundler of an engine that build.cjs has not built, to the text that `engineVersion` returned
// before.
declare const bundledEngineVersion: string | undefined

let version: string | undefined // kept, because the running code stays the same

/** Returns a text that differs between engines with different code. */
export function engineVersion(): string {
  version ??= typeof bundledEngineVersion === 'string' ? bundledEngineVersion : ownVersion()
  return version
}

const { filename = '' } = import.meta // empty in a bundle in CommonJS
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

// Skips what only writes types, what runs in browsers, and the file with the version itself.
const others = ['generate', 'static', `built-version${extension}`]

// Skips the declarations and source maps of a build. The option `recursive` takes 15 times as long, because
// it asks for the type of each name.
function codeIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name)
    if (others.includes(entry.name)) return []
    if (entry.isDirectory()) return codeIn(file)
    return file.endsWith(extension) && !file.endsWith(`.d${extension}`) ? [file] : []
  })
}
