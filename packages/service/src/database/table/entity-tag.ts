// The entity tag of a row (RFC 9110, section 8.8.3).

import { hash } from 'node:crypto'
import type { Field } from './columns.js'

/** The entity tag of a row as it is shown. */
export type TagOf<Shown> = (row: Shown) => string

/**
 * Returns the function that makes the tag of a row: its version, or else a digest of all that it shows, which
 * differs if any of it does. SHA-1 is the fastest here, and protects nothing.
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
 * Whether an `If-Match` has a tag as proxies that compress rewrite it: `W/"x"`, `"x-gzip"`, which is no name.
 */
export function hasRewritten(ifMatch: string, tag: string): boolean {
  const tags = ifMatch.match(/"[^"]*"/g) ?? []
  return tags.some((each) => each.replace(/-(gzip|br|zstd)"$/, '"') === tag)
}
