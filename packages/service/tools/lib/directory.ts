// Temporary directories. Each name contains the pid of its owner, so that leftovers of killed processes are
// found.

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

export interface TemporaryDirectory {
  readonly directory: string
  remove(): Promise<void>
}

/** Creates an empty directory. The embedded database's user can traverse it even if root has created it. */
export async function makeTemporaryDirectory(): Promise<TemporaryDirectory> {
  const directory = await mkdtemp(path.join(os.tmpdir(), ownedName(process.pid, '')))
  await chmod(directory, 0o755)
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}

/** Runs `act` with a temporary directory, which is removed afterwards. */
export async function inTemporaryDirectory<Result>(
  act: (directory: string) => Promise<Result>,
): Promise<Result> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    return await act(directory)
  } finally {
    await remove()
  }
}

/** Returns the name of a directory that a process owns. */
export function ownedName(pid: number, suffix: string): string {
  return `contract-service-${pid}-${suffix}`
}

/** Returns the pid of a directory's owner; undefined for other names. */
export function ownerOf(name: string): number | undefined {
  const [, pid] = /^contract-service-(\d+)-/.exec(name) ?? []
  return pid === undefined ? undefined : Number(pid)
}
