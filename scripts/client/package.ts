// The client's package: ES modules and CommonJS with types, and source maps that include the sources.

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

const source = 'src/client'

/** Builds the package in a folder. Returns the compile errors, a line each; with errors it writes nothing. */
export function buildPackage(root: string, folder: string): string[] {
  const program = ts.createProgram([path.join(root, source, 'index.ts')], optionsFor(root))
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
      compilerOptions: { ...optionsFor(root), module: ts.ModuleKind.CommonJS, verbatimModuleSyntax: false },
    })
    write(path.join(folder, 'cjs', name), outputText)
    write(path.join(folder, 'cjs', `${name}.map`), sourceMapText)
  }
  write(path.join(folder, 'cjs/package.json'), '{ "type": "commonjs" }\n')
  for (const name of ['package.json', 'README.md'])
    cpSync(path.join(root, source, name), path.join(folder, name))
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  return []
}

/** The compile errors of a program, one line each. @param compiler the version of TypeScript that made it */
export function problemsOf(program: ts.Program, compiler = ts): string[] {
  return compiler.getPreEmitDiagnostics(program).map(toLine)
}

// The options of the server without Node's types, because the client also runs in browsers.
function optionsFor(root: string): ts.CompilerOptions {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const { tsBuildInfoFile: _, ...others } = options
  return {
    ...others,
    types: [],
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    noEmit: false,
    incremental: false, // its record would be a file of the package
    declaration: true,
    sourceMap: true,
    inlineSources: true,
  }
}

function ownSources(program: ts.Program): ts.SourceFile[] {
  return program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function toLine({ file, start = 0, messageText }: ts.Diagnostic): string {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined) return text
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  return `${file.fileName}:${line + 1}:${character + 1}: ${text}`
}
