// Animals in PostgreSQL.

import { int8, optional, table, text } from 'contract-service/table'
import type { NewPet, Pet } from '../../../generated/types.js'

/** The catalogue. A list that lacks a field of the contract, or gives it another type, does not compile. */
export const pets = table<Pet, NewPet>('pets', {
  shows: { id: int8(), name: text(), categoryId: int8('category_id'), status: optional(text()) },
  takes: { name: text(), categoryId: int8('category_id'), status: optional(text()) },
})

/** Stores an animal, and returns it with its id. */
export const insertPet = pets.insert

/** Finds an animal by id. */
export const findPet = pets.findBy('id')

/** Lists animals in ascending order of id, of one status or of all. */
export const listPets = pets.pages({ order: ['id'], filters: { status: 'status' } })
