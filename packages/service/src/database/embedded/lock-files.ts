// The server's lock files, whose first line is the pid of the server. A killed server leaves them behind.
// After a restart of the machine or container another process may have the pid; PostgreSQL and pg_ctl take it
// for the server.

import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readFile, readlink, realpath } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { isAlive, readOwned } from './data-directory.js'

/** A running process that a lock file names. */
export interface LockHolder {
  readonly pid: number
  /** The name of its executable. */
  readonly program: string
  /** True if it is a server of the data. */
  readonly isServer: boolean
}

const mainFile = 'postmaster.pid'
const files = [mainFile, '.s.PGSQL.5432.lock']
// Higher than any system's pids.
const noProcess = String(2 ** 31 - 1)

/** Returns the process that the lock file of the data names, if it runs. */
export async function lockHolder(data: string): Promise<LockHolder | undefined> {
  return holderIn(await readOwned(path.join(data, mainFile)).catch(() => ''), data)
}

/**
 * Rewrites lock files that name a process other than a server of the data, so that they name no process.
 * Returns the processes. Keeps the files, because PostgreSQL reads in them whether a part of the old server
 * still runs.
 */
export async function disownLocks(data: string): Promise<LockHolder[]> {
  const holders = await Promise.all(files.map((file) => disown(path.join(data, file), data)))
  return holders.filter((holder) => holder !== undefined)
}

// Uses one handle, so that it cannot change the new file of a server that starts meanwhile.
async function disown(file: string, data: string): Promise<LockHolder | undefined> {
  const handle = await open(file, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const text = await handle.readFile('utf8')
    const holder = await holderIn(text, data)
    if (holder === undefined || holder.isServer) return undefined
    await handle.write(text.replace(/^\d+/, noProcess), 0)
    return holder
  } finally {
    await handle.close()
  }
}

async function holderIn(text: string, data: string): Promise<LockHolder | undefined> {
  const pid = Number.parseInt(text, 10)
  if (!(pid > 0 && isAlive(pid))) return undefined
  const program = await programOf(pid).catch(() => undefined)
  return program === undefined ? undefined : { pid, program, isServer: await isServer(pid, program, data) }
}

// Every process of a server works in its data directory before it writes the lock file. Without /proc, or if
// the process belongs to another user, the name of the program decides. A zombie has no working directory.
async function isServer(pid: number, program: string, data: string): Promise<boolean> {
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(data))
  } catch (error) {
    const isHidden = process.platform !== 'linux' || (error as NodeJS.ErrnoException).code === 'EACCES'
    return isHidden && program === 'postgres'
  }
}

async function programOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/comm`, 'utf8')).trim()
  const { stdout } = await promisify(execFile)('ps', ['-o', 'comm=', '-p', String(pid)])
  return path.basename(stdout.trim())
}
