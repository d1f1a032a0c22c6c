import { listPets as selectPets } from '../database/pets.js'
import { ApiError } from '../errors.js'
import type { Handler } from './handler.js'

// Before the first animal: identifiers begin at 1.
const start = 0n
const idMax = 2n ** 63n - 1n
// The filter of a list that has none.
const all = '*'

/** A page of animals, all or those of one status, in ascending order of id. */
export const listPets: Handler<'listPets'> = async ({ query }, { sql, path }) => {
  const { limit, status, cursor } = query
  const afterId = cursor === undefined ? start : readCursor(cursor, status)
  // One more than asked for tells whether there is a next page.
  const pets = await selectPets(sql, { afterId, status, limit: limit + 1 })
  const body = pets.slice(0, limit)
  const last = body.at(-1)
  if (pets.length <= limit || last === undefined) return { status: 200, body }
  const next = new URLSearchParams({
    limit: String(limit),
    ...(status && { status }),
    cursor: writeCursor(last.id, status),
  })
  return { status: 200, headers: { Link: `<${path}?${next}>; rel="next"` }, body }
}

// A cursor says which form it has (`1`), the filter it belongs to, and the id it stands after. Encoded, so
// that nobody builds one by hand and comes to rely on its form.

/** The cursor of the page after an id, of all animals or those of one status. */
export function writeCursor(afterId: bigint, status: string | undefined): string {
  return Buffer.from(`1|${status ?? all}|${afterId}`).toString('base64url')
}

function readCursor(cursor: string, status: string | undefined): bigint {
  const [, filter, digits = ''] =
    /^1\|([^|]+)\|(\d{1,19})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const afterId = BigInt(digits)
  // Decoding is lenient: only what writes back to the same text was written here.
  const isOwn = filter !== undefined && afterId <= idMax && cursor === writeCursor(afterId, filter)
  if (!isOwn) throw new ApiError('invalid_request', 'query.cursor must come from a "next" link')
  if (filter !== (status ?? all)) {
    throw new ApiError(
      'invalid_request',
      'query.cursor must be used with the status filter of the list it comes from',
    )
  }
  return afterId
}
