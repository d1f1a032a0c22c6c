// Tells if files are unchanged, by their content: times differ between checkouts, and may be equal where
// contents differ.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * The project that the tools run in: the nearest folder with a package.json, from the working folder upwards.
 */
export const root = rootOf(process.cwd())

function rootOf(folder) {
  const parent = path.dirname(folder)
  if (existsSync(path.join(folder, 'package.json')) || parent === folder) return folder
  return rootOf(parent)
}

/** npm writes this file whenever a package changes. */
export const packageList = 'node_modules/.package-lock.json'

/** Returns a text that differs if the contents differ. */
export function digestOf(...contents) {
  const hash = createHash('sha256')
  for (const each of contents) hash.update(each)
  return hash.digest('base64url')
}

/** Returns the digest of a file, by its path from the root; undefined without the file. */
export function digestOfFile(file) {
  try {
    return digestOf(readFileSync(path.join(root, file)))
  } catch {
    return undefined
  }
}

/** True if each file has the given digest. */
export function isCurrent(digests) {
  return Object.entries(digests).every(([file, digest]) => digestOfFile(file) === digest)
}
