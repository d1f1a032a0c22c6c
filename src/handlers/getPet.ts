import { ApiError, type Handler } from './handler.js'
import { findPet } from './pets/pets.js'

/** One animal by its id. Deprecated. */
export const getPet: Handler<'getPet'> = async ({ params }, { sql }) => {
  const pet = await findPet(sql, params.petId)
  if (pet === undefined) throw new ApiError('pet_not_found', `There is no animal with id ${params.petId}.`)
  return { status: 200, body: pet }
}
