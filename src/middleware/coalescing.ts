// Coalescing: a client's GETs of one URL that come in one iteration of the event loop are read, serialized and validated once.

import type { Sql } from '../database/database.js'
import type { Pool } from '../database/driver/pool.js'
import { type Signal, whileAnyWaits } from '../database/driver/sql.js'
import { type Around, isSafe, type Operation, type SerializedResponse } from '../openapi/index.js'

interface Run {
  readonly lifetimes: (Signal | undefined)[]
  readonly signal: Signal
  readonly response: Promise<SerializedResponse>
}

/**
 * Lets requests for one URL share a run of the handler while it is in progress, if the response depends on the URL and the caller
 * alone. Nothing is cached, and no request gets a result that is older than itself: a request is handled after the iteration in which
 * it arrived (`deferRequests`), so those that find a run of this iteration arrived before it started.
 */
export function coalesced(pool: Pick<Pool, 'sqlUntil'>): Around<Sql> {
  return (respond, operation) => {
    if (!isCoalesced(operation)) return respond
    // A map for each iteration: one that is added to and deleted from all the time is reallocated as often, and V8 links each old table to
    // the next, so that their entries would live until a full garbage collection.
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
      const response = respond(request, reply, pool.sqlUntil(signal))
      runs.set(key, { lifetimes, signal, response })
      return response
    }
  }
}

function isCoalesced({ method, parameters, body }: Operation): boolean {
  return (
    isSafe(method) && body === undefined && parameters.every((each) => ['path', 'query'].includes(each.in))
  )
}
