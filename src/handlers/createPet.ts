import type { Handler } from './handler.js'
import { insertPet } from './pets/pets.js'

/** Adds an animal. */
export const createPet: Handler<'createPet'> = async ({ body }, { sql, self }) => {
  const pet = await insertPet(sql, body)
  return { status: 201, headers: { Location: `${self}/${pet.id}` }, body: pet }
}
