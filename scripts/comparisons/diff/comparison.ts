// Reads the edits, and runs the tools that classify them.

import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { diffContracts } from 'contract-diff'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { parse } from 'yaml'

/** The effect of an edit on clients. */
export type Kind = 'breaking' | 'compatible' | 'text' | 'equal'

/** An edit: the contract before and after it, and its kind. */
export interface Edit {
  readonly what: string
  readonly is: Kind
  /** True if the edit concerns an extension of contract-engine, which no other tool knows. */
  readonly ours: boolean
  readonly before: string
  readonly after: string
}

/** A tool's verdict. A tool with fewer kinds says `compatible` of each edit that is not breaking. */
export type Verdict = Kind | 'failed'

const run = promisify(execFile)

interface Row {
  readonly what: string
  readonly is: Kind
  readonly ours?: boolean
  readonly from?: string
  readonly to?: string
  readonly edit?: readonly (readonly [from: string, to: string])[]
}

/**
 * Reads the edits of edits.yaml.
 * @throws {Error} if a text to replace is not in the contract exactly once
 */
export async function readEdits(): Promise<Edit[]> {
  const text = await readFile(path.join(projectRoot, 'scripts/comparisons/diff/edits.yaml'), 'utf8')
  const { contract, edits } = parse(text) as { contract: string; edits: Row[] }
  return edits.map(({ what, is, ours = false, from = '', to = '', edit = [[from, to]] }) => {
    const after = edit.reduce((document, [from, to]) => replaceOnce(document, from, to, what), contract)
    return { what, is, ours, before: contract, after }
  })
}

function replaceOnce(text: string, from: string, to: string, what: string): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${what}: the contract contains ${from} ${parts.length - 1} times`)
  return parts.join(to)
}

/** `contract-diff`. */
export async function contractDiff({ before, after }: Pick<Edit, 'before' | 'after'>): Promise<Kind> {
  const bumps = diffContracts(documentOf(before), documentOf(after)).map(({ bump }) => bump)
  if (bumps.includes('major')) return 'breaking'
  if (bumps.includes('minor')) return 'compatible'
  return bumps.length > 0 ? 'text' : 'equal'
}

// Cached, because one side of each edit is the same contract, and parsing takes longer than comparing.
const documents = new Map<string, ReturnType<typeof parse>>()
function documentOf(text: string) {
  if (!documents.has(text)) documents.set(text, parse(text))
  return documents.get(text)
}

/** oasdiff: an edit is breaking if `oasdiff breaking` lists an error or warning. */
export async function oasdiff(folder: string): Promise<Verdict> {
  const options = ['--format', 'json', '--flatten-allof', '--flatten-params', '--case-insensitive-headers']
  const files = ['before.yaml', 'after.yaml']
  const { stdout } = await run('oasdiff', ['breaking', ...options, ...files], { cwd: folder })
  const found: unknown = JSON.parse(stdout || '[]')
  return Array.isArray(found) && found.length > 0 ? 'breaking' : 'compatible'
}

/** Runs OpenAPITools' openapi-diff once for all folders, because Java takes seconds to start. */
export async function openapiDiff(folders: string): Promise<Verdict[]> {
  const cwd = path.join(projectRoot, 'scripts/comparisons/diff/openapi-diff')
  const classpath = path.join(folders, '..', 'classpath')
  const goal = ['dependency:build-classpath', `-Dmdep.outputFile=${classpath}`]
  await run('mvn', ['--batch-mode', '--quiet', ...goal], { cwd })
  const program = ['-cp', await readFile(classpath, 'utf8'), 'Classify.java', folders]
  const { stdout } = await run('java', program, { cwd })
  return stdout.trim().split('\n') as Verdict[] // the lines that Classify.java prints
}

/** Calls `use` with a folder of folders, one per edit in order, with `before.yaml` and `after.yaml`. */
export function inFolders<T>(edits: readonly Edit[], use: (folders: string) => Promise<T>): Promise<T> {
  return inTemporaryDirectory(async (directory) => {
    for (const [i, { before, after }] of edits.entries()) {
      const folder = folderOf(path.join(directory, 'edits'), i)
      await mkdir(folder, { recursive: true })
      await writeFile(path.join(folder, 'before.yaml'), before)
      await writeFile(path.join(folder, 'after.yaml'), after)
    }
    return use(path.join(directory, 'edits'))
  })
}

/** Returns the folder of an edit. */
export function folderOf(folders: string, index: number): string {
  return path.join(folders, String(index).padStart(4, '0'))
}

/** Resolves to true if a program is in PATH. */
export function isInstalled(program: string): Promise<boolean> {
  return run(program, ['--version']).then(Boolean, () => false)
}
