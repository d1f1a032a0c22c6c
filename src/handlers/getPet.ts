import { ApiError, type Context, type Request, type Response } from './handler.js'
import { findPet } from './pets/pets.js'

/** Returns one animal by its id. Deprecated. */
export async function getPet({ params }: Request<'getPet'>, { sql }: Context): Promise<Response<'getPet'>> {
  const pet = await findPet(sql, params.petId)
  if (pet === undefined) throw new ApiError('pet_not_found', `There is no animal with id ${params.petId}.`)
  return { status: 200, body: pet }
}
