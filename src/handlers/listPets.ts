import type { Context, Request, Response } from './handler.js'
import { listPets as selectPets } from './pets/pets.js'

/** Returns a page of animals in ascending order of id, of one status or of all. */
export async function listPets(
  { query }: Request<'listPets'>,
  { sql, link }: Context,
): Promise<Response<'listPets'>> {
  const { items, next } = await selectPets(sql, query)
  if (next === undefined) return { status: 200, body: items }
  return { status: 200, headers: { Link: link('next', { limit: query.limit, after: next }) }, body: items }
}
