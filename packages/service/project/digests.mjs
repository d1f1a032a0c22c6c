// Whether files are as they were, by what they contain: times differ between checkouts, and may be equal
// where contents differ.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The project that the tools are run in: the nearest folder with a package.json, from the working one. */
export const root = rootOf(process.cwd())

function rootOf(folder) {
  const parent = path.dirname(folder)
  if (existsSync(path.join(folder, 'package.json')) || parent === folder) return folder
  return rootOf(parent)
}

/** npm writes it with each change of a package. */
export const packageList = 'node_modules/.package-lock.json'

/** A text that differs between contents. */
export function digestOf(...contents) {
  const hash = createHash('sha256')
  for (const each of contents) hash.update(each)
  return hash.digest('base64url')
}

/** The digest of a file, by its path from the root; undefined without one. */
export function digestOfFile(file) {
  try {
    return digestOf(readFileSync(path.join(root, file)))
  } catch {
    return undefined
  }
}

/** Whether each of these files has its digest. */
export function isCurrent(digests) {
  return Object.entries(digests).every(([file, digest]) => digestOfFile(file) === digest)
}
