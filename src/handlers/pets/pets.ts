// Animals in PostgreSQL.

import { int8, optional, table, text } from 'contract-service/table'
import type { NewPet, Pet } from '../../../generated/types.js'

/** The catalogue. A field of the contract that a list lacks, or that has another type, does not compile. */
export const pets = table<Pet, NewPet>('pets', {
  shows: { id: int8(), name: text(), categoryId: int8('category_id'), status: optional(text()) },
  takes: { name: text(), categoryId: int8('category_id'), status: optional(text()) },
})

/** Stores an animal, and returns it with its id. */
export const insertPet = pets.insert

/** Finds an animal by id. */
export const findPet = pets.findBy('id')

/** Lists animals in ascending order of id, all or those of one status. */
export const listPets = pets.pages({ order: ['id'], filters: { status: 'status' } })
