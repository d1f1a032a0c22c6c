// Stores bytes as a file while they arrive. An incomplete file never has the final name: it is written under
// another name in the same folder, and renamed once all of it is on the disk.

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { ownError, type RequestError } from '../../document/request-error.js'

/** A file that was stored. */
export interface StoredFile {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /** The digest of its bytes, in hexadecimal. */
  readonly sha256: string
  /** Removes the file again, for example if the row that refers to it is refused. */
  remove(): Promise<void>
}

/** A folder that takes no file. An operator has to mend it; to send the bytes again does not help. */
export class StorageError extends Error {
  override name = 'StorageError'
  /** True if the disk or its quota is full; space may become free. */
  readonly isFull: boolean

  constructor(folder: string, cause: unknown) {
    const code = codeOf(cause)
    super(`no file can be stored in ${folder}: ${code}`, { cause })
    this.isFull = ['ENOSPC', 'EDQUOT'].includes(code)
  }
}

// The prefix of a file that is arriving. A process that is killed leaves such files.
const arrivingPrefix = '.arriving-'

/**
 * Stores a body, a file of a form, or other bytes. It replaces a file of the same name. If anything fails,
 * such as the body of a client that has left, nothing is stored.
 * @param folder must exist, and belong to the service alone
 * @throws {RequestError} `invalid_request` if the name cannot be that of a file in the folder
 * @throws {StorageError} if the disk or the folder takes no file
 */
export async function storeUpload(
  bytes: AsyncIterable<Uint8Array> | Uint8Array,
  folder: string,
  name: string,
): Promise<StoredFile> {
  await checkName(folder, name)
  const arriving = path.join(folder, arrivingPrefix + randomUUID())
  const stored = path.join(folder, name)
  let [written, isStored] = [arriving, false]
  try {
    const facts = await write(arriving, bytes instanceof Uint8Array ? [bytes] : bytes)
    await rename(arriving, stored).catch((error) => {
      throw isOfName(error) ? nameRefused(name) : storageError(folder, error)
    })
    written = stored
    await onDisk(folder, syncFolder(folder))
    isStored = true
    return { path: stored, ...facts, remove: () => remove(stored, folder) }
  } finally {
    if (!isStored) await rm(written, { force: true }).catch(() => {}) // the first error is the one to tell
  }
}

// Checks the name by the rules of all systems, since the folder may be on another one. The folder itself
// knows how long a name may be.
async function checkName(folder: string, name: string): Promise<void> {
  const isOfFile = name !== '' && name !== '.' && name !== '..' && !/[/\\:\0]/.test(name)
  if (!isOfFile || name.startsWith(arrivingPrefix)) throw nameRefused(name)
  const found = await lstat(path.join(folder, name)).catch((error: unknown) => {
    if (isOfName(error)) throw nameRefused(name)
    return undefined // no such file, or a problem that writing will find
  })
  if (found?.isDirectory()) throw nameRefused(name)
}

function nameRefused(name: string): RequestError {
  return ownError('invalid_request', `A file cannot have the name ${JSON.stringify(name.slice(0, 64))}.`)
}

// True if the name is too long, or is that of a folder.
function isOfName(error: unknown): boolean {
  return ['ENAMETOOLONG', 'EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code)
}

// Turns errors of the disk into StorageErrors, but not errors of the bytes, which may fail in their own ways.
async function onDisk<Result>(folder: string, result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    throw storageError(folder, error)
  }
}

// Lack of file descriptors is no StorageError: the process soon has some again.
function storageError(folder: string, error: unknown): unknown {
  return ['EMFILE', 'ENFILE'].includes(codeOf(error)) ? error : new StorageError(folder, error)
}

async function write(
  file: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Pick<StoredFile, 'size' | 'sha256'>> {
  const hash = createHash('sha256')
  const folder = path.dirname(file)
  let size = 0
  const handle: FileHandle = await onDisk(folder, open(file, 'wx'))
  try {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
      await onDisk(folder, handle.appendFile(chunk)) // writes again until all bytes are written
    }
    await onDisk(folder, handle.sync())
  } finally {
    await handle.close()
  }
  return { size, sha256: hash.digest('hex') }
}

async function remove(file: string, folder: string): Promise<void> {
  await rm(file, { force: true })
  await syncFolder(folder)
}

// The entry of a name reaches the disk with its folder. Windows cannot open a folder.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
