// COPY with error reporting. postgres.js 3.4.9 settles the query when the server starts to read, and drops
// later errors: after a rejected row the copy would wait for ever.

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type postgres from 'postgres'

type CopyQuery = postgres.PendingQuery<postgres.Row[]>

/**
 * Sends rows to a `copy … from stdin`, in PostgreSQL's text format.
 * @throws PostgreSQL's error for a row, or the signal's reason
 */
export async function copyIn(query: CopyQuery, rows: Iterable<Buffer>, signal: AbortSignal): Promise<void> {
  const copy: Writable = await query.writable()
  // postgres.js calls `reject` for errors after the start; its types leave it out.
  Object.assign(query, { reject: (error: Error) => copy.destroy(error) })
  await pipeline(Readable.from(rows), copy, { signal })
}
