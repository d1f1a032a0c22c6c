// Compares the contract in the working tree with the one at a git ref.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { serviceExtensions } from '../../src/auth/plans.js'
import { ContractError } from '../../src/openapi/index.js'
import { type ReadText, readSource } from '../../src/openapi/tools.js'
import type { Source } from './annotations.js'
import type { Change } from './comparison.js'
import { diffContracts } from './contract.js'
import { DiffError } from './diff-error.js'
import { isNode, type Node } from './node.js'
import { checkVersion, type VersionCheck } from './version.js'

/**
 * Returns the changes of a contract since a git ref.
 * @throws {DiffError} if the ref does not exist or one of the two contracts is invalid
 */
export async function diffSince(
  ref: string,
  file: string,
): Promise<{ changes: readonly Change[]; version: VersionCheck; source: Source }> {
  const { document: before } = await readContract(file, ` at ${ref}`, await readerAt(ref, file))
  const { document: after, locate } = await readContract(file)
  const changes = diffContracts(before, after)
  const prefix = await git(path.dirname(file), 'rev-parse', '--show-prefix')
  const source = { file: `${prefix.trim()}${path.basename(file)}`, locate }
  return { changes, version: checkVersion(before, after, changes), source }
}

// Reads the contract and the files it refers to from the commit.
async function readerAt(ref: string, file: string): Promise<ReadText> {
  const folder = path.dirname(file)
  // git would parse it as an option.
  if (ref.startsWith('-')) throw new DiffError(`unknown commit ${ref}`)
  const found = await git(folder, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`).catch((error) => {
    // --quiet silences only the message about an unknown name.
    throw new DiffError(firstLine(error.stderr) || `unknown commit ${ref}`)
  })
  const show = (name: string) => git(folder, 'show', `${found.trim()}:./${path.relative(folder, name)}`)
  await show(file).catch(() => {
    throw new DiffError(`no ${path.basename(file)} at ${ref}`)
  })
  return show
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

async function readContract(
  file: string,
  when = '',
  readText?: ReadText,
): Promise<{ document: Node; locate: Source['locate'] }> {
  const { document, locate } = await readSource(file, readText, Object.keys(serviceExtensions)).catch(
    (error) => {
      throw error instanceof ContractError ? new DiffError(firstLine(error.message) + when) : error
    },
  )
  if (isNode(document)) return { document, locate }
  throw new DiffError(`the contract${when} is not a mapping`)
}

function firstLine(text: unknown): string {
  return String(text ?? '').split('\n', 1)[0] ?? ''
}
