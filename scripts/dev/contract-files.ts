// The files that the contract may consist of: YAML and JSON at the top level, and anything in openapi/.

import { readdir } from 'node:fs/promises'
import path from 'node:path'

const folder = 'openapi'

/** Whether a file, by its path relative to the root, may be a part of the contract. */
export function isContractFile(file: string): boolean {
  if (file.startsWith(`${folder}/`)) return true
  return /^[^/]+\.(yaml|json)$/.test(file) && !/^(package|package-lock|biome|tsconfig.*)\.json$/.test(file)
}

/** Those that are there, relative to the root. */
export async function listContractFiles(root: string): Promise<string[]> {
  const top = await readdir(root)
  const below = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true }).catch(
    () => [],
  )
  const inFolder = below
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
  return [...top.filter(isContractFile), ...inFolder].sort()
}
