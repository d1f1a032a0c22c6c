// Coalescing: a client's GETs of one URL in one iteration of the event loop share a run of the handler.

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
 * Lets requests share a run in progress if their response depends on the URL and the caller alone. Nothing is
 * cached, and no result is older than its request: a request is handled after the iteration in which it
 * arrived (`deferRequests`), so those that find a run of this iteration arrived before it started.
 */
export function coalesced(pool: Pick<Pool, 'sqlUntil'>): Around<Sql> {
  return (respond, operation) => {
    if (!isCoalesced(operation)) return respond
    // A map for each iteration: one that always changes is often reallocated, and V8 links each old table to
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
      // Aborted: its callers have their responses or have gone, and its statement may be abandoned.
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
