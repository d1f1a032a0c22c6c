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
      const found = authenticate(request.headers.authorization)
      request.client =
        found instanceof Promise ? await waitFor(found, () => meter.show(request, reply)) : found
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      request.refusal = error
    }
    await meter.count(request, reply)
  }
}

// Until it is known whose request this is, nobody is charged for it, and it is answered as an address's: the look-up may
// fail, or take longer than an answer may.
async function waitFor<T>(found: Promise<T>, show: () => Promise<void>): Promise<T> {
  found.catch(() => {}) // it may fail while this waits for something else
  await show()
  return found
}

/** What an operation asks for that wants a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined) throw request.refusal ?? new Error('the gate was not passed')
}
