// Files that are read at run time, of the project and of this package.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { contractName } from './contract-name.js'

function findRoot(directory: string): string {
  if (existsSync(path.join(directory, 'package.json'))) return directory
  const parent = path.dirname(directory)
  if (parent === directory) throw new Error('No folder with a package.json above')
  return findRoot(parent)
}

// Where this code is: in a bundle, the project itself.
const here = findRoot(import.meta.dirname)
const isBundled =
  JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8')).name !== 'contract-service'

/**
 * The project's root: that of the bundle, or the nearest folder with a package.json, from the working one.
 */
export const projectRoot: string = isBundled ? here : findRoot(process.cwd())

const written = path.join(projectRoot, contractName)

/**
 * The contract that the service implements: in a checkout as it is written, with the files that it refers to;
 * in an installation its copy in one file, which `npm run generate` writes.
 */
export const contractFile: string = existsSync(written)
  ? written
  : path.join(projectRoot, 'generated', contractName)

/** What `commands/compile.ts` makes of the contract. A contract in one file has the same plan as its copy. */
export const planFile: string = path.join(projectRoot, 'dist', 'generated', 'contract.plan')

/** The numbered SQL files of this package. */
export const ownMigrations: string = path.join(isBundled ? import.meta.dirname : here, 'migrations')

/** All of them: this package's, and the project's. */
export const migrationsFolders: readonly string[] = [
  ownMigrations,
  path.join(projectRoot, 'src', 'migrations'),
]
