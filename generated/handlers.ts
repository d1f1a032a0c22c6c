// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Handlers } from '../src/handlers/handler.js'
import { createPet } from '../src/handlers/createPet.js'
import { getPet } from '../src/handlers/getPet.js'
import { listPets } from '../src/handlers/listPets.js'

/** The handler of every operation, by the name of its operation. Its type tells handlers from stubs. */
export const handlers = { createPet, getPet, listPets } satisfies Handlers
