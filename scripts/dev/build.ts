// A build: all that a server runs from, in a folder of its own, where no edit reaches it. So the last good one can be
// started again, and what its server reads at run time stays what it was.

import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { projectRoot } from '../../src/paths.js'
import { listContractFiles } from './contract-files.js'

export interface Build {
  readonly folder: string
  /** Text by path, relative to the folder. */
  readonly files: ReadonlyMap<string, string>
  /** Of those. */
  readonly hash: string
}

// Below the project, for its packages to be found. A `dev` has its own: several may run.
const folders = path.join(projectRoot, 'dist/dev')
const ownFolder = path.join(folders, String(process.pid))
let count = 0

/** Puts the compiled files together with what is not compiled: the contract and the migrations. */
export async function prepareBuild(compiled: ReadonlyMap<string, string>): Promise<Build> {
  const names = ['package.json', ...(await listContractFiles(projectRoot)), ...(await listPlainSources())]
  const read = async (name: string) => [name, await readFile(path.join(projectRoot, name), 'utf8')] as const
  const files = new Map([...compiled, ...(await Promise.all(names.map(read)))])
  const hash = createHash('sha256')
    .update(JSON.stringify([...files].sort()))
    .digest('hex')
  count++
  return { folder: path.join(ownFolder, String(count)), files, hash }
}

export async function writeBuild({ folder, files }: Build): Promise<void> {
  const targets = [...files].map(([name, text]) => ({ target: path.join(folder, name), text }))
  const parents = new Set(targets.map(({ target }) => path.dirname(target)))
  await Promise.all([...parents].map((parent) => mkdir(parent, { recursive: true })))
  await Promise.all(targets.map(({ target, text }) => writeFile(target, text)))
}

export async function removeBuild({ folder }: Build): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

/** Removes every build of this process, and those of others that were killed. */
export async function removeBuilds(): Promise<void> {
  const names = await readdir(folders).catch(() => [])
  const done = names.filter((name) => name === String(process.pid) || !isAlive(Number(name)))
  await Promise.all(done.map((name) => rm(path.join(folders, name), { recursive: true, force: true })))
}

async function listPlainSources(): Promise<string[]> {
  const names = await readdir(path.join(projectRoot, 'src'), { recursive: true })
  return names.filter((name) => name.endsWith('.sql')).map((name) => path.posix.join('src', name))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
