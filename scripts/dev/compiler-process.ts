// Run by compiler.ts, whose questions it answers.
//
// Two programs, for the server need not wait until the tests, with all that tap declares, are checked. The builder checks
// again only what an edit can have touched: 0.1 to 1.5 s, where `tsc --incremental` takes 3 s to find nothing.

import path from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { projectRoot } from '../../src/paths.js'
import type { Compilation } from './compiler.js'
import { signalsModule } from './server.js'

type Program = ts.SemanticDiagnosticsBuilderProgram

const configs = {
  server: { file: 'tsconfig.build.json', more: [signalsModule.replace(/js$/, 'ts')] },
  rest: { file: 'tsconfig.json', more: [] },
}

// From each program's last run.
const programs = new Map<string, Program>()
const sources = new Map<string, ts.SourceFile>()
const outputs = new WeakMap<ts.SourceFile, readonly (readonly [string, string])[]>()

let asked = 0
let turn: Promise<unknown> = Promise.resolve()

process.on('message', (question: 'server' | 'rest') => {
  asked++
  turn = turn.then(() => (question === 'server' ? compile() : checkRest())).then(answer, fail)
})
process.on('disconnect', () => process.exit())

function answer(compilation: Compilation | null): void {
  process.send?.(compilation)
}

// A fault of the compiler's own, which an edit may get around.
function fail(error: Error): void {
  programs.clear()
  answer({ problems: [`the compiler fails: ${error.stack}`], files: new Map() })
}

function compile(): Compilation {
  const program = createProgram('server')
  const problems = diagnosticsOf(program).map(lineOf)
  keep('server', program)
  return { problems, files: new Map(problems.length > 0 ? [] : emit(program.getProgram())) }
}

// File by file, to hear of the next question. A program that was not checked to its end is no base for the next.
async function checkRest(): Promise<Compilation | null> {
  const program = createProgram('rest')
  const mine = asked
  while (program.getSemanticDiagnosticsOfNextAffectedFile() !== undefined) {
    await new Promise(setImmediate)
    if (asked !== mine) return null
  }
  keep('rest', program)
  const server = programs.get('server')
  const rest = diagnosticsOf(program).filter(({ file }) => !server?.getSourceFile(file?.fileName ?? ''))
  return { problems: rest.map(lineOf), files: new Map() }
}

function createProgram(name: keyof typeof configs): Program {
  const { options, fileNames, errors } = readConfig(name)
  const host = createHost(options)
  const last = programs.get(name) ?? ts.readBuilderProgram(options, host)
  return ts.createSemanticDiagnosticsBuilderProgram(fileNames, options, host, last, errors)
}

function readConfig(name: keyof typeof configs): ts.ParsedCommandLine {
  const { file, more } = configs[name]
  const tsBuildInfoFile = path.join(projectRoot, `dist/dev-${name}.tsbuildinfo`)
  const overrides = { noEmit: true, noEmitOnError: false, incremental: true, tsBuildInfoFile }
  const parsed = ts.getParsedCommandLineOfConfigFile(path.join(projectRoot, file), overrides, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: () => {},
  })
  if (parsed === undefined) throw new Error(`${file} cannot be read`)
  const names = more.map((each) => path.join(projectRoot, each))
  return { ...parsed, fileNames: [...parsed.fileNames, ...names] }
}

// For the next check, and on disk for the next start.
function keep(name: keyof typeof configs, program: Program): void {
  programs.set(name, program)
  program.emit()
}

// Gives a file that is as it was as the object it was: it is neither parsed nor bound again, in either program.
function createHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createIncrementalCompilerHost(options)
  const parse = host.getSourceFile
  host.getSourceFile = (name, ...rest) => {
    const known = sources.get(name)
    if (known !== undefined && known.text === ts.sys.readFile(name)) return known
    const source = parse(name, ...rest)
    if (source === undefined) sources.delete(name)
    else sources.set(name, source)
    return source
  }
  return host
}

function diagnosticsOf(program: Program): readonly ts.Diagnostic[] {
  const first = [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
  ]
  // What does not parse makes errors all over, and only the first is one.
  const found =
    first.length > 0 ? first : [...program.getGlobalDiagnostics(), ...program.getSemanticDiagnostics()]
  return ts.sortAndDeduplicateDiagnostics(found)
}

// A file at a time, for which `isolatedModules` sees to it that no other is needed.
function emit(program: ts.Program): (readonly [string, string])[] {
  const own = program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
  return own.flatMap((source) => {
    const files = outputs.get(source) ?? emitFile(program.getCompilerOptions(), source)
    outputs.set(source, files)
    return files
  })
}

function emitFile(options: ts.CompilerOptions, { fileName, text }: ts.SourceFile): [string, string][] {
  const { outputText, sourceMapText = '' } = ts.transpileModule(text, {
    fileName,
    compilerOptions: {
      ...options,
      noEmit: false,
      module: ts.ModuleKind.ESNext, // what package.json says, which is not read here
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      sourceRoot: pathToFileURL(`${path.dirname(fileName)}/`).href, // builds are elsewhere
    },
  })
  const name = relative(projectRoot, fileName).replace(/ts$/, 'js')
  return [
    [name, outputText],
    [`${name}.map`, sourceMapText],
  ]
}

// Longer lines say less.
const lengthMax = 160

function lineOf({ file, start = 0, code, messageText }: ts.Diagnostic): string {
  const [head = '', ...causes] = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')
  const cause = head.length > lengthMax ? causes.at(-1) : undefined
  const text = `error TS${code}: ${shortened(head)}${cause ? `\n${shortened(cause.trim())}` : ''}`
  if (file === undefined) return text
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  return `${relative(projectRoot, file.fileName)}:${line + 1}:${character + 1} ${text}`
}

function shortened(text: string): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}

function relative(from: string, to: string): string {
  return path.relative(from, to).replaceAll(path.sep, '/')
}
