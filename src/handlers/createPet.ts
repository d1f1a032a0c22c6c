import type { Context, Request, Response } from './handler.js'
import { insertPet } from './pets/pets.js'

/** Adds an animal. */
export async function createPet(
  { body }: Request<'createPet'>,
  { sql, self }: Context,
): Promise<Response<'createPet'>> {
  const pet = await insertPet(sql, body)
  return { status: 201, headers: { Location: `${self}/${pet.id}` }, body: pet }
}

createPet.sharesTransaction = true
