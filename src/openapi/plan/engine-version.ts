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
  for (const file of [...codeIn(engine), ...codeIn(path.join(engine, '../lib'))])
    hash.update(`${path.relative(engine, file)}\n`).update(readFileSync(file, 'utf8'))
  return hash.digest('base64url')
}

// Without what only writes types, and what runs in browsers. Builds have declarations and source maps beside.
function codeIn(folder: string): string[] {
  const extension = path.extname(import.meta.filename)
  const isCode = (name: string) => name.endsWith(extension) && !name.endsWith(`.d${extension}`)
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => isCode(name) && !/^(generate|documents.static)\b/.test(name))
    .sort()
    .map((name) => path.join(folder, name))
}
