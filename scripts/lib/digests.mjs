// Whether files are as they were, by what they contain: times differ between checkouts, and may be equal where
// contents differ.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const root = path.join(import.meta.dirname, '../..')

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
