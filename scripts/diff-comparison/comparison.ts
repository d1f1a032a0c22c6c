// What tools say of the edits: whether each is breaking, beside what it is.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { diffContracts } from '../diff/contract.js'

/** What an edit is to callers. */
export type Kind = 'breaking' | 'mild' | 'equal'

/** One edit, as the contract before and after. */
export interface Edit {
  readonly what: string
  readonly is: Kind
  readonly before: string
  readonly after: string
}

/** Tells of a contract's edit what it is; a tool that knows no other kinds says `mild` of whatever is not breaking. */
export type Tool = (edit: Edit) => Promise<Kind>

interface Row {
  readonly what: string
  readonly is: Kind
  readonly from?: string
  readonly to?: string
  readonly edit?: readonly (readonly [from: string, to: string])[]
}

/**
 * The edits that are kept beside this file.
 * @throws {Error} where what an edit replaces is not in the contract once
 */
export async function readEdits(): Promise<Edit[]> {
  const text = await readFile(path.join(import.meta.dirname, 'edits.yaml'), 'utf8')
  const { contract, edits } = parse(text) as { contract: string; edits: Row[] }
  return edits.map(({ what, is, from = '', to = '', edit = [[from, to]] }) => {
    const after = edit.reduce((document, [from, to]) => replaceOnce(document, from, to, what), contract)
    return { what, is, before: contract, after }
  })
}

function replaceOnce(text: string, from: string, to: string, what: string): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${what}: the contract holds ${from} ${parts.length - 1} times`)
  return parts.join(to)
}

/** `contract:diff`. */
export const own: Tool = async ({ before, after }) => {
  const bumps = diffContracts(parse(before), parse(after)).map(({ bump }) => bump)
  if (bumps.includes('major')) return 'breaking'
  return bumps.includes('minor') ? 'mild' : 'equal'
}

/** oasdiff: whatever `oasdiff breaking` lists, errors and warnings, is breaking. */
export const oasdiff: Tool = async ({ before, after }) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'diff-comparison-'))
  const files = [path.join(folder, 'before.yaml'), path.join(folder, 'after.yaml')] as const
  try {
    await Promise.all([writeFile(files[0], before), writeFile(files[1], after)])
    const options = ['--format', 'json', '--flatten-allof', '--flatten-params', '--case-insensitive-headers']
    const { stdout } = await promisify(execFile)('oasdiff', ['breaking', ...options, ...files])
    const found: unknown = JSON.parse(stdout || '[]')
    return Array.isArray(found) && found.length > 0 ? 'breaking' : 'mild'
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The version of oasdiff that is installed; nothing where none is. */
export async function oasdiffVersion(): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)('oasdiff', ['--version']).catch(() => ({ stdout: '' }))
  return stdout.trim() || undefined
}
