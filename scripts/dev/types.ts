// The types of a project, checked by one incremental program: after an edit only what it can have touched.

import path from 'node:path'
import ts from 'typescript'

/** What one check found, as `src/x.ts:17:10 error TS2322: …`. */
export interface Diagnosis {
  /** In what the server runs. */
  readonly server: readonly string[]
  /** In tests and scripts. */
  readonly others: readonly string[]
}

/** Checks the project in that folder as its tsconfig.json says, each time as it is then. */
export function createTypeChecker(root: string): () => Diagnosis {
  const sources = new Map<string, ts.SourceFile>()
  let program: ts.SemanticDiagnosticsBuilderProgram | undefined
  return () => {
    const { options, fileNames, errors } = readConfig(root)
    const host = createHost(options, sources)
    const last = program ?? ts.readBuilderProgram(options, host)
    program = ts.createSemanticDiagnosticsBuilderProgram(fileNames, options, host, last, errors)
    const lines = diagnosticsOf(program).map((each) => lineOf(each, root))
    program.emit() // the build info alone, for the next start
    const isOther = (line: string) => /^(test|scripts)\//.test(line)
    return { server: lines.filter((line) => !isOther(line)), others: lines.filter(isOther) }
  }
}

function readConfig(root: string): ts.ParsedCommandLine {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
  // What is known is kept where `npm run types` keeps it.
  const incremental = { incremental: true, tsBuildInfoFile: path.join(root, 'dist/types.tsbuildinfo') }
  const parsed = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.json'), incremental, host)
  if (parsed === undefined) throw new Error('tsconfig.json cannot be read')
  return parsed
}

// A file that did not change stays the same object, so that it is neither parsed nor bound again.
function createHost(options: ts.CompilerOptions, sources: Map<string, ts.SourceFile>): ts.CompilerHost {
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

function diagnosticsOf(program: ts.SemanticDiagnosticsBuilderProgram): readonly ts.Diagnostic[] {
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

// Longer lines say less.
const lengthMax = 160

function lineOf({ file, start = 0, code, messageText }: ts.Diagnostic, root: string): string {
  const [head = '', ...causes] = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')
  const cause = head.length > lengthMax ? causes.at(-1) : undefined
  const text = `error TS${code}: ${shortened(head)}${cause ? `\n${shortened(cause.trim())}` : ''}`
  if (file === undefined) return text
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  const name = path.relative(root, file.fileName).replaceAll(path.sep, '/')
  return `${name}:${line + 1}:${character + 1} ${text}`
}

function shortened(text: string): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}
