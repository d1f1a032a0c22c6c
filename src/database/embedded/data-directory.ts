// The directory that holds the embedded server's data and programs, and who owns it.

import { createHash, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { access, chmod, chown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { projectRoot } from '../../paths.js'
import { EmbeddedError, elsewhere } from './embedded-error.js'

/** Whom the server runs as. PostgreSQL refuses root, so root lends it another user. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
}

const nobody = 65_534
// Whoever was killed may have left a process behind that still writes there.
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const

/** Where the data goes unless it is said: the project's own folder, unless the server's user could not get there. */
export async function defaultDirectory(): Promise<string> {
  const inProject = path.join(projectRoot, '.data')
  if (process.getuid?.() !== 0) return inProject
  const { uid } = await identityFor(inProject)
  if (uid === undefined || (await closedFolder(inProject, uid)) === undefined) return inProject
  const name = createHash('sha256').update(projectRoot).digest('hex').slice(0, 8)
  return path.join('/var/lib/animal-store', name)
}

export async function prepareDirectory(directory: string): Promise<Identity> {
  try {
    const identity = await identityFor(directory)
    await makeFolder(directory)
    if (identity.uid !== undefined && identity.gid !== undefined) {
      await openEmptyFolder(path.dirname(directory))
      const closed = await closedFolder(path.dirname(directory), identity.uid)
      if (closed !== undefined) {
        throw new EmbeddedError(
          `The embedded PostgreSQL cannot run as root, and user ${identity.uid} cannot enter ${closed}. ${elsewhere}`,
        )
      }
      await chown(directory, identity.uid, identity.gid)
    }
    await chmod(directory, 0o700)
    return identity
  } catch (error) {
    if (error instanceof EmbeddedError) throw error
    throw new EmbeddedError(
      `The data directory ${directory} cannot be made or written: ${(error as Error).message}. ${elsewhere}`,
    )
  }
}

/** Made beside its place and moved there whole: a process that dies half-way, or a second one that starts at the same time, leaves no half-made folder behind. */
export async function makeFolderWhole(place: string, make: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${place}.${process.pid}.${randomUUID()}`
  const remove = () => rmSync(draft, removal)
  process.once('exit', remove)
  try {
    await make(draft)
    await rename(draft, place)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  } finally {
    process.off('exit', remove)
    await rm(draft, removal)
  }
}

/** Left by processes that were killed. What is being made is younger than this, should its process' number be another's by now. */
export async function removeDrafts(directory: string, ageMaxMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^(?:data|programs-\w+)\.(\d+)\./.exec(name) ?? []
    if (pid === undefined) continue
    const draft = path.join(directory, name)
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Date.now() }))
    if (!isAlive(Number(pid)) || Date.now() - mtimeMs > ageMaxMs) await rm(draft, removal)
  }
}

// One by one: Node's `recursive` tries for ever where a file system has no place for a folder, as /proc has none.
async function makeFolder(directory: string): Promise<void> {
  try {
    await mkdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return
    const above = path.dirname(directory)
    if (code !== 'ENOENT' || (await exists(above))) throw error
    await makeFolder(above)
    await makeFolder(directory)
  }
}

// An empty directory that root sets aside for the data, with a mode like `mktemp -d` gives it: the server's user
// has to pass through it. One with anything else in it stays as it is.
async function openEmptyFolder(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (names.every((name) => name === 'postgresql')) await chmod(directory, 0o711)
}

// Root runs the server as the owner of the directory, or of the nearest one above it, so that the same
// checkout works for its owner too; where that is root, as nobody.
async function identityFor(directory: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return {}
  const { uid, gid } = await nearest(directory)
  return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid }
}

async function nearest(directory: string): Promise<{ uid: number; gid: number }> {
  return stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return nearest(path.dirname(directory))
  })
}

/** The topmost folder on the way that the user cannot enter. */
export async function closedFolder(directory: string, uid: number): Promise<string | undefined> {
  const parent = path.dirname(directory)
  const above = parent === directory ? undefined : await closedFolder(parent, uid)
  if (above !== undefined) return above
  const found = await stat(directory).catch(() => undefined)
  if (found === undefined) return undefined
  const open = found.uid === uid ? found.mode & 0o100 : found.mode & 0o001
  return open ? undefined : directory
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // another user's
  }
}

export function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
