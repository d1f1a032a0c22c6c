// Builds a commit of the repository for a comparison.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'

const execute = promisify(execFile)

/**
 * Checks out a commit in a temporary folder, builds its service, and removes the folder after `work`.
 * @param ref a commit, a branch or a tag
 * @throws {OperatorError} with the reason, if there is no such commit or it does not build
 */
export function withCommit<Result>(
  repository: string,
  ref: string,
  interruption: AbortSignal,
  work: (root: string) => Promise<Result>,
): Promise<Result> {
  return inTemporaryDirectory(async (folder) => {
    const root = path.join(folder, 'checkout')
    await run(repository, interruption, 'git', 'worktree', 'add', '--detach', root, ref)
    try {
      await run(root, interruption, 'npm', 'ci', '--no-audit', '--no-fund')
      await run(root, interruption, 'npm', 'run', '--silent', 'build:server')
      return await work(root)
    } finally {
      // Without the signal: this must also run after an interruption, or git would list the worktree until it
      // is pruned.
      await run(repository, undefined, 'git', 'worktree', 'remove', '--force', root)
    }
  })
}

async function run(
  cwd: string,
  signal: AbortSignal | undefined,
  program: string,
  ...args: readonly string[]
): Promise<void> {
  try {
    await execute(program, args, { cwd, ...(signal && { signal }) })
  } catch (error) {
    signal?.throwIfAborted()
    const { stderr = '' } = error as { readonly stderr?: string }
    throw new OperatorError(`${[program, ...args].join(' ')} failed:\n${stderr.trim()}`, { cause: error })
  }
}
