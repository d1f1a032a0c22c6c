// The first thing that happens to a request for the contract's operations: who calls is found out, and the request
// counted, whatever becomes of it.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.js'
import { proceed, type Soon } from '../proceed.js'
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

/** Sets `client` or `refusal`, and the rate-limit headers. Throws, or rejects, when it is one request too many. */
export type Gate = (request: FastifyRequest, reply: FastifyReply) => Soon<void>

/** Makes the gate. */
export function createGate(authenticate: Authenticate, meter: Meter): Gate {
  function identify(request: FastifyRequest, reply: FastifyReply): Soon<void> {
    try {
      const found = authenticate(request.headers.authorization)
      if (found instanceof Promise) return identifyLater(request, reply, found)
      request.client = found
    } catch (error) {
      refuse(request, error)
    }
  }

  // Until it is known whose request this is, nobody is charged for it, and it is answered as an address's: the look-up may
  // fail, or take longer than an answer may.
  async function identifyLater(
    request: FastifyRequest,
    reply: FastifyReply,
    found: Promise<Client>,
  ): Promise<void> {
    found.catch(() => {}) // it may fail while this waits for something else
    await meter.show(request, reply)
    try {
      request.client = await found
    } catch (error) {
      refuse(request, error)
    }
  }

  return (request, reply) => proceed(identify(request, reply), () => meter.count(request, reply))
}

// Whatever needs a client will say so; what is no refusal fails the request here.
function refuse(request: FastifyRequest, error: unknown): void {
  if (!(error instanceof ApiError)) throw error
  request.refusal = error
}

/** What an operation asks for that wants a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined) throw request.refusal ?? new Error('the gate was not passed')
}
