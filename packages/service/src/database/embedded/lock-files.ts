// The server's lock files, whose first line is the number of its process. A server that is killed leaves
// them, and after a restart of the machine or container another process may have the number, which PostgreSQL
// and pg_ctl take for the server.

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
  /** Whether it is a server of the data. */
  readonly isServer: boolean
}

const mainFile = 'postmaster.pid'
const files = [mainFile, '.s.PGSQL.5432.lock']
// Beyond the highest of any system.
const noProcess = String(2 ** 31 - 1)

/** The process that the lock file of the data names, if it runs. */
export async function lockHolder(data: string): Promise<LockHolder | undefined> {
  return holderIn(await readOwned(path.join(data, mainFile)).catch(() => ''), data)
}

/**
 * Makes lock files that name a process which is no server of the data name none. Returns what they named.
 * They are not removed, so that PostgreSQL still checks by them that no part of the old server runs.
 */
export async function disownLocks(data: string): Promise<LockHolder[]> {
  const holders = await Promise.all(files.map((file) => disown(path.join(data, file), data)))
  return holders.filter((holder) => holder !== undefined)
}

// By one handle: a server that starts meanwhile has a new file, which is left alone.
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

// Every process of a server works in its data directory, before it writes the lock file. By name without
// /proc, or if that is another user's; a process that has ended and that its parent has not asked for has
// none.
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
