// The first thing that happens to a request for the contract's operations: who calls is found out, and the request
// counted, whatever becomes of it.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticate } from '../auth/authentication.js'
import type { Client } from '../auth/client.js'
import { ApiError } from '../errors.js'
import type { Soon } from '../lib/maybe-promise.js'
import type { Meter, Refused } from '../rate-limit/rate-limiter.js'

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

export interface Gate {
  /** Sets `client` or `refusal`, and the rate-limit headers. Throws, or rejects, when it is one request too many. */
  (request: FastifyRequest, reply: FastifyReply): Soon<void>
  /** For a request that is answered before it was counted: the rate-limit headers alone, as far as this process remembers. */
  recall(request: FastifyRequest, reply: FastifyReply): void
}

/** Makes the gate. */
export function createGate(authenticate: Authenticate, meter: Meter): Gate {
  function accept(request: FastifyRequest, reply: FastifyReply, client: Client): Soon<void> {
    request.client = client
    return meter.count(request, reply)
  }

  // Whatever needs a client will say so; what is no refusal fails the request here, and charges nobody.
  function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): Soon<void> {
    if (!(error instanceof ApiError)) throw error
    request.refusal = error
    return meter.count(request, reply)
  }

  function recall(request: FastifyRequest, reply: FastifyReply): void {
    if (meter.hasTold(reply)) return
    request.client = authenticate.recall(request.headers.authorization)
    meter.recall(request, reply)
  }

  function gate(request: FastifyRequest, reply: FastifyReply): Soon<void> {
    let found: ReturnType<Authenticate>
    try {
      found = authenticate(request.headers.authorization)
    } catch (error) {
      return refuse(request, reply, error)
    }
    if (!('run' in found)) return accept(request, reply, found)
    const { isGuess, run } = found
    return meter.lookUp(request, reply, isGuess, () =>
      run().then(
        (client) => accept(request, reply, client),
        (error) => refuse(request, reply, error),
      ),
    )
  }

  return Object.assign(gate, { recall })
}

/** What an operation asks for that wants a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined) throw request.refusal ?? new Error('the gate was not passed')
}
