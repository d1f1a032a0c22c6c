// Shared by the packages of this project: compiles their sources separately, with source maps that contain
// the sources, and copies their pages.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

/** Returns the program of some modules and their imports, with the options of the server. */
export function programOf(
  root: string,
  entries: readonly string[],
  others: ts.CompilerOptions = {},
): ts.Program {
  return ts.createProgram(
    entries.map((entry) => path.join(root, entry)),
    { ...optionsFor(root), ...others },
  )
}

function optionsFor(root: string): ts.CompilerOptions {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const { tsBuildInfoFile: _, ...others } = options
  return {
    ...others,
    noEmit: false,
    incremental: false, // its record would be a file of the package
    declaration: true,
    sourceMap: true,
    inlineSources: true,
  }
}

/**
 * Returns the compile errors of a program, one per line. @param compiler the version of TypeScript that made
 * it
 */
export function problemsOf(program: ts.Program, compiler = ts): string[] {
  return compiler.getPreEmitDiagnostics(program).map(toLine)
}

function toLine({ file, start = 0, messageText }: ts.Diagnostic): string {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined) return text
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  return `${file.fileName}:${line + 1}:${character + 1}: ${text}`
}

/** Writes a file, and creates its folders. */
export function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/**
 * Copies the manifest and the page of a package, and the license, to its root. @param beside its other pages
 */
export function copyPages(
  root: string,
  source: string,
  folder: string,
  beside: readonly string[] = [],
): void {
  cpSync(path.join(root, source, 'package.json'), path.join(folder, 'package.json'))
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  copyPage(path.join(root, source, 'README.md'), folder, beside)
}

/**
 * Copies a page to the root of a package. Links to pages in `beside` lead there; other relative links become
 * text.
 */
export function copyPage(file: string, folder: string, beside: readonly string[] = []): void {
  const text = readFileSync(file, 'utf8').replace(
    /\[([^\]]*)\]\((?!\w+:|#)([^)]*)\)/g,
    (_, shown, target) => {
      const name = path.basename(target)
      return beside.includes(name) ? `[${shown}](${name})` : shown
    },
  )
  write(path.join(folder, path.basename(file)), text)
}
