// Stores bytes as a file while they arrive. Under its name there is never a part of it: it is written under
// another one in the same folder, and renamed once all of it is on the disk.

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { ownError, type RequestError } from '../../document/request-error.js'

/** A file that was stored. */
export interface StoredFile {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string
  /** Removes it again, such as where what would refer to it is refused. */
  remove(): Promise<void>
}

/** A folder that takes no file: someone has to mend it, and a client that sends its bytes again does not. */
export class StorageError extends Error {
  override name = 'StorageError'
  /** Whether there is no room: it may come. */
  readonly isFull: boolean

  constructor(folder: string, cause: unknown) {
    const code = codeOf(cause)
    super(`no file can be stored in ${folder}: ${code}`, { cause })
    this.isFull = ['ENOSPC', 'EDQUOT'].includes(code)
  }
}

// What a file is called while it arrives. A process that was killed leaves it.
const arrivingPrefix = '.arriving-'

/**
 * Stores a body, a file of a form, or other bytes, in place of a file of that name, if there is one. If
 * anything fails, such as the body of a client that has left, nothing is stored.
 * @param folder must be there, and of the service alone
 * @throws {RequestError} `invalid_request` for a name that is not that of a file in the folder
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
    if (!isStored) await rm(written, { force: true }).catch(() => {}) // what has failed before is told
  }
}

// By any system's rules: the folder may be of another one. How long a name may be, the folder knows.
async function checkName(folder: string, name: string): Promise<void> {
  const isOfFile = name !== '' && name !== '.' && name !== '..' && !/[/\\:\0]/.test(name)
  if (!isOfFile || name.startsWith(arrivingPrefix)) throw nameRefused(name)
  const found = await lstat(path.join(folder, name)).catch((error: unknown) => {
    if (isOfName(error)) throw nameRefused(name)
    return undefined // there is none, or whoever writes it finds what is wrong
  })
  if (found?.isDirectory()) throw nameRefused(name)
}

function nameRefused(name: string): RequestError {
  return ownError('invalid_request', `A file cannot have the name ${JSON.stringify(name.slice(0, 64))}.`)
}

// Of a name that is too long, or that of a folder.
function isOfName(error: unknown): boolean {
  return ['ENAMETOOLONG', 'EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code)
}

// What the disk says, and not the bytes, which may fail in their own ways.
async function onDisk<Result>(folder: string, result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    throw storageError(folder, error)
  }
}

// Of descriptors, a process soon has one again.
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
      await onDisk(folder, handle.appendFile(chunk)) // as often as it takes
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

// That a name is of a file, or of none, is on the disk with its folder. Windows opens none.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
