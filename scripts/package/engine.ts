// The engine's package: ES modules with types, for a server of its own, for tools, and for generating types;
// with the few modules of src/lib that they use, the files of /docs, and the pages of what is supported.

import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { copyPage, copyPages, problemsOf, programOf, write } from './compile.js'

const source = 'src/openapi'

/** Builds the package in a folder. Returns the compile errors, a line each; with errors it writes nothing. */
export function buildEngine(root: string, folder: string): string[] {
  const program = programOf(root, entriesOf(root))
  const problems = problemsOf(program)
  if (problems.length > 0) return problems
  rmSync(folder, { recursive: true, force: true })
  program.emit(undefined, (file, text) => write(path.join(folder, path.relative(root, file)), text))
  const files = path.join(source, 'documents/static')
  cpSync(path.join(root, files), path.join(folder, files), { recursive: true })
  const pages = readdirSync(path.join(root, source)).filter((name) => name.endsWith('.md'))
  copyPages(root, source, folder, pages)
  for (const page of pages) copyPage(path.join(root, source, page), folder, pages)
  return []
}

// The modules that the manifest exports, and its command.
function entriesOf(root: string): string[] {
  const manifest = JSON.parse(readFileSync(path.join(root, source, 'package.json'), 'utf8')) as Manifest
  const exported = Object.values(manifest.exports).flatMap((each) =>
    typeof each === 'string' ? [] : each.default,
  )
  return [...exported, ...Object.values(manifest.bin)].map((file) => file.replace(/\.js$/, '.ts'))
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}
