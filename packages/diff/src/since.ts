// Compares two contracts: two files, or a file in the working tree with itself at a git ref.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import {
  ContractError,
  endlessRefs,
  filesOf,
  pointerKeys,
  type ReadText,
  readSource,
  referencesIn,
} from 'contract-engine/tools'
import type { Source } from './annotations.js'
import type { Change } from './comparison.js'
import { diffContracts } from './contract.js'
import { DiffError } from './diff-error.js'
import type { Node } from './node.js'
import { checkVersion, type VersionCheck } from './version.js'

/** The changes of a contract, the check of its version, and the locations of its parts. */
export interface Difference {
  readonly changes: readonly Change[]
  readonly version: VersionCheck
  readonly source: Source
}

/** How the contracts are read. */
export interface Reading {
  /** The extensions of the document in which a `$ref` is followed. */
  readonly extensions?: readonly string[]
  /** The folder that must contain the files of the contracts; by default, the folder of each. */
  readonly root?: string
}

/**
 * Returns the changes of a contract since a git ref.
 * @throws {DiffError} if the ref does not exist, or one of the two contracts is invalid
 */
export async function diffSince(
  ref: string,
  file: string,
  { extensions = [], root }: Reading = {},
): Promise<Difference> {
  const before = await readContract(file, extensions, await readerAt(ref, file), ` at ${ref}`)
  const prefix = await git(path.dirname(file), 'rev-parse', '--show-prefix')
  const name = `${prefix.trim()}${path.basename(file)}`
  return differenceOf(before.document, await readContract(file, extensions, filesOf(file, root)), name)
}

/**
 * Returns the changes from one file to another.
 * @throws {DiffError} if one of the two contracts is invalid
 */
export async function diffFiles(
  older: string,
  file: string,
  { extensions = [], root }: Reading = {},
): Promise<Difference> {
  const { document } = await readContract(older, extensions, filesOf(older, root))
  return differenceOf(document, await readContract(file, extensions, filesOf(file, root)), file)
}

interface Read {
  readonly document: Node
  readonly locate: Source['locate']
}

function differenceOf(before: Node, { document: after, locate }: Read, file: string): Difference {
  const changes = diffContracts(before, after)
  return { changes, version: checkVersion(before, after, changes), source: { file, locate } }
}

// Returns a function that reads the contract, and the files to which it refers, from the commit.
async function readerAt(ref: string, file: string): Promise<ReadText> {
  const folder = path.dirname(file)
  // Git would parse it as an option.
  if (ref.startsWith('-')) throw new DiffError(`unknown commit ${ref}`)
  const found = await git(folder, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`).catch((error) => {
    // `--quiet` silences only the message about an unknown name.
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
  extensions: readonly string[],
  readText: ReadText,
  when = '',
): Promise<Read> {
  const { document, locate } = await readSource(file, readText, extensions).catch((error) => {
    if (!(error instanceof ContractError)) throw error
    throw new DiffError(
      error.message
        .split('\n')
        .map((line) => line + when)
        .join('\n'),
    )
  })
  const refs = referencesIn(document).map(({ ref }) => ref)
  const [endless] = endlessRefs(document, refs)
  if (endless === undefined) return { document: document as Node, locate } // the reader refuses all else
  const place = locate(pointerKeys(endless) ?? [])
  throw new DiffError(`${place}: $ref ${endless} refers back to itself${when}`)
}

function firstLine(text: unknown): string {
  return String(text ?? '').split('\n', 1)[0] ?? ''
}
