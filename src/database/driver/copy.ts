// COPY with its errors. postgres.js 3.4.9 settles the query when the server begins to listen, and drops what the server says
// of the rows after that: a row that is refused would leave the copy waiting for ever.

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type postgres from 'postgres'

type CopyQuery = postgres.PendingQuery<postgres.Row[]>

/**
 * Sends rows to a `copy … from stdin`, in PostgreSQL's text format.
 * @throws what the server says of them, or the signal's reason
 */
export async function copyIn(query: CopyQuery, rows: Iterable<Buffer>, signal: AbortSignal): Promise<void> {
  const copy: Writable = await query.writable()
  // Where postgres.js takes a query's later errors to; its types leave it out.
  Object.assign(query, { reject: (error: Error) => copy.destroy(error) })
  await pipeline(Readable.from(rows), copy, { signal })
}
