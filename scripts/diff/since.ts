// The contract as it is now beside the contract at a git ref.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { ContractError } from '../../src/contract/contract-error.js'
import { type ReadText, readSource } from '../../src/contract/files.js'
import type { Written } from './annotations.js'
import type { Change } from './comparison.js'
import { diffContracts } from './contract.js'
import { DiffError } from './diff-error.js'
import { isNode, type Node } from './node.js'
import { type Judgement, judgeVersion } from './version.js'

/**
 * What changed since a git ref, in a contract of the working tree.
 * @throws {DiffError} where there is no such ref, or one of the two cannot be read
 */
export async function diffSince(
  ref: string,
  file: string,
): Promise<{ changes: readonly Change[]; judgement: Judgement; written: Written }> {
  const before = await parseContract(file, ` at ${ref}`, await readerAt(ref, file))
  const after = await parseContract(file)
  const changes = diffContracts(before, after)
  const prefix = await git(path.dirname(file), 'rev-parse', '--show-prefix')
  const written = { file: `${prefix.trim()}${path.basename(file)}`, text: await readFile(file, 'utf8') }
  return { changes, judgement: judgeVersion(before, after, changes), written }
}

// The files that the contract refers to are read as they were then, too.
async function readerAt(ref: string, file: string): Promise<ReadText> {
  const folder = path.dirname(file)
  // Git would take it for an option.
  if (ref.startsWith('-')) throw new DiffError(`there is no commit ${ref}`)
  const found = await git(folder, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`).catch((error) => {
    // Quiet about a name that leads nowhere, and about nothing else.
    throw new DiffError(firstLine(error.stderr) || `there is no commit ${ref}`)
  })
  const show = (name: string) => git(folder, 'show', `${found.trim()}:./${path.relative(folder, name)}`)
  await show(file).catch(() => {
    throw new DiffError(`there is no ${path.basename(file)} at ${ref}`)
  })
  return show
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

async function parseContract(file: string, when = '', readText?: ReadText): Promise<Node> {
  const { document } = await readSource(file, readText).catch((error) => {
    throw error instanceof ContractError ? new DiffError(firstLine(error.message) + when) : error
  })
  if (isNode(document)) return document
  throw new DiffError(`the contract${when} is no mapping`)
}

function firstLine(text: unknown): string {
  return String(text ?? '').split('\n', 1)[0] ?? ''
}
