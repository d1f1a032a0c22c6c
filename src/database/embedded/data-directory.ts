// The directory with the embedded server's data and binaries, and its owner.

import { createHash, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { access, chmod, chown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../../lib/operator-error.js'
import { projectRoot } from '../../lib/paths.js'

/** The user that runs the server: this process's, or another one if this is root, as which PostgreSQL refuses to run. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
}

/** The alternatives to a data directory in which the embedded server cannot run. */
export const elsewhere = 'Set DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL server.'

const nobody = 65_534
// With retries: a child of a killed process may still be writing there.
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const

/** The data directory without DATA_DIR: in the project's folder, unless the server's user cannot enter that. */
export async function defaultDirectory(): Promise<string> {
  const inProject = path.join(projectRoot, '.data')
  if (process.getuid?.() !== 0) return inProject
  const { uid } = await identityFor(inProject)
  if (uid === undefined || (await forbiddenFolder(inProject, uid)) === undefined) return inProject
  const name = createHash('sha256').update(projectRoot).digest('hex').slice(0, 8)
  return path.join('/var/lib/animal-store', name)
}

/**
 * Creates the directory, and gives it to the server's user.
 * @throws {OperatorError} when it cannot be created or entered
 */
export async function prepareDirectory(directory: string): Promise<Identity> {
  try {
    const identity = await identityFor(directory)
    await createFolder(directory)
    if (identity.uid !== undefined && identity.gid !== undefined) {
      await openEmptyFolder(path.dirname(directory))
      const forbidden = await forbiddenFolder(path.dirname(directory), identity.uid)
      if (forbidden !== undefined) {
        throw new OperatorError(
          `The embedded PostgreSQL cannot run as root, and user ${identity.uid} cannot enter ${forbidden}. ${elsewhere}`,
        )
      }
      await chown(directory, identity.uid, identity.gid)
    }
    await chmod(directory, 0o700)
    return identity
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `The data directory ${directory} cannot be created or written: ${(error as Error).message}. ${elsewhere}`,
    )
  }
}

/**
 * Creates a folder as a draft next to `folder`, and renames it when it is complete: a process that is killed, or another one that creates the
 * same folder, leaves no incomplete one.
 */
export async function createWhole(folder: string, create: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${folder}.${process.pid}.${randomUUID()}`
  const remove = () => rmSync(draft, removal)
  process.once('exit', remove)
  try {
    await create(draft)
    await rename(draft, folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error // else another process was first
  } finally {
    process.off('exit', remove)
    await rm(draft, removal)
  }
}

/** Removes the drafts of killed processes: those whose process is gone or, in case its pid was reused, that are older than `ageMaxMs`. */
export async function removeDrafts(directory: string, ageMaxMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^(?:data|programs-\w+)\.(\d+)\./.exec(name) ?? []
    if (pid === undefined) continue
    const draft = path.join(directory, name)
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Date.now() }))
    if (!isAlive(Number(pid)) || Date.now() - mtimeMs > ageMaxMs) await rm(draft, removal)
  }
}

// One by one: mkdir's `recursive` loops for ever on a file system that allows no folders, such as /proc.
async function createFolder(directory: string): Promise<void> {
  try {
    await mkdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return
    const parent = path.dirname(directory)
    if (code !== 'ENOENT' || (await exists(parent))) throw error
    await createFolder(parent)
    await createFolder(directory)
  }
}

// Lets the server's user pass through an empty folder that root made for the data, with the mode 0700 of `mktemp -d`. A folder with
// other content keeps its mode.
async function openEmptyFolder(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (names.every((name) => name === 'postgresql')) await chmod(directory, 0o711)
}

// As root, the owner of the directory or its nearest existing ancestor, so that the checkout also works for its owner; `nobody` if
// that is root.
async function identityFor(directory: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return {}
  const { uid, gid } = await statNearest(directory)
  return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid }
}

async function statNearest(directory: string): Promise<{ uid: number; gid: number }> {
  return stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return statNearest(path.dirname(directory))
  })
}

/** The topmost folder on the path that the user cannot enter. */
export async function forbiddenFolder(directory: string, uid: number): Promise<string | undefined> {
  const parent = path.dirname(directory)
  const above = parent === directory ? undefined : await forbiddenFolder(parent, uid)
  if (above !== undefined) return above
  const found = await stat(directory).catch(() => undefined)
  if (found === undefined) return undefined
  const allowed = found.uid === uid ? found.mode & 0o100 : found.mode & 0o001
  return allowed ? undefined : directory
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // it belongs to another user
  }
}

export function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
