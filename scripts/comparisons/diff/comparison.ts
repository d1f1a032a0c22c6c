// The edits, and the tools that classify them.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { diffContracts } from 'contract-diff'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { parse } from 'yaml'

/** The effect of an edit on clients. */
export type Kind = 'breaking' | 'compatible' | 'text' | 'equal'

/** An edit: the contract before and after it, and its kind. */
export interface Edit {
  readonly what: string
  readonly is: Kind
  readonly before: string
  readonly after: string
}

/** Classifies an edit. A tool without more kinds returns `compatible` for all that is not breaking. */
export type Tool = (edit: Edit) => Promise<Kind>

interface Row {
  readonly what: string
  readonly is: Kind
  readonly from?: string
  readonly to?: string
  readonly edit?: readonly (readonly [from: string, to: string])[]
}

/**
 * Reads the edits of edits.yaml.
 * @throws {Error} if a replaced text is not in the contract exactly once
 */
export async function readEdits(): Promise<Edit[]> {
  const text = await readFile(path.join(projectRoot, 'scripts/comparisons/diff/edits.yaml'), 'utf8')
  const { contract, edits } = parse(text) as { contract: string; edits: Row[] }
  return edits.map(({ what, is, from = '', to = '', edit = [[from, to]] }) => {
    const after = edit.reduce((document, [from, to]) => replaceOnce(document, from, to, what), contract)
    return { what, is, before: contract, after }
  })
}

function replaceOnce(text: string, from: string, to: string, what: string): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${what}: the contract contains ${from} ${parts.length - 1} times`)
  return parts.join(to)
}

/** `contract:diff`. */
export const contractDiff: Tool = async ({ before, after }) => {
  const bumps = diffContracts(documentOf(before), documentOf(after)).map(({ bump }) => bump)
  if (bumps.includes('major')) return 'breaking'
  if (bumps.includes('minor')) return 'compatible'
  return bumps.length > 0 ? 'text' : 'equal'
}

// Of all edits one side is the same contract, and parsing it takes longer than comparing.
const documents = new Map<string, ReturnType<typeof parse>>()
function documentOf(text: string) {
  if (!documents.has(text)) documents.set(text, parse(text))
  return documents.get(text)
}

/** oasdiff: an edit is breaking if `oasdiff breaking` lists an error or warning. */
export const oasdiff: Tool = async ({ before, after }) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'contract-diff-'))
  const files = [path.join(folder, 'before.yaml'), path.join(folder, 'after.yaml')] as const
  try {
    await Promise.all([writeFile(files[0], before), writeFile(files[1], after)])
    const options = ['--format', 'json', '--flatten-allof', '--flatten-params', '--case-insensitive-headers']
    const { stdout } = await promisify(execFile)('oasdiff', ['breaking', ...options, ...files])
    const found: unknown = JSON.parse(stdout || '[]')
    return Array.isArray(found) && found.length > 0 ? 'breaking' : 'compatible'
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Whether oasdiff is installed. */
export function isOasdiffInstalled(): Promise<boolean> {
  const version = promisify(execFile)('oasdiff', ['--version'])
  return version.then(Boolean, () => false)
}
