// Where the files that are read at run time lie: the same place from the sources and from `dist/`.

import { existsSync } from 'node:fs'
import path from 'node:path'

function findRoot(directory: string): string {
  if (existsSync(path.join(directory, 'package.json'))) return directory
  const parent = path.dirname(directory)
  if (parent === directory) throw new Error(`No package.json above ${import.meta.dirname}`)
  return findRoot(parent)
}

/** The project's root: the nearest folder upwards that holds a package.json. */
export const projectRoot: string = findRoot(import.meta.dirname)

/** The contract that the service serves. */
export const contractFile: string = path.join(projectRoot, 'openapi.yaml')

/** The numbered SQL files. They are not compiled, so both trees read the originals. */
export const migrationsFolder: string = path.join(projectRoot, 'src', 'database', 'migrations')

/** What `/docs` is made of beside Scalar. Read as it is, too. */
export const docsFolder: string = path.join(projectRoot, 'src', 'docs', 'static')
