import { ApiError, type Context, type Request, type Response } from './handler.js'
import { listPets as selectPets } from './pets/pets.js'

// Before the first animal: ids start at 1.
const start = 0n
const idMax = 2n ** 63n - 1n
// The filter in the cursor of an unfiltered list.
const all = '*'

/** A page of animals in ascending order of id, all or those of one status. */
export async function listPets(
  { query }: Request<'listPets'>,
  { sql, self }: Context,
): Promise<Response<'listPets'>> {
  const { limit, status, cursor } = query
  const afterId = cursor === undefined ? start : readCursor(cursor, status)
  // One more than `limit`, to know whether there is a next page.
  const pets = await selectPets(sql, { afterId, status, limit: limit + 1 })
  const body = pets.slice(0, limit)
  const last = body.at(-1)
  if (pets.length <= limit || last === undefined) return { status: 200, body }
  const next = new URLSearchParams({
    limit: String(limit),
    ...(status && { status }),
    cursor: writeCursor(last.id, status),
  })
  return { status: 200, headers: { Link: `<${self}?${next}>; rel="next"` }, body }
}

// A cursor contains the version of its format (`1`), the filter of the list, and the last id of the page. It
// is encoded so that clients do not build cursors and depend on the format.

/** The cursor of the page after an id, in the list of one status or of all animals. */
export function writeCursor(afterId: bigint, status: string | undefined): string {
  return Buffer.from(`1|${status ?? all}|${afterId}`).toString('base64url')
}

function readCursor(cursor: string, status: string | undefined): bigint {
  const [, filter, digits = ''] =
    /^1\|([^|]+)\|(\d{1,19})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const afterId = BigInt(digits)
  // Decoding is lenient: accept only a cursor that encodes to the same text.
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
