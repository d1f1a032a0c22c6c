// Stores bytes as a file while they arrive. Under its name there is never a part of it: it is written under
// another one in the same folder, and renamed once all of it is on the disk.

import { createHash, randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { ownError } from '../../document/request-error.js'

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

// What a file is called while it arrives. A process that was killed leaves it.
const arrivingPrefix = '.arriving-'

/**
 * Stores a body, a file of a form, or other bytes, in place of a file of that name, if there is one. If
 * anything fails, such as the body of a client that has left, nothing is stored.
 * @param folder must be there, and of the service alone
 * @throws {RequestError} `invalid_request` for a name that is not that of a file in the folder
 */
export async function storeUpload(
  bytes: AsyncIterable<Uint8Array> | Uint8Array,
  folder: string,
  name: string,
): Promise<StoredFile> {
  checkName(name)
  const arriving = path.join(folder, arrivingPrefix + randomUUID())
  const stored = path.join(folder, name)
  let [written, isStored] = [arriving, false]
  try {
    const facts = await write(arriving, bytes instanceof Uint8Array ? [bytes] : bytes)
    await rename(arriving, stored)
    written = stored
    await syncFolder(folder)
    isStored = true
    return { path: stored, ...facts, remove: () => remove(stored, folder) }
  } finally {
    if (!isStored) await rm(written, { force: true })
  }
}

// By any system's rules: the folder may be of another one.
function checkName(name: string): void {
  const isOfFile = name !== '' && name !== '.' && name !== '..' && !/[/\\:\0]/.test(name)
  if (isOfFile && !name.startsWith(arrivingPrefix)) return
  throw ownError('invalid_request', `A file cannot have the name ${JSON.stringify(name.slice(0, 64))}.`)
}

async function write(
  file: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Pick<StoredFile, 'size' | 'sha256'>> {
  const hash = createHash('sha256')
  let size = 0
  const handle = await open(file, 'wx')
  try {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
      await handle.appendFile(chunk) // as often as it takes
    }
    await handle.sync()
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
