// The entity tag of a row (RFC 9110, section 8.8.3).

import { hash } from 'node:crypto'
import type { Field } from './columns.js'

/** Returns the entity tag of a row as clients see it. */
export type TagOf<Shown> = (row: Shown) => string

/**
 * Returns a function that makes the entity tag of a row: its version, or a digest of all fields that it
 * shows. The digest protects nothing, so it is SHA-1, the fastest here.
 */
export function entityTags<Shown extends object>(
  shown: readonly Field[],
  version: keyof Shown | undefined,
): TagOf<Shown> {
  if (version !== undefined) return (row) => `"${row[version]}"`
  return (row) => {
    const values = shown.map(({ name, codec }) => codec.write(row[name as keyof Shown]))
    return `"${hash('sha1', JSON.stringify(values), 'base64url')}"`
  }
}

/**
 * True if an `If-Match` has the tag in a form that compressing proxies make of it: `W/"x"`, `"x-gzip"`.
 * Neither matches the tag.
 */
export function hasRewritten(ifMatch: string, tag: string): boolean {
  const tags = ifMatch.match(/"[^"]*"/g) ?? []
  return tags.some((each) => each.replace(/-(gzip|br|zstd)"$/, '"') === tag)
}
