// The client's package: ES modules and CommonJS with types.

import { rmSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { copyPages, problemsOf, programOf, write } from './compile.js'

const source = 'src/client'

// Without Node's types, because the client also runs in browsers.
const options = {
  types: [],
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
}

/** Builds the package in a folder. Returns the compile errors, a line each; with errors it writes nothing. */
export function buildClient(root: string, folder: string): string[] {
  const program = programOf(root, [path.join(source, 'index.ts')], options)
  const problems = problemsOf(program)
  if (problems.length > 0) return problems
  rmSync(folder, { recursive: true, force: true })
  program.emit(undefined, (file, text) => {
    const name = path.relative(root, file)
    write(path.join(folder, 'esm', name), text)
    if (name.endsWith('.d.ts')) write(path.join(folder, 'cjs', name), text)
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
    write(path.join(folder, 'cjs', name), outputText)
    write(path.join(folder, 'cjs', `${name}.map`), sourceMapText)
  }
  write(path.join(folder, 'cjs/package.json'), '{ "type": "commonjs" }\n')
  copyPages(root, source, folder)
  return []
}

function ownSources(program: ts.Program): ts.SourceFile[] {
  return program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
}
