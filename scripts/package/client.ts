// Builds the client's package: ES modules and CommonJS with types. It contains its runtime, contract-client,
// so that callers install only one package.

import { cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { copyPages, problemsOf, programOf, write } from './compile.js'

const source = 'src/client'

// Without Node's types, because the client also runs in browsers.
const options = {
  types: [],
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
}

/**
 * Builds the package in a folder. Returns the compile errors, one per line; if there are any, writes nothing.
 */
export function buildClient(root: string, folder: string): string[] {
  const program = programOf(root, [path.join(source, 'index.ts')], options)
  const problems = problemsOf(program)
  if (problems.length > 0) return problems
  rmSync(folder, { recursive: true, force: true })
  program.emit(undefined, (file, text) => {
    const name = path.relative(root, file)
    write(path.join(folder, 'esm', name), withRuntime(text, name))
    if (name.endsWith('.d.ts')) write(path.join(folder, 'cjs', name), withRuntime(text, name))
  })
  for (const { fileName, text } of ownSources(program)) {
    const name = path.relative(root, fileName).replace(/\.ts$/, '.js')
    const { outputText, sourceMapText = '' } = ts.transpileModule(text, {
      fileName: path.basename(fileName),
      compilerOptions: {
        ...program.getCompilerOptions(),
        module: ts.ModuleKind.CommonJS,
        verbatimModuleSyntax: false,
      },
    })
    write(path.join(folder, 'cjs', name), withRuntime(outputText, name))
    write(path.join(folder, 'cjs', `${name}.map`), sourceMapText)
  }
  cpSync(runtimeOf('import'), path.join(folder, 'esm', runtime), { recursive: true })
  cpSync(runtimeOf('require'), path.join(folder, 'cjs', runtime), {
    recursive: true,
    filter: (file) => !file.endsWith('.json'), // the package has one at its root
  })
  write(path.join(folder, 'cjs/package.json'), '{ "type": "commonjs" }\n')
  copyPages(root, source, folder)
  return []
}

const runtime = 'contract-client'

function runtimeOf(condition: 'import' | 'require'): string {
  const entry =
    condition === 'import'
      ? fileURLToPath(import.meta.resolve(runtime))
      : createRequire(import.meta.url).resolve(runtime)
  return path.dirname(entry)
}

// Replaces imports of contract-client by its folder within this package.
function withRuntime(text: string, name: string): string {
  const place = path.posix.relative(path.posix.dirname(name), `${runtime}/index.js`)
  return text.replace(/(['"])contract-client\1/g, `$1${place}$1`)
}

function ownSources(program: ts.Program): ts.SourceFile[] {
  return program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
}
