// The check of API keys, for the one scheme of a contract that they meet.

import type { FastifyRequest } from 'fastify'
import type { LoadShedder } from '../middleware/load-shedding.js'
import { type Check, RequestError } from '../openapi/index.js'
import type { Authentication } from './authentication.js'
import type { Client } from './client.js'
import { keyErrors } from './unauthorized.js'

/** The check of bearer keys. Look-ups take slots of the load shedder. */
export function keyCheck(authentication: Authentication, loadShedder: LoadShedder): Check<Client> {
  // A key that this process has never found may be a guess.
  const lookUp = ({ headers: { authorization } }: FastifyRequest) => {
    const lane = authentication.recall(authorization) ? 'work' : 'unknown keys'
    return loadShedder.run(() => authentication.lookUp(authorization), lane).then(orThrow)
  }
  return {
    caller: (_key, { request }) => {
      const known = authentication.known(request.headers.authorization)
      return known === undefined ? lookUp(request) : orThrow(known)
    },
    recall: (key) => authentication.recall(`Bearer ${key}`),
    errors: keyErrors,
  }
}

function orThrow(found: Client | RequestError): Client {
  if (found instanceof RequestError) throw found
  return found
}
