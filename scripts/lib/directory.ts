// Directories in the system's temporary one. Each is named after the process that owns it, so that what a killed process left
// can be told from what is in use.

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

export interface TemporaryDirectory {
  readonly directory: string
  remove(): Promise<void>
}

/** Makes an empty directory, which the embedded database's user can pass through when root makes it. */
export async function makeTemporaryDirectory(): Promise<TemporaryDirectory> {
  const directory = await mkdtemp(path.join(os.tmpdir(), ownedName(process.pid, '')))
  await chmod(directory, 0o755)
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}

/** The name of a directory that a process owns. */
export function ownedName(pid: number, suffix: string): string {
  return `animal-store-${pid}-${suffix}`
}

/** The process that owns a directory of that name; undefined: it is none of these. */
export function ownerOf(name: string): number | undefined {
  const [, pid] = /^animal-store-(\d+)-/.exec(name) ?? []
  return pid === undefined ? undefined : Number(pid)
}
