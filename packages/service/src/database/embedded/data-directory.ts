// The directory with the embedded server's data and binaries, and its owner. Files of other users stay
// untouched.

import { createHash, randomUUID } from 'node:crypto'
import { constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { access, lstat, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../../lib/operator-error.js'
import { projectRoot } from '../../lib/paths.js'
import { projectName } from '../../lib/project-name.js'

/**
 * The user that runs the server: that of this process, unless it is root. PostgreSQL refuses to run as root.
 */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
}

/** The alternatives to a data directory in which the embedded server cannot run. */
export const elsewhere = 'Set DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL server.'

const nobody = 65_534
// With retries: a child of a killed process may still be writing there.
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const

/**
 * Returns the data directory without DATA_DIR: in the project's folder, if the server's user can enter that.
 */
export async function defaultDirectory(): Promise<string> {
  const inProject = path.join(projectRoot, '.data')
  if (process.getuid?.() !== 0) return inProject
  const { uid } = await identityFor(inProject)
  if (uid === undefined || (await forbiddenFolder(inProject, uid)) === undefined) return inProject
  const name = createHash('sha256').update(projectRoot).digest('hex').slice(0, 8)
  return path.join('/var/lib', projectName, name)
}

/**
 * Creates the directory for the server's user, unless it exists.
 * @throws {OperatorError} if the directory cannot be created or entered, or belongs to another user
 */
export async function prepareDirectory(directory: string): Promise<Identity> {
  const parent = path.dirname(directory)
  try {
    const identity = await identityFor(directory)
    createFolder(parent)
    const forbidden = identity.uid && (await forbiddenFolder(parent, identity.uid))
    if (forbidden) {
      throw new OperatorError(
        `The embedded PostgreSQL cannot run as root, and user ${identity.uid} cannot enter ${forbidden} ` +
          `(chmod o+x permits it). ${elsewhere}`,
      )
    }
    const isThere = await lstat(directory).catch(() => undefined)
    if (!isThere) await createWhole(directory, (draft) => createOwned(draft, identity))
    await checkOwned(directory, identity)
    return identity
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const { message } = error as Error
    throw new OperatorError(
      `The data directory ${directory} cannot be created or written: ${message}. ${elsewhere}`,
    )
  }
}

/**
 * Creates a folder as a draft next to `folder`, and renames it when it is complete. So neither a killed
 * process nor a parallel one leaves an incomplete folder.
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

// Works through handles, because somebody could replace a name by a link meanwhile. Puts a file into the
// draft: a directory with a file is not replaced when another process renames its own draft.
async function createOwned(draft: string, { uid = -1, gid = -1 }: Identity): Promise<void> {
  const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  await mkdir(draft, 0o700)
  for (const [name, flags] of [
    [path.join(draft, 'server.log'), O_CREAT | O_EXCL | O_WRONLY],
    [draft, O_DIRECTORY | O_NOFOLLOW],
  ] as const) {
    const handle = await open(name, flags, 0o600)
    await handle.chown(uid, gid).finally(() => handle.close())
  }
}

async function checkOwned(directory: string, { uid = process.getuid?.() }: Identity): Promise<void> {
  const found = await lstat(directory)
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0) return
  throw new OperatorError(
    `${directory} must be a directory of user ${uid}, without a link, which only that user can write. ` +
      `Nothing was changed. ${elsewhere}`,
  )
}

/**
 * Reads a file of the directory without following links: its owner may have made it a link to another's file.
 */
export function readOwned(file: string): Promise<string> {
  return readFile(file, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NOFOLLOW })
}

/**
 * Removes the drafts of killed processes: the pid is gone, or the draft is older than `ageMaxMs` (pids are
 * reused).
 */
export async function removeDrafts(directory: string, ageMaxMs: number): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const [, pid] = /^(?:data|postgresql|programs-\w+)\.(\d+)\.[\da-f-]{36}$/.exec(name) ?? []
    if (pid === undefined) continue
    const draft = path.join(directory, name)
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Date.now() }))
    if (!isAlive(Number(pid)) || Date.now() - mtimeMs > ageMaxMs) await rm(draft, removal)
  }
}

// Creates folders one by one: mkdir's `recursive` loops for ever on a file system without folders, such as
// /proc.
function createFolder(directory: string): void {
  try {
    makeFolder(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(directory).isDirectory()) return
    const parent = path.dirname(directory)
    if (code !== 'ENOENT' || existsSync(parent)) throw error
    createFolder(parent)
    createFolder(directory)
  }
}

// Lets the server's user pass through root's folders, whatever the umask.
function makeFolder(directory: string): void {
  if (process.getuid?.() !== 0) return void mkdirSync(directory)
  const umask = process.umask(0)
  try {
    mkdirSync(directory, 0o711)
  } finally {
    process.umask(umask)
  }
}

// For root, returns the owner of the directory or of its nearest existing ancestor, so that the checkout also
// works for its owner; `nobody` if that owner is root.
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

/** Returns the topmost folder on the path that the user cannot enter. */
export async function forbiddenFolder(directory: string, uid: number): Promise<string | undefined> {
  const parent = path.dirname(directory)
  const above = parent === directory ? undefined : await forbiddenFolder(parent, uid)
  if (above !== undefined) return above
  const found = await stat(directory).catch(() => undefined)
  if (found === undefined) return undefined
  const allowed = found.uid === uid ? found.mode & 0o100 : found.mode & 0o001
  return allowed ? undefined : directory
}

/** True if a process runs. */
export function isAlive(pid: number): boolean {
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
