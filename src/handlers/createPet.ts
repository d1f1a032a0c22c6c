import { insertPet } from '../database/pets.js'
import type { Handler } from './handler.js'

/** Adds an animal. */
export const createPet: Handler<'createPet'> = async ({ body }, { sql, path }) => {
  const pet = await insertPet(sql, body)
  return { status: 201, headers: { Location: `${path}/${pet.id}` }, body: pet }
}
