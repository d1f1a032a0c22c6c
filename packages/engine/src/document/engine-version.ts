// Which engine made a plan: a digest of its code, because the number of a release says nothing about a
// checkout.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

// Set by who bundles the engine into one file, to what `engineVersion` returns before.
declare const bundledEngineVersion: string | undefined

let version: string | undefined // of the code that runs, which stays the same

/** A text that differs between engines whose code differs. */
export function engineVersion(): string {
  version ??= typeof bundledEngineVersion === 'string' ? bundledEngineVersion : digestOfCode()
  return version
}

function digestOfCode(): string {
  const engine = path.join(import.meta.dirname, '..')
  const hash = createHash('sha256')
  for (const file of codeIn(engine).sort())
    hash.update(`${path.relative(engine, file)}\n`).update(readFileSync(file, 'utf8'))
  return hash.digest('base64url')
}

const extension = path.extname(import.meta.filename)
// What only writes types, and what runs in browsers.
const others = ['diff', 'generate', 'static', 'testing']

// Builds have declarations and source maps beside. The option `recursive` takes 15 times as long: it asks of
// each name what it is.
function codeIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return others.includes(entry.name) ? [] : codeIn(file)
    return file.endsWith(extension) && !file.endsWith(`.d${extension}`) ? [file] : []
  })
}
