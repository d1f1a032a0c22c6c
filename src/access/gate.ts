// The first thing that happens to a request for the contract's operations: who calls is found out, and the request
// counted, whatever becomes of it.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.js'
import type { Authenticate } from './authentication.js'
import type { Client } from './client.js'
import type { Meter, Refused } from './rate-limit.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whoever calls, if the key is valid. */
    client: Client | undefined
    /** Why there is no client, for whatever needs one. */
    refusal: ApiError | undefined
    /** Set where it was one request too many. */
    refused: Refused | undefined
  }
}

/** Sets `client` or `refusal`, and the rate-limit headers. Throws when it is one request too many. */
export type Gate = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Makes the gate. */
export function createGate(authenticate: Authenticate, meter: Meter): Gate {
  return async (request, reply) => {
    try {
      request.client = await authenticate(request.headers.authorization)
    } catch (error) {
      if (!(error instanceof ApiError)) {
        // Nobody knows whose request this is, so nobody is charged for it.
        await meter.show(request, reply)
        throw error
      }
      request.refusal = error
    }
    await meter.count(request, reply)
  }
}

/** What an operation asks for that wants a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined) throw request.refusal ?? new Error('the gate was not passed')
}
