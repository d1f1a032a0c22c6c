// Files that are read at run time. The paths are the same from the sources and from `dist/`.

import { existsSync } from 'node:fs'
import path from 'node:path'

function findRoot(directory: string): string {
  if (existsSync(path.join(directory, 'package.json'))) return directory
  const parent = path.dirname(directory)
  if (parent === directory) throw new Error(`No package.json above ${import.meta.dirname}`)
  return findRoot(parent)
}

/** The project's root: the nearest parent directory with a package.json. */
export const projectRoot: string = findRoot(import.meta.dirname)

const written = path.join(projectRoot, 'openapi.yaml')

/**
 * The contract that the service implements: in a checkout as it is written, with the files that it refers to;
 * in an installation its copy in one file, which `npm run generate` writes.
 */
export const contractFile: string = existsSync(written)
  ? written
  : path.join(projectRoot, 'generated', 'openapi.yaml')

/** What `commands/compile.ts` makes of the contract. A contract in one file has the same plan as its copy. */
export const planFile: string = path.join(projectRoot, 'dist', 'generated', 'contract.plan')

/** The numbered SQL files. The build does not copy them to `dist/`. */
export const migrationsFolder: string = path.join(projectRoot, 'src', 'database', 'migrations')
