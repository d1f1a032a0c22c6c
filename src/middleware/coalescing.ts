// Coalescing: a client's GETs of one URL that come in one iteration of the event loop are read, serialized and validated once.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Signal, whileAnyWaits } from '../database/driver/sql.js'
import type { SerializedResponse } from './stored-responses.js'

/** Responds to a request. `signal` replaces the request's own lifetime if others share the response. */
export type Respond = (
  request: FastifyRequest,
  reply: FastifyReply,
  signal?: Signal,
) => Promise<SerializedResponse>

interface Run {
  readonly lifetimes: (Signal | undefined)[]
  readonly signal: Signal
  readonly response: Promise<SerializedResponse>
}

/**
 * Lets requests share a run of `respond` while it is in progress. Nothing is cached, and no request gets a result that is older than itself:
 * a request is handled after the iteration in which it arrived (`deferRequests`), so those that find a run of this iteration arrived before
 * it started.
 */
export function coalesced(respond: Respond): Respond {
  // A map for each iteration: one that is added to and deleted from all the time is reallocated as often, and V8 links each old table to the
  // next, so that their entries would live until a full garbage collection.
  let runs: Map<string, Run> | undefined

  return (request, reply) => {
    if (runs === undefined) {
      runs = new Map()
      setImmediate(() => {
        runs = undefined
      })
    }
    const key = `${request.client?.keyId} ${request.url}`
    const same = runs.get(key)
    // Aborted: its callers have their responses, or have gone, and then its statement may have been abandoned.
    if (same !== undefined && !same.signal.aborted) {
      same.lifetimes.push(request.lifetime)
      return same.response
    }
    const lifetimes = [request.lifetime]
    const signal = whileAnyWaits(lifetimes)
    const response = respond(request, reply, signal)
    runs.set(key, { lifetimes, signal, response })
    return response
  }
}
