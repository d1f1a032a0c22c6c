// The keys of printed functions.

import { createHash } from 'node:crypto'
import { stringify } from 'lossless-json'

/** The key of a schema, and of how it is judged. It may be a part of a name in JavaScript. */
export function schemaDigest(schema: unknown, ...how: readonly (string | undefined)[]): string {
  const text = `${how.join(' ')}\n${stringify(schema)}`
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
