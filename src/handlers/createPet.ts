import { insertPet } from '../database/pets.js'
import type { Handler } from './handler.js'

/** Section 4.2: adds an animal. */
export const createPet: Handler<'createPet'> = async ({ body }, { sql, path }) => {
  const pet = await insertPet(sql, body)
  return { status: 201, headers: { Location: `${path}/${pet.id}` }, body: pet }
}
